#include "server/slurm/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/limits.h"
#include "engine/files/durable_file.h"
#include "server/process/clock.h"
#include "server/process/spawn.h"

/* env looks the command up in the PATH, in an environment of its own: what the command needs to
 * find its Slurm or its cluster, and what makes it print the same everywhere: times as seconds,
 * arrays in full. sbatch gives this environment to its job, whose products are to be those of a
 * local worker: so OpenBLAS gets the same settings. */
static const char ENV[] = "/usr/bin/env";
static const char *const INHERITED[] = {"PATH",
                                        "HOME",
                                        "LD_LIBRARY_PATH",
                                        "SLURM_CONF",
                                        "OPENBLAS_CORETYPE",
                                        "OPENBLAS_L2_SIZE",
                                        "KUBECONFIG",
                                        "KUBERNETES_SERVICE_HOST",
                                        "KUBERNETES_SERVICE_PORT"};
static const char *const SETTINGS[] = {"SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0", "LC_ALL=C"};
#define LATE "did not end in time"
enum {
  INHERITED_COUNT = sizeof INHERITED / sizeof *INHERITED,
  SETTINGS_COUNT = sizeof SETTINGS / sizeof *SETTINGS,
  ARGUMENTS = 128,
  BEFORE = 2 + INHERITED_COUNT + SETTINGS_COUNT, /* env -i … */
  CHUNK = 65536,
  NOT_FOUND = 127 /* env's exit code */
};

/* A command line; inherited: its own texts. */
typedef struct {
  const char *words[BEFORE + ARGUMENTS + 1];
  char *inherited[INHERITED_COUNT];
} child_line;

typedef struct {
  int output, words; /* ends of pipes; -1 = at its end */
  size_t capacity;
  int64_t deadline_us;
  ep_slurm_child *out;
} reading;

static void pipe_close(int *end) {
  if (*end >= 0) close(*end);
  *end = -1;
}

/* The input lies in memory before the child starts, however slowly that reads. */
static ep_status input_make(const char *input, int *end, ep_error *error) {
  const size_t bytes = input ? strlen(input) : 0;
  if (bytes > EP_LIMIT_SLURM_INPUT_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "a command's input has %d bytes at most",
                   EP_LIMIT_SLURM_INPUT_BYTES);
  *end = memfd_create("input", MFD_CLOEXEC);
  if (*end < 0)
    return ep_fail(error, EP_UNAVAILABLE, "no memory for a command's input: %s", strerror(errno));
  ep_status status = bytes ? ep_file_write_all(*end, input, bytes, error) : EP_OK;
  if (status == EP_OK && lseek(*end, 0, SEEK_SET) != 0)
    status = ep_fail(error, EP_IO, "a command's input: %s", strerror(errno));
  return status;
}

static void line_deinit(child_line *line) {
  for (int i = 0; i < INHERITED_COUNT; i++) free(line->inherited[i]);
}

static ep_status line_make(const char *const *arguments, child_line *line, ep_error *error) {
  int count = 0;
  line->words[count++] = "env";
  line->words[count++] = "-i";
  for (int i = 0; i < INHERITED_COUNT; i++) {
    const char *value = getenv(INHERITED[i]);
    if (!value) continue;
    if (asprintf(&line->inherited[i], "%s=%s", INHERITED[i], value) < 0) {
      line->inherited[i] = NULL;
      return ep_fail_memory(error);
    }
    line->words[count++] = line->inherited[i];
  }
  for (int i = 0; i < SETTINGS_COUNT; i++) line->words[count++] = SETTINGS[i];
  for (int i = 0; arguments[i]; i++) {
    if (i == ARGUMENTS) return ep_fail(error, EP_TOO_LARGE, "%s has too many words", arguments[0]);
    line->words[count++] = arguments[i];
  }
  return EP_OK;
}

static ep_status child_start(const char *const *arguments, const char *input, reading *from,
                             pid_t *pid, ep_error *error) {
  child_line line = {0};
  int in = -1, output[2] = {-1, -1}, words[2] = {-1, -1};
  ep_status status = line_make(arguments, &line, error);
  if (status == EP_OK) status = input_make(input, &in, error);
  if (status == EP_OK && (pipe2(output, O_CLOEXEC) != 0 || pipe2(words, O_CLOEXEC) != 0))
    status = ep_fail(error, EP_UNAVAILABLE, "no pipe to a command: %s", strerror(errno));
  if (status == EP_OK) {
    const ep_spawn_file files[] = {
        {in, STDIN_FILENO}, {output[1], STDOUT_FILENO}, {words[1], STDERR_FILENO}};
    int failed = ep_spawn(ENV, (char *const *)line.words, files, 3, -1, pid);
    if (failed != 0)
      status = ep_fail(error, EP_UNAVAILABLE, "%s cannot be started: %s", arguments[0],
                       strerror(failed));
  }
  line_deinit(&line);
  pipe_close(&in);
  pipe_close(&output[1]);
  pipe_close(&words[1]);
  from->output = output[0];
  from->words = words[0];
  return status;
}

