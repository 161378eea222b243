#include "server/ingest/ingest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/process.h"
#include "engine/files/free_space.h"
#include "engine/files/verified.h"
#include "server/ingest/claims.h"
#include "server/ingest/request.h"
#include "server/process/clock.h"
#include "server/process/spawn.h"

_Static_assert(EP_INGEST_FILES == EP_SPLIT_COUNT * EP_ROLE_COUNT, "a file a split and role");

enum { LOOK_MS = 100 }; /* how often it is asked whether somebody waits */

static const char OWN_PROGRAM[] = "/proc/self/exe";

typedef struct {
  pid_t pid;
  int socket;
  int64_t deadline_us;
  const ep_ingest_request *request;
} reading;

/* The one file of an upload. */
static int upload_find(const ep_path_source *source) {
  for (int i = 0; i < EP_INGEST_FILES; i++) {
    int file = source->file[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT];
    if (file >= 0) return file;
  }
  return -1;
}

static ep_status request_fill(const ep_ingest_settings *settings, const ep_ingest_task *task,
                              const char *folder, ep_ingest_request *out, ep_error *error) {
  const ep_ingest_options *options = task->options;
  memset(out, 0, sizeof *out); /* with what lies between the members */
  ep_status status = ep_path_join(out->folder, error, folder, NULL);
  if (status != EP_OK) return status;
  for (int i = 0; i < EP_INGEST_FILES; i++)
    out->there[i] = task->source->file[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT] >= 0;
  out->whole = task->source->whole;
  out->upload = options != NULL;
  out->predicts = task->predicts;
  out->deep = task->deep;
  out->max_output_bytes = task->max_output_bytes;
  out->memory_bytes =
      settings->memory_bytes > 0 ? settings->memory_bytes : EP_LIMIT_INGEST_MEMORY_BYTES;
  out->seconds = settings->seconds > 0 ? settings->seconds : EP_LIMIT_INGEST_SECONDS;
  out->reserve_bytes = ep_free_space_reserved();
  if (!options) return EP_OK;
  if (options->table && strlen(options->table) >= sizeof out->table)
    return ep_fail(error, EP_INVALID, "?table= must be at most %d bytes", EP_LIMIT_NAME_BYTES);
  out->dialect = options->dialect;
  out->height = options->height;
  out->width = options->width;
  out->channels = options->channels;
  out->skip_broken = options->skip_broken;
  if (options->table) memcpy(out->table, options->table, strlen(options->table) + 1);
  return task->predicts
             ? EP_OK
             : ep_file_sha256(upload_find(task->source), "the upload", out->sha256, error);
}

/* The request lies in the socket before the process starts. */
static ep_status program_start(const char *program, const ep_path_source *source, int folder,
                               int input, pid_t *pid, ep_error *error) {
  char *arguments[] = {(char *)"epochd", (char *)EP_INGEST_ARGUMENT, NULL};
  ep_spawn_file files[EP_INGEST_FILES + 1] = {{input, STDIN_FILENO}};
  int count = 1;
  for (int i = 0; i < EP_INGEST_FILES; i++) {
    int file = source->file[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT];
    if (file < 0) continue;
    files[count] = (ep_spawn_file){file, EP_INGEST_FIRST_FILE + count - 1};
    count++;
  }
  int failed = ep_spawn(program ? program : OWN_PROGRAM, arguments, files, count, folder, pid);
  return failed == 0
             ? EP_OK
             : ep_fail(error, EP_UNAVAILABLE, "a process that reads the file cannot be started: %s",
                       strerror(failed));
}

static ep_status reader_start(reading *out, const ep_ingest_settings *settings,
                              const ep_path_source *source, ep_error *error) {
  int pair[2];
  const char *folder = out->request->folder;
  int place = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (place < 0) return ep_fail(error, EP_IO, "%s: %s", folder, strerror(errno));
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    close(place);
    return ep_fail(error, EP_UNAVAILABLE, "no socket to read a file: %s", strerror(errno));
  }
  ep_status status = EP_OK;
  if (write(pair[0], out->request, sizeof *out->request) != (ssize_t)sizeof *out->request)
    status = ep_fail(error, EP_IO, "a request to read a file: %s", strerror(errno));
  if (status == EP_OK)
    status = program_start(settings->program, source, place, pair[1], &out->pid, error);
  close(pair[1]);
  close(place);
  out->socket = pair[0];
  out->deadline_us = ep_clock_steady_us() + out->request->seconds * 1000000;
  if (status != EP_OK) close(pair[0]);
  return status;
}

/* What is sent is not trusted: the process may be somebody else's by then. */
static bool reply_check(ep_ingest_reply *reply) {
  ep_error *error = &reply->error;
  ep_problem *faults = &reply->faults;
  error->message[sizeof error->message - 1] = error->pointer[sizeof error->pointer - 1] = 0;
  for (int i = 0; i < EP_LIMIT_PROBLEM_ERRORS; i++) {
    ep_problem_error *fault = &faults->errors[i];
    fault->pointer[sizeof fault->pointer - 1] = fault->detail[sizeof fault->detail - 1] = 0;
  }
  return error->status >= EP_OK && error->status < EP_STATUS_COUNT && faults->errors_count >= 0 &&
         faults->errors_count <= EP_LIMIT_PROBLEM_ERRORS;
}

