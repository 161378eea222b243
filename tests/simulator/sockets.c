#include "tests/simulator/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/process/spawn.h"
#include "tests/simulator/memory.h"
#include "tests/simulator/simulator.h"
#include "tests/simulator/tasks.h"
#include "tests/simulator/workers.h"

enum { POLLS_MOST = 50000 }; /* of a second: more is a loop that waits for nothing */
enum { FIRST = 100000, MOST = 4096, SOCKET_BYTES = 208 << 10 };

typedef struct {
  descriptor descriptor[MOST];
  int used;
  int64_t second; /* in which so many polls returned */
  int polls;
} descriptor_table;

static descriptor_table *TABLE;

void sockets_begin(void) {
  TABLE = outside_calloc(1, sizeof *TABLE);
}

channel *channel_make(void) {
  return outside_calloc(1, sizeof(channel));
}

void channel_hold(channel *one, int end) {
  one->holders[end]++;
}

void channel_leave(channel *one, int end) {
  one->holders[end]--;
  tasks_wake_pollers();
  if (one->holders[0] > 0 || one->holders[1] > 0) return;
  outside_free(one->bytes[0]);
  outside_free(one->bytes[1]);
  outside_free(one);
}

void channel_put(channel *one, int to, const void *bytes, size_t count) {
  if (one->count[to] + count > one->capacity[to]) {
    one->capacity[to] = (one->count[to] + count) * 2;
    one->bytes[to] = outside_realloc(one->bytes[to], one->capacity[to]);
  }
  memcpy(one->bytes[to] + one->count[to], bytes, count);
  one->count[to] += count;
  tasks_wake_pollers();
}

size_t channel_take(channel *one, int at, void *bytes, size_t most) {
  size_t taken = one->count[at] < most ? one->count[at] : most;
  if (taken == 0) return 0;
  memcpy(bytes, one->bytes[at], taken);
  one->count[at] -= taken;
  memmove(one->bytes[at], one->bytes[at] + taken, one->count[at]);
  return taken;
}

int descriptor_open(descriptor_kind kind) {
  int i = 0;
  while (i < MOST && TABLE->descriptor[i].kind != DESCRIPTOR_FREE) i++;
  must_hold(i < MOST, "%d descriptors are open", MOST);
  if (i >= TABLE->used) TABLE->used = i + 1;
  TABLE->descriptor[i] = (descriptor){.kind = kind};
  return FIRST + i;
}

descriptor *descriptor_find(int number) {
  if (number < FIRST || number >= FIRST + TABLE->used) return NULL;
  descriptor *found = &TABLE->descriptor[number - FIRST];
  return found->kind == DESCRIPTOR_FREE ? NULL : found;
}

int descriptor_close(int number) {
  descriptor *closed = descriptor_find(number);
  must_hold(closed, "descriptor %d is closed, and was not open", number);
  disk_release(closed->file);
  if (closed->kind == DESCRIPTOR_CHANNEL) channel_leave(closed->channel, closed->end);
  *closed = (descriptor){.kind = DESCRIPTOR_FREE};
  return 0;
}

void descriptors_forget(void) {
  for (int i = 0; i < TABLE->used; i++)
    if (TABLE->descriptor[i].kind != DESCRIPTOR_FREE) descriptor_close(FIRST + i);
}

int descriptors_count(void) {
  int count = 0;
  for (int i = 0; i < TABLE->used; i++) count += TABLE->descriptor[i].kind != DESCRIPTOR_FREE;
  return count;
}

bool descriptors_lock(const disk_file *file) {
  for (int i = 0; i < TABLE->used; i++)
    if (TABLE->descriptor[i].file == file && TABLE->descriptor[i].locked) return false;
  return true;
}

/* What the linker calls in the C library's place. */

int __wrap_socketpair(int domain, int type, int protocol, int pair[2]);
int __wrap_pipe2(int pair[2], int flags);
int __wrap_eventfd(unsigned count, int flags);
ssize_t __wrap_send(int number, const void *bytes, size_t count, int flags);
ssize_t __wrap_recv(int number, void *bytes, size_t most, int flags);
int __wrap_fcntl(int number, int command, ...);
int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms);
int __wrap___poll_chk(struct pollfd *polled, nfds_t count, int timeout_ms, size_t bytes);
int __wrap_ep_spawn(const char *path, char *const *arguments, const ep_spawn_file *files, int count,
                    int folder, pid_t *pid);
int __wrap_ep_pidfd_open(pid_t pid);
pid_t __wrap_getpid(void);
int __wrap_kill(pid_t pid, int signal);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_prlimit(pid_t pid, enum __rlimit_resource kind, const struct rlimit *limit,
                   struct rlimit *old);

static int pair_make(int pair[2]) {
  channel *made = channel_make();
  for (int end = 0; end < 2; end++) {
    pair[end] = descriptor_open(DESCRIPTOR_CHANNEL);
    descriptor *one = descriptor_find(pair[end]);
    one->channel = made;
    one->end = end;
    channel_hold(made, end);
  }
  return 0;
}

int __wrap_socketpair(int domain, int type, int protocol, int pair[2]) {
  (void)domain, (void)type, (void)protocol;
  return pair_make(pair);
}

int __wrap_pipe2(int pair[2], int flags) {
  (void)flags;
  return pair_make(pair);
}

