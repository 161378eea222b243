#include "server/workers/gateway.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/process.h"
#include "server/process/clock.h"
#include "server/process/log.h"
#include "server/process/spawn.h"

#define SECOND_US INT64_C(1000000)
#define AGAIN_US SECOND_US /* between two starts of the gateway */

enum { STOP_MS = 2000 }; /* that the gateway has to tell its workers */

static bool any_remote(const ep_supervisor *s) {
  for (int i = 0; i < s->devices_count; i++)
    if (ep_device_is_remote(s->device[i].info.id)) return true;
  return false;
}

/* The gateway's process has ended or is to end. Its workers' sockets end with it. */
static void gateway_end(ep_supervisor *s) {
  ep_remote *remote = &s->remote;
  if (remote->control >= 0) close(remote->control);
  remote->control = -1;
  if (remote->pid > 0) {
    kill(remote->pid, SIGKILL);
    while (waitpid(remote->pid, NULL, 0) < 0 && errno == EINTR) {
    }
  }
  remote->pid = 0;
}

static ep_status setup_send(const ep_supervisor *s, int control, ep_error *error) {
  return send(control, s->remote.setup, sizeof *s->remote.setup, MSG_NOSIGNAL) ==
                 (ssize_t)sizeof *s->remote.setup
             ? EP_OK
             : ep_fail(error, EP_IO, "the gateway's settings: %s", strerror(errno));
}

static ep_status gateway_start(ep_supervisor *s, ep_error *error) {
  char *arguments[] = {(char *)"epochd", (char *)EP_GATEWAY_ARGUMENT, NULL};
  int pair[2];
  pid_t pid = 0;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return ep_fail(error, EP_IO, "no socket for the gateway: %s", strerror(errno));
  const ep_spawn_file files[] = {{pair[1], EP_GATEWAY_CONTROL},
                                 {s->remote.listener, EP_GATEWAY_LISTENER}};
  ep_status status = setup_send(s, pair[0], error);
  int failed = status == EP_OK ? ep_spawn(s->remote.program, arguments, files, 2, -1, &pid) : 0;
  close(pair[1]);
  if (failed != 0) status = ep_fail(error, EP_IO, "the gateway: %s", strerror(failed));
  if (status != EP_OK) {
    close(pair[0]);
    return status;
  }
  s->remote.control = pair[0];
  s->remote.pid = pid;
  for (int i = 0; i < s->devices_count; i++) s->remote.wanted[i] = -1; /* it is told anew */
  s->look_for_work = true;
  return EP_OK;
}

void ep_gateway_start(ep_supervisor *s) {
  ep_error error = {0};
  s->remote.again_us = 0;
  if (!any_remote(s)) return;
  if (gateway_start(s, &error) == EP_OK) return;
  ep_log(EP_LOG_ERROR, "Slurm's gateway cannot be started: %s", error.message);
  s->remote.again_us = ep_clock_steady_us() + AGAIN_US;
}

/* It tells its workers, and ends with this socket. */
void ep_gateway_stop(ep_supervisor *s) {
  if (s->remote.control >= 0) close(s->remote.control);
  s->remote.control = -1;
  int pidfd = s->remote.pid > 0 ? ep_pidfd_open(s->remote.pid) : -1;
  struct pollfd polled = {.fd = pidfd, .events = POLLIN};
  if (pidfd >= 0) {
    poll(&polled, 1, STOP_MS);
    close(pidfd);
  }
  gateway_end(s);
}

void ep_gateway_lose(ep_supervisor *s, const char *why) {
  ep_log(EP_LOG_WARNING, "Slurm's gateway is started again: %s", why);
  gateway_end(s);
  s->remote.again_us = ep_clock_steady_us() + AGAIN_US / 10;
}

void ep_gateway_send(ep_supervisor *s, const ep_control *control) {
  ep_error error = {0};
  if (s->remote.control < 0) return;
  if (ep_control_send(s->remote.control, control, -1, &error) != EP_OK)
    ep_gateway_lose(s, error.message);
}

void ep_gateway_end_worker(ep_supervisor *s, ep_supervised *worker, const char *why) {
  ep_control control = {.kind = EP_CONTROL_END};
  memcpy(control.worker, worker->worker, sizeof control.worker);
  snprintf(control.text, sizeof control.text, "%s", why);
  if (worker->worker[0] != 0) ep_gateway_send(s, &control);
}

void ep_gateway_check(ep_supervisor *s, int64_t now_us) {
  if (s->remote.again_us != 0 && now_us >= s->remote.again_us) ep_gateway_start(s);
}

int64_t ep_gateway_deadline(const ep_supervisor *s) {
  return s->remote.again_us != 0 ? s->remote.again_us : INT64_MAX;
}