/* The faults become those of the task. */
static void faults_take(const ep_ingest_task *task, const ep_ingest_reply *reply) {
  ep_problem *faults = task->options ? task->options->faults : NULL;
  if (!faults) return;
  memcpy(faults->errors, reply->faults.errors, sizeof faults->errors);
  faults->errors_count = reply->faults.errors_count;
}

/* Ends the process, if it has not ended; *ending: how it ended. */
static void reader_end(const reading *reader, siginfo_t *ending) {
  kill(reader->pid, SIGKILL);
  *ending = (siginfo_t){0};
  while (waitid(P_PID, (id_t)reader->pid, ending, WEXITED) != 0 && errno == EINTR) {
  }
}

static ep_status time_is_over(const reading *reader, ep_error *error) {
  return ep_fail(error, EP_TOO_LARGE,
                 "reading the file takes more than the %lld seconds allowed: use a smaller file, "
                 "or ask the administrator to raise --ingest-seconds",
                 (long long)reader->request->seconds);
}

/* Of a process that ended without a reply. */
static ep_status death_explain(const reading *reader, const siginfo_t *ending, ep_error *error) {
  if (ending->si_code == CLD_EXITED)
    return ep_fail(error, EP_INTERNAL,
                   "the process that read the file ended with exit code %d and read nothing",
                   ending->si_status);
  if (ending->si_status == SIGXCPU) return time_is_over(reader, error);
  return ep_fail(error, EP_INTERNAL,
                 "the process that read the file was ended by signal %d (SIG%s): check the file, "
                 "and upload it again",
                 ending->si_status, ep_signal_name(ending->si_status));
}

/* Waits until there is a reply or the end of the process (EP_OK), or no reply is wanted. *got: its
 * bytes, which may be fewer than all. */
static ep_status reply_await(const reading *reader, ep_ingest_settings *settings,
                             ep_ingest_abandoned *abandoned, void *context, ep_ingest_reply *reply,
                             size_t *got, ep_error *error) {
  struct pollfd polled = {.fd = reader->socket, .events = POLLIN};
  for (*got = 0;;) {
    if (poll(&polled, 1, LOOK_MS) > 0) {
      ssize_t more = recv(reader->socket, (char *)reply + *got, sizeof *reply - *got, MSG_DONTWAIT);
      if (more > 0) *got += (size_t)more;
      if (more <= 0 || *got == sizeof *reply) return EP_OK;
    }
    if (atomic_load(&settings->stopping))
      return ep_fail(error, EP_UNAVAILABLE, "the daemon is stopping");
    if (abandoned && abandoned(context))
      return ep_fail(error, EP_CANCELLED, "the client disconnected before the file was read");
    if (ep_clock_steady_us() >= reader->deadline_us) return time_is_over(reader, error);
  }
}

static ep_status reader_await(const reading *reader, ep_ingest_settings *settings,
                              const ep_ingest_task *task, ep_ingest_abandoned *abandoned,
                              void *context, ep_error *error) {
  ep_ingest_reply reply = {0};
  siginfo_t ending;
  size_t got;
  ep_status status = reply_await(reader, settings, abandoned, context, &reply, &got, error);
  bool replied = status == EP_OK && got == sizeof reply && reply_check(&reply);
  reader_end(reader, &ending);
  if (status != EP_OK) return status;
  if (!replied) return death_explain(reader, &ending, error);
  if (reply.error.status == EP_NO_MEMORY)
    return ep_fail(error, EP_TOO_LARGE,
                   "reading the file takes more than the %lld bytes of memory allowed: use a "
                   "smaller file, or ask the administrator to raise --ingest-memory-bytes",
                   (long long)reader->request->memory_bytes);
  if (reply.error.status != EP_OK && error) *error = reply.error;
  faults_take(task, &reply);
  return reply.error.status;
}

ep_status ep_ingest_run(ep_ingest_settings *settings, const ep_ingest_task *task,
                        const char *folder, ep_ingest_abandoned *abandoned, void *context,
                        ep_error *error) {
  ep_ingest_request request;
  reading reader = {.request = &request};
  if (atomic_load(&settings->stopping))
    return ep_fail(error, EP_UNAVAILABLE, "the daemon is stopping");
  ep_status status = request_fill(settings, task, folder, &request, error);
  if (status == EP_OK) status = reader_start(&reader, settings, task->source, error);
  if (status != EP_OK) return status;
  status = reader_await(&reader, settings, task, abandoned, context, error);
  close(reader.socket);
  return status == EP_OK && request.upload && !request.predicts
             ? ep_ingest_claims_check(task, request.sha256, folder, error)
             : status;
}