/* One more chunk of standard output. */
static ep_status output_take(reading *from, ep_error *error) {
  ep_slurm_child *out = from->out;
  if (from->capacity - out->output_bytes < CHUNK + 1) {
    size_t capacity = from->capacity * 2 + CHUNK + 1;
    if (out->output_bytes > EP_LIMIT_SLURM_OUTPUT_BYTES)
      return ep_fail(error, EP_TOO_LARGE, "printed more than %lld bytes",
                     (long long)EP_LIMIT_SLURM_OUTPUT_BYTES);
    char *grown = realloc(out->output, capacity);
    if (!grown) return ep_fail_memory(error);
    out->output = grown;
    from->capacity = capacity;
  }
  ssize_t got = read(from->output, out->output + out->output_bytes, CHUNK);
  if (got < 0 && errno == EINTR) return EP_OK;
  if (got <= 0) pipe_close(&from->output);
  if (got > 0) out->output_bytes += (size_t)got;
  out->output[out->output_bytes] = 0;
  return EP_OK;
}

/* The last bytes of standard error are held: commands end with the reason. */
static void words_take(reading *from) {
  char chunk[sizeof from->out->words - 1];
  char *words = from->out->words;
  ssize_t got = read(from->words, chunk, sizeof chunk);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    pipe_close(&from->words);
    return;
  }
  const size_t had = strlen(words), most = sizeof from->out->words - 1;
  size_t dropped = had + (size_t)got > most ? had + (size_t)got - most : 0;
  memmove(words, words + dropped, had - dropped);
  memcpy(words + had - dropped, chunk, (size_t)got);
  words[had - dropped + (size_t)got] = 0;
  for (char *at = words; *at; at++)
    if ((unsigned char)*at < 0x20 || *at == 0x7f) *at = ' ';
}

static ep_status read_all(reading *from, ep_error *error) {
  ep_status status = EP_OK;
  while (status == EP_OK && (from->output >= 0 || from->words >= 0)) {
    struct pollfd polled[] = {{from->output, POLLIN, 0}, {from->words, POLLIN, 0}};
    int64_t left_ms = (from->deadline_us - ep_clock_steady_us()) / 1000;
    if (left_ms <= 0) return ep_fail(error, EP_UNAVAILABLE, LATE);
    if (poll(polled, 2, (int)left_ms) < 0 && errno != EINTR)
      return ep_fail(error, EP_UNAVAILABLE, "cannot be waited for: %s", strerror(errno));
    if (polled[1].revents) words_take(from);
    if (polled[0].revents) status = output_take(from, error);
  }
  return status;
}

/* Its pipes are at their end, so it is about to end. False: it was not, and is killed. */
static bool child_end(pid_t pid, int64_t deadline_us, int *ended) {
  for (; ep_clock_steady_us() < deadline_us; poll(NULL, 0, 1)) {
    pid_t got = waitpid(pid, ended, WNOHANG);
    if (got == pid) return true;
    if (got < 0 && errno != EINTR) return false;
  }
  kill(pid, SIGKILL);
  while (waitpid(pid, ended, 0) < 0)
    if (errno != EINTR) break;
  return false;
}

ep_status ep_slurm_child_run(const char *const *arguments, const char *input, int timeout_ms,
                             ep_slurm_child *out, ep_error *error) {
  pid_t pid = -1;
  memset(out, 0, sizeof *out);
  reading from = {.output = -1,
                  .words = -1,
                  .deadline_us = ep_clock_steady_us() + (int64_t)timeout_ms * 1000,
                  .out = out};
  ep_error why = {0};
  ep_status status = child_start(arguments, input, &from, &pid, error);
  if (status == EP_OK) {
    int ended = 0;
    status = read_all(&from, &why);
    if (!child_end(pid, status == EP_OK ? from.deadline_us : 0, &ended) && status == EP_OK)
      status = ep_fail(&why, EP_UNAVAILABLE, LATE);
    if (status != EP_OK) ep_fail(error, status, "%s %s", arguments[0], why.message);
    out->exit_code = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    if (status == EP_OK && out->exit_code == NOT_FOUND)
      status = ep_fail(error, EP_UNAVAILABLE, "%s not found on the PATH", arguments[0]);
  }
  pipe_close(&from.output);
  pipe_close(&from.words);
  if (status != EP_OK) ep_slurm_child_deinit(out);
  return status;
}

void ep_slurm_child_deinit(ep_slurm_child *child) {
  free(child->output);
  child->output = NULL;
}

ep_status ep_slurm_child_refused(const char *command, const ep_slurm_child *child,
                                 const char *const *unreachable, ep_error *error) {
  const char *words = child->words + strspn(child->words, " ");
  int length = (int)strlen(words);
  while (length > 0 && words[length - 1] == ' ') length--;
  if (length == 0)
    return ep_fail(error, EP_INVALID, "%s ended with exit code %d", command, child->exit_code);
  bool away = false;
  for (int i = 0; unreachable[i]; i++) away = away || strstr(words, unreachable[i]);
  return ep_fail(error, away ? EP_UNAVAILABLE : EP_INVALID, "%.*s", length, words);
}
