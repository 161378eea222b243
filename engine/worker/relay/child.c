#include "engine/worker/relay/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/process.h"

extern char **environ;

enum { IN_BYTES_MIN = 256 << 10, END_MS = 2000, LIST_BYTES = 4096 };

/* Copies beyond all numbers that the child gives them: else one could take another one's place. */
static int files_copy(const int *files, int count, int *copies) {
  int made = 0;
  for (; made < count; made++) {
    copies[made] = fcntl(files[made], F_DUPFD_CLOEXEC, EP_CHILD_SOCKET + EP_CHILD_FILES);
    if (copies[made] < 0) break;
  }
  return made;
}

static int attributes_set(posix_spawnattr_t *attributes) {
  sigset_t kept, all;
  sigemptyset(&kept);
  sigaddset(&kept, SIGTERM);
  sigfillset(&all);
  int failed = posix_spawnattr_init(attributes);
  if (failed != 0) return failed;
  posix_spawnattr_setsigmask(attributes, &kept);
  posix_spawnattr_setsigdefault(attributes, &all);
  /* A group of its own: a signal to the relay's group, as Slurm sends it, is the relay's alone. */
  posix_spawnattr_setpgroup(attributes, 0);
  posix_spawnattr_setflags(attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  return 0;
}

/* first: the number of the first file in the child. SIGTERM is kept from it: Slurm sends it to all
 * processes of an allocation, and the relay alone acts on it. */
static int program_start(const char *program, char *const *arguments, const int *files, int count,
                         int first, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int copies[EP_CHILD_FILES];
  if (count > EP_CHILD_FILES) return EINVAL;
  int failed = attributes_set(&attributes);
  if (failed != 0) return failed;
  const int made = files_copy(files, count, copies);
  if (made < count) failed = errno;
  if (failed == 0) failed = posix_spawn_file_actions_init(&actions);
  if (failed == 0) {
    for (int i = 0; failed == 0 && i < count; i++)
      failed = posix_spawn_file_actions_adddup2(&actions, copies[i], first + i);
    if (failed == 0) failed = posix_spawn(pid, program, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
  }
  for (int i = 0; i < made; i++) close(copies[i]);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

int ep_relay_program_start(const char *program, char *const *arguments, const int *files, int count,
                           pid_t *pid) {
  return program_start(program, arguments, files, count, EP_CHILD_SOCKET, pid);
}

/* Whether the program lists a GPU: then the first one is the worker's. */
static bool gpu_find(const char *program, const char *plugin) {
  char *arguments[] = {(char *)program, "--list", plugin ? "--plugin" : NULL, (char *)plugin, NULL};
  char text[LIST_BYTES] = "\n";
  size_t used = 1;
  int ends[2];
  pid_t pid = 0;
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  int failed = program_start(program, arguments, &ends[1], 1, STDOUT_FILENO, &pid);
  close(ends[1]);
  for (ssize_t got = 1; failed == 0 && got > 0 && used < sizeof text - 1;) {
    got = read(ends[0], text + used, sizeof text - 1 - used);
    if (got > 0) used += (size_t)got;
  }
  close(ends[0]);
  if (failed == 0) waitpid(pid, NULL, 0);
  return strstr(text, "\ncuda:0\n") != NULL;
}

/* The worker's arguments; numbers: room for the texts of two. */
static void arguments_list(const ep_connection *connection, const char *device, const char *program,
                           const char *plugin, const char *data_dir, char numbers[2][16],
                           char **arguments) {
  const char *const list[] = {program,
                              "--device",
                              device,
                              "--data-dir",
                              data_dir,
                              "--socket",
                              numbers[0],
                              "--node-sockets",
                              numbers[1],
                              "--data-bytes-max",
                              connection->data_bytes_max,
                              "--checkpoint-after",
                              connection->checkpoint_after,
                              plugin ? "--plugin" : NULL,
                              plugin,
                              NULL};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) arguments[i] = (char *)list[i];
}

ep_status ep_relay_child_start(ep_relay_child *child, const char *program, const char *plugin,
                               const ep_connection *connection, const char *data_dir,
                               const int *nodes, int count, ep_error *error) {
  enum { ARGUMENTS = 20 };
  char numbers[2][16], *arguments[ARGUMENTS];
  int pair[2], files[EP_CHILD_FILES];
  const char *device = connection->device;
  if (count >= EP_CHILD_FILES) return ep_fail(error, EP_INVALID, "too many nodes");
  if (count > 0) device = "cpu";
  if (strcmp(device, "auto") == 0) device = gpu_find(program, plugin) ? "cuda:0" : "cpu";
  snprintf(numbers[0], sizeof numbers[0], "%d", EP_CHILD_SOCKET);
  snprintf(numbers[1], sizeof numbers[1], "%d", count);
  arguments_list(connection, device, program, plugin, data_dir, numbers, arguments);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return ep_fail(error, EP_IO, "no socket for the worker: %s", strerror(errno));
  *child = (ep_relay_child){.socket = pair[0]};
  files[0] = pair[1];
  for (int i = 0; i < count; i++) files[i + 1] = nodes[i];
  int failed = ep_relay_program_start(program, arguments, files, count + 1, &child->pid);
  close(pair[1]);
  if (failed == 0 && fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0) return EP_OK;
  close(pair[0]);
  child->socket = -1;
  return ep_fail(error, EP_IO, "%s cannot be started: %s", program, strerror(failed));
}

static ep_status reserve(uint8_t **buffer, size_t *capacity, size_t bytes, ep_error *error) {
  if (bytes <= *capacity) return EP_OK;
  size_t grown = *capacity == 0 ? IN_BYTES_MIN : *capacity;
  while (grown < bytes) grown *= 2;
  uint8_t *block = realloc(*buffer, grown);
  if (!block) return ep_fail_memory(error);
  *buffer = block;
  *capacity = grown;
  return EP_OK;
}

ep_status ep_relay_child_read(ep_relay_child *child, ep_error *error) {
  size_t needed = child->in_bytes + IN_BYTES_MIN / 2;
  ep_frame_kind kind;
  size_t payload = 0;
  if (child->in_bytes >= EP_FRAME_HEADER_BYTES &&
      ep_frame_header(child->in, &kind, &payload, NULL) == EP_OK &&
      payload + EP_FRAME_HEADER_BYTES > needed)
    needed = payload + EP_FRAME_HEADER_BYTES;
  ep_status status = reserve(&child->in, &child->in_capacity, needed, error);
  if (status != EP_OK) return status;
  ssize_t got =
      read(child->socket, child->in + child->in_bytes, child->in_capacity - child->in_bytes);
  if (got > 0) {
    child->in_bytes += (size_t)got;
    return EP_OK;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return EP_OK;
  return ep_fail(error, EP_UNAVAILABLE, "the worker has ended");
}

bool ep_relay_child_peek(const ep_relay_child *child, ep_frame_kind *kind, const uint8_t **frame,
                         size_t *bytes, ep_status *status, ep_error *error) {
  *status = EP_OK;
  if (child->in_bytes < EP_FRAME_HEADER_BYTES) return false;
  *status = ep_frame_header(child->in, kind, bytes, error);
  *bytes += EP_FRAME_HEADER_BYTES;
  *frame = child->in;
  return *status == EP_OK && child->in_bytes >= *bytes;
}

void ep_relay_child_drop(ep_relay_child *child, size_t bytes) {
  child->in_bytes -= bytes;
  memmove(child->in, child->in + bytes, child->in_bytes);
}

ep_status ep_relay_child_send(ep_relay_child *child, const uint8_t *frame, size_t bytes,
                              ep_error *error) {
  ep_status status = reserve(&child->out, &child->out_capacity, child->out_bytes + bytes, error);
  if (status != EP_OK) return status;
  memcpy(child->out + child->out_bytes, frame, bytes);
  child->out_bytes += bytes;
  return ep_relay_child_flush(child, error);
}

ep_status ep_relay_child_flush(ep_relay_child *child, ep_error *error) {
  while (child->out_bytes > 0) {
    ssize_t sent = send(child->socket, child->out, child->out_bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return EP_OK;
    if (sent < 0) return ep_fail(error, EP_UNAVAILABLE, "the worker has ended");
    child->out_bytes -= (size_t)sent;
    memmove(child->out, child->out + sent, child->out_bytes);
  }
  return EP_OK;
}

void ep_relay_child_end(ep_relay_child *child, char *cause, size_t cause_bytes) {
  int ending = 0;
  snprintf(cause, cause_bytes, "the worker was lost");
  if (child->socket >= 0) close(child->socket);
  child->socket = -1;
  if (child->pid > 0) {
    int pidfd = ep_pidfd_open(child->pid);
    struct pollfd polled = {.fd = pidfd, .events = POLLIN};
    if (pidfd < 0 || poll(&polled, 1, END_MS) == 0) kill(child->pid, SIGKILL);
    while (waitpid(child->pid, &ending, 0) < 0 && errno == EINTR) {
    }
    if (pidfd >= 0) close(pidfd);
    if (WIFSIGNALED(ending))
      snprintf(cause, cause_bytes, "the worker was killed by signal %d (SIG%s)", WTERMSIG(ending),
               ep_signal_name(WTERMSIG(ending)));
    else
      snprintf(cause, cause_bytes, "the worker ended with exit code %d", WEXITSTATUS(ending));
  }
  child->pid = 0;
  free(child->in);
  free(child->out);
  child->in = child->out = NULL;
  child->in_bytes = child->out_bytes = child->in_capacity = child->out_capacity = 0;
}
