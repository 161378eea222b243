#include "server/workers/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/limits.h"
#include "api/process.h"
#include "server/process/clock.h"
#include "server/process/log.h"
#include "server/process/spawn.h"

enum {
  CHILD_SOCKET = 3,         /* the number that the worker is told */
  IN_BYTES_MIN = 256 << 10, /* a batch of 4,096 records in one read */
  OUT_BYTES_MIN = 64 << 10,
  OOM_SCORE_ADJ = 500, /* as if it had half of the memory more */
  LIST_BYTES = EP_LIMIT_DEVICES * EP_DEVICE_ID_BYTES
};

/* Has the kernel end the worker before epochd where memory runs out. A failure leaves it as it is.
 */
static void oom_prefer(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%lld/oom_score_adj", (long long)pid);
  FILE *file = fopen(path, "we");
  if (!file) return;
  fprintf(file, "%d", OOM_SCORE_ADJ);
  fclose(file);
}

/* What it has allocated: private memory that can be written, as RLIMIT_DATA counts it. -1: unknown.
 */
static int64_t allocated_bytes(pid_t pid) {
  char path[64];
  long long pages = -1;
  snprintf(path, sizeof path, "/proc/%lld/statm", (long long)pid);
  FILE *file = fopen(path, "re");
  if (!file) return -1;
  if (fscanf(file, "%*d %*d %*d %*d %*d %lld", &pages) != 1) pages = -1;
  fclose(file);
  return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

/* The worker's own filter keeps it from raising the limit again. A sanitizer's own memory is not
 * the job's: there is no limit then. */
void ep_worker_link_bound(const ep_worker_link *link, int64_t bytes) {
#ifdef EP_SANITIZED
  bytes = 0;
#endif
  struct rlimit limit;
  int64_t most = bytes > 0 && link->pid > 0 ? allocated_bytes(link->pid) : -1;
  if (link->pid <= 0 || prlimit(link->pid, RLIMIT_DATA, NULL, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (most >= 0 && !__builtin_add_overflow(most, bytes, &most) && (rlim_t)most < limit.rlim_max)
    limit.rlim_cur = (rlim_t)most;
  prlimit(link->pid, RLIMIT_DATA, &limit, NULL);
}

ep_status ep_worker_link_start(ep_worker_link *link, const ep_worker_program *program,
                               const char *device, ep_error *error) {
  char number[16], data_bytes_max[24], checkpoint_after[24];
  snprintf(number, sizeof number, "%d", CHILD_SOCKET);
  snprintf(data_bytes_max, sizeof data_bytes_max, "%lld", (long long)program->data_bytes_max);
  snprintf(checkpoint_after, sizeof checkpoint_after, "%lld",
           (long long)program->checkpoint_after_seconds);
  char *arguments[] = {(char *)program->path,
                       "--device",
                       (char *)device,
                       "--data-dir",
                       (char *)program->data_dir,
                       "--socket",
                       number,
                       "--data-bytes-max",
                       data_bytes_max,
                       "--checkpoint-after",
                       checkpoint_after,
                       NULL,
                       NULL,
                       NULL,
                       NULL,
                       NULL};
  int used = 11;
  if (program->allow_path) {
    arguments[used++] = "--allow-path";
    arguments[used++] = (char *)program->allow_path;
  }
  if (program->plugin) {
    arguments[used++] = "--plugin";
    arguments[used++] = (char *)program->plugin;
  }
  int pair[2] = {-1, -1}, errors[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return ep_fail(error, EP_IO, "no socket for a worker: %s", strerror(errno));
  if (pipe2(errors, O_CLOEXEC) != 0) {
    close(pair[0]);
    close(pair[1]);
    return ep_fail(error, EP_IO, "no pipe for a worker: %s", strerror(errno));
  }
  pid_t pid = 0;
  const ep_spawn_file files[] = {{pair[1], CHILD_SOCKET}, {errors[1], STDERR_FILENO}};
  int failed = ep_spawn(program->path, arguments, files, 2, -1, &pid);
  close(pair[1]);
  close(errors[1]);
  if (failed != 0) {
    close(pair[0]);
    close(errors[0]);
    return ep_fail(error, EP_IO, "%s cannot be started: %s", program->path, strerror(failed));
  }
  oom_prefer(pid);
  int pidfd = ep_pidfd_open(pid);
  if (pidfd < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0 ||
      fcntl(errors[0], F_SETFL, O_NONBLOCK) != 0) {
    ep_status status = ep_fail(error, EP_IO, "no pidfd for a worker: %s", strerror(errno));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    if (pidfd >= 0) close(pidfd);
    close(pair[0]);
    close(errors[0]);
    return status;
  }
  link->errors = (ep_error_lines){.fd = errors[0]};
  snprintf(link->errors.device, sizeof link->errors.device, "%s", device);
  link->pid = pid;
  link->pidfd = pidfd;
  link->socket = pair[0];
  return EP_OK;
}

/* Makes room for `bytes` in a buffer. */
static ep_status buffer_reserve(uint8_t **buffer, size_t *capacity, size_t bytes, size_t least,
                                ep_error *error) {
  if (bytes <= *capacity) return EP_OK;
  size_t grown = *capacity == 0 ? least : *capacity;
  while (grown < bytes) grown *= 2;
  uint8_t *block = realloc(*buffer, grown);
  if (!block) return ep_fail_memory(error);
  *buffer = block;
  *capacity = grown;
  return EP_OK;
}

ep_status ep_worker_link_send(ep_worker_link *link, uint8_t *frame, size_t bytes, ep_error *error) {
  if (!frame) return ep_fail(error, EP_TOO_LARGE, "a frame for a worker is too large");
  size_t waiting = ep_worker_link_output(link);
  if (waiting == 0) { /* megabytes, often: not copied */
    free(link->out);
    link->out = frame;
    link->out_bytes = link->out_capacity = bytes;
    link->out_sent = 0;
    return ep_worker_link_flush(link, error);
  }
  if (link->out_sent > 0) memmove(link->out, link->out + link->out_sent, waiting);
  link->out_sent = 0;
  link->out_bytes = waiting;
  ep_status status =
      buffer_reserve(&link->out, &link->out_capacity, waiting + bytes, OUT_BYTES_MIN, error);
  if (status == EP_OK) {
    memcpy(link->out + waiting, frame, bytes);
    link->out_bytes += bytes;
    status = ep_worker_link_flush(link, error);
  }
  free(frame);
  return status;
}

ep_status ep_worker_link_flush(ep_worker_link *link, ep_error *error) {
  while (link->out_sent < link->out_bytes) {
    ssize_t sent = send(link->socket, link->out + link->out_sent, link->out_bytes - link->out_sent,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      link->out_sent += (size_t)sent;
    } else if (errno == EAGAIN) {
      return EP_OK;
    } else if (errno == EPIPE || errno == ECONNRESET) {
      break; /* it has died: its end says why */
    } else if (errno != EINTR) {
      return ep_fail(error, EP_IO, "a worker cannot be reached: %s", strerror(errno));
    }
  }
  link->out_sent = link->out_bytes = 0;
  if (link->out_capacity > OUT_BYTES_MIN) {
    free(link->out);
    link->out = NULL;
    link->out_capacity = 0;
  }
  return EP_OK;
}

ep_status ep_worker_link_receive(ep_worker_link *link, bool *ended, ep_error *error) {
  *ended = false;
  size_t needed = link->in_bytes + IN_BYTES_MIN / 2;
  if (link->in_bytes >= EP_FRAME_HEADER_BYTES) { /* room for the whole first frame */
    ep_frame_kind kind;
    size_t payload = 0;
    ep_status status = ep_frame_header(link->in, &kind, &payload, error);
    if (status != EP_OK) return status;
    if (payload + EP_FRAME_HEADER_BYTES > needed) needed = payload + EP_FRAME_HEADER_BYTES;
  }
  ep_status status = buffer_reserve(&link->in, &link->in_capacity, needed, IN_BYTES_MIN, error);
  if (status != EP_OK) return status;
  ssize_t got = recv(link->socket, link->in + link->in_bytes, link->in_capacity - link->in_bytes,
                     MSG_DONTWAIT);
  if (got > 0) {
    link->in_bytes += (size_t)got;
  } else if (got == 0 || errno == ECONNRESET) {
    *ended = true;
  } else if (errno != EAGAIN && errno != EINTR) {
    return ep_fail(error, EP_IO, "a worker cannot be read: %s", strerror(errno));
  }
  return EP_OK;
}

/* Drops what was taken and moves the rest to the front, where payloads are aligned. */
static void input_drop(ep_worker_link *link, size_t bytes) {
  if (bytes == 0) return;
  link->in_bytes -= bytes;
  memmove(link->in, link->in + bytes, link->in_bytes);
}

ep_status ep_worker_link_offer(ep_worker_link *link, ep_worker_link_visit *visit, void *context,
                               bool *refused, ep_error *error) {
  *refused = false;
  size_t offset = 0;
  ep_status status = EP_OK;
  while (link->in_bytes - offset >= EP_FRAME_HEADER_BYTES) {
    if (offset % 8 != 0) {
      input_drop(link, offset);
      offset = 0;
    }
    ep_frame_kind kind;
    size_t payload = 0;
    status = ep_frame_header(link->in + offset, &kind, &payload, error);
    if (status != EP_OK) break;
    if (link->in_bytes - offset - EP_FRAME_HEADER_BYTES < payload) break;
    if (!visit(context, kind, link->in + offset + EP_FRAME_HEADER_BYTES, payload)) {
      *refused = true;
      break;
    }
    offset += EP_FRAME_HEADER_BYTES + payload;
  }
  input_drop(link, offset);
  return status;
}

void ep_worker_link_kill(ep_worker_link *link) {
  if (link->pid > 0) kill(link->pid, SIGKILL);
}

bool ep_worker_link_reap(ep_worker_link *link, char *cause, size_t cause_bytes) {
  siginfo_t info = {0};
  if (link->pid == 0) return false;
  if (waitid(P_PID, (id_t)link->pid, &info, WEXITED | WNOHANG) != 0) {
    if (errno != ECHILD) return false;
    snprintf(cause, cause_bytes, "the worker was lost");
  } else if (info.si_pid == 0) {
    return false;
  } else if (info.si_code == CLD_EXITED) {
    snprintf(cause, cause_bytes, "the worker ended with exit code %d", info.si_status);
  } else {
    snprintf(cause, cause_bytes, "the worker was killed by signal %d (SIG%s)", info.si_status,
             ep_signal_name(info.si_status));
  }
  link->pid = 0;
  return true;
}

void ep_worker_link_hang_up(ep_worker_link *link) {
  if (link->socket >= 0) close(link->socket);
  link->socket = -1;
}

void ep_worker_link_close(ep_worker_link *link) {
  ep_worker_link_hang_up(link);
  ep_error_lines_close(&link->errors);
  if (link->pidfd >= 0) close(link->pidfd);
  free(link->in);
  free(link->out);
  *link = EP_WORKER_LINK_NONE;
}

/* Reads until the end or the time-out; EP_UNAVAILABLE at the time-out. */
static ep_status pipe_read(int fd, int timeout_ms, char *text, size_t capacity, ep_error *error) {
  int64_t deadline_us = ep_clock_steady_us() + (int64_t)timeout_ms * 1000;
  for (size_t used = 0; used < capacity - 1;) {
    int64_t left_us = deadline_us - ep_clock_steady_us();
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    int ready = left_us <= 0 ? 0 : poll(&polled, 1, (int)(left_us / 1000) + 1);
    if (ready == 0)
      return ep_fail(error, EP_UNAVAILABLE, "the worker did not list its devices in %d ms",
                     timeout_ms);
    if (ready < 0) continue; /* a signal */
    ssize_t got = read(fd, text + used, capacity - 1 - used);
    if (got == 0) break;
    if (got > 0) used += (size_t)got;
    if (got < 0 && errno != EINTR)
      return ep_fail(error, EP_IO, "the worker's list: %s", strerror(errno));
  }
  return EP_OK;
}

ep_status ep_worker_devices_list(const ep_worker_program *program, int timeout_ms,
                                 char (*ids)[EP_DEVICE_ID_BYTES], int *count, ep_error *error) {
  char *arguments[] = {(char *)program->path, "--list", program->plugin ? "--plugin" : NULL,
                       (char *)program->plugin, NULL};
  char text[LIST_BYTES] = {0};
  int pipes[2];
  pid_t pid = 0;
  *count = 0;
  if (pipe2(pipes, O_CLOEXEC) != 0)
    return ep_fail(error, EP_IO, "no pipe for a worker: %s", strerror(errno));
  ep_error_lines errors = {.fd = memfd_create("errors", MFD_CLOEXEC)}; /* read once it has ended */
  const ep_spawn_file files[] = {{pipes[1], STDOUT_FILENO}, {errors.fd, STDERR_FILENO}};
  int failed = ep_spawn(program->path, arguments, files, errors.fd >= 0 ? 2 : 1, -1, &pid);
  close(pipes[1]);
  ep_status status = EP_OK;
  if (failed != 0) {
    status = ep_fail(error, EP_IO, "%s cannot be started: %s", program->path, strerror(failed));
  } else {
    status = pipe_read(pipes[0], timeout_ms, text, sizeof text, error);
    if (status != EP_OK) kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
  }
  close(pipes[0]);
  if (errors.fd >= 0) lseek(errors.fd, 0, SEEK_SET);
  ep_error_lines_close(&errors);
  char *rest = text;
  for (char *line = strsep(&rest, "\n"); status == EP_OK && line && *count < EP_LIMIT_DEVICES;
       line = strsep(&rest, "\n"))
    if (line[0] == '#')
      ep_log(EP_LOG_INFO, "worker: %s", line[1] == ' ' ? line + 2 : line + 1);
    else if (line[0] != 0 && strlen(line) < EP_DEVICE_ID_BYTES)
      snprintf(ids[(*count)++], sizeof *ids, "%s", line);
  return status;
}