int __wrap_eventfd(unsigned count, int flags) {
  (void)flags;
  int number = descriptor_open(DESCRIPTOR_EVENT);
  descriptor_find(number)->events = count;
  return number;
}

ssize_t __wrap_send(int number, const void *bytes, size_t count, int flags) {
  (void)flags;
  const descriptor *from = descriptor_find(number);
  int to = 1 - from->end;
  if (from->channel->holders[to] == 0) {
    errno = EPIPE;
    return -1;
  }
  size_t room =
      SOCKET_BYTES > from->channel->count[to] ? SOCKET_BYTES - from->channel->count[to] : 0;
  if (room == 0) {
    errno = EAGAIN;
    return -1;
  }
  if (count > room) count = room;
  if (count > 1 && one_in(8)) count = 1 + random_below(count - 1);
  channel_put(from->channel, to, bytes, count);
  workers_notice(from->channel);
  return (ssize_t)count;
}

ssize_t __wrap_recv(int number, void *bytes, size_t most, int flags) {
  (void)flags;
  const descriptor *at = descriptor_find(number);
  size_t waiting = at->channel->count[at->end];
  if (waiting == 0 && at->channel->holders[1 - at->end] == 0) return 0;
  if (waiting == 0) {
    errno = EAGAIN;
    return -1;
  }
  if (waiting > 1 && one_in(8)) most = 1 + random_below(waiting - 1);
  return (ssize_t)channel_take(at->channel, at->end, bytes, most);
}

int __wrap_fcntl(int number, int command, ...) {
  must_hold(descriptor_find(number) && command == F_SETFL, "fcntl(%d, %d)", number, command);
  return 0;
}

static short polled_events(const struct pollfd *polled) {
  if (polled->fd < 0) return 0;
  const descriptor *one = descriptor_find(polled->fd);
  must_hold(one, "descriptor %d is polled, and is not open", polled->fd);
  short happened = 0;
  if (one->kind == DESCRIPTOR_EVENT && one->events > 0) happened |= POLLIN;
  if (one->kind == DESCRIPTOR_PROCESS && workers_has_ended(one->pid)) happened |= POLLIN;
  if (one->kind == DESCRIPTOR_CHANNEL) {
    if (one->channel->count[one->end] > 0) happened |= POLLIN;
    if (one->channel->holders[1 - one->end] == 0) happened |= POLLIN | POLLHUP;
    if (one->channel->count[1 - one->end] < SOCKET_BYTES) happened |= POLLOUT;
  }
  return happened & (short)(polled->events | POLLHUP);
}

static void poll_count(void) {
  int64_t second = SIM->now_us / 1000000;
  if (second != TABLE->second) TABLE->polls = 0;
  TABLE->second = second;
  must_hold(++TABLE->polls <= POLLS_MOST, "the supervisor polls %d times in a second",
            TABLE->polls);
}

int __wrap_poll(struct pollfd *polled, nfds_t count, int timeout_ms) {
  if (timeout_ms != 0) task_yield();
  poll_count();
  int64_t until_us = timeout_ms < 0 ? INT64_MAX : SIM->now_us + timeout_ms * INT64_C(1000);
  for (;;) {
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
      polled[i].revents = polled_events(&polled[i]);
      ready += polled[i].revents != 0;
    }
    if (ready > 0 || SIM->now_us >= until_us) return ready;
    task_poll(until_us);
  }
}

int __wrap___poll_chk(struct pollfd *polled, nfds_t count, int timeout_ms, size_t bytes) {
  (void)bytes;
  return __wrap_poll(polled, count, timeout_ms);
}

int __wrap_ep_spawn(const char *path, char *const *arguments, const ep_spawn_file *files, int count,
                    int folder, pid_t *pid) {
  (void)path, (void)folder;
  must_hold(count == 2 && strcmp(arguments[1], "--device") == 0, "a program that is no worker");
  const descriptor *socket = descriptor_find(files[0].file),
                   *errors = descriptor_find(files[1].file);
  if (one_in(200)) return ENOMEM;
  *pid = worker_start(arguments[2], socket->channel, errors->channel);
  return 0;
}

int __wrap_ep_pidfd_open(pid_t pid) {
  int number = descriptor_open(DESCRIPTOR_PROCESS);
  descriptor_find(number)->pid = pid;
  return number;
}

pid_t __wrap_getpid(void) {
  return 100;
}

int __wrap_kill(pid_t pid, int signal) {
  must_hold(signal == SIGKILL, "signal %d to %d", signal, (int)pid);
  worker_kill(pid);
  return 0;
}

int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
  (void)type, (void)options;
  int status = 0;
  switch (worker_reap((int)id, &status)) {
  case WORKER_UNKNOWN: errno = ECHILD; return -1;
  case WORKER_LIVES: info->si_pid = 0; return 0;
  case WORKER_ENDED: break;
  }
  info->si_pid = (pid_t)id;
  info->si_code = status < 0 ? CLD_KILLED : CLD_EXITED;
  info->si_status = status < 0 ? -status : status;
  return 0;
}

int __wrap_prlimit(pid_t pid, enum __rlimit_resource kind, const struct rlimit *limit,
                   struct rlimit *old) {
  (void)pid, (void)kind, (void)limit, (void)old;
  errno = ESRCH;
  return -1;
}
