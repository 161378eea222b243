#include "server/workers/state.h"

#include <stdio.h>

#include "server/process/clock.h"
#include "server/process/log.h"

#define REAP_US INT64_C(30000000) /* a process that SIGKILL did not end hangs in the driver */

void ep_supervised_kill(ep_supervised *worker, const char *cause) {
  if (worker->killed) return;
  worker->killed = true;
  worker->reap_us = ep_clock_steady_us() + REAP_US;
  snprintf(worker->cause, sizeof worker->cause, "%s", cause);
  ep_log(EP_LOG_WARNING, "device %s: worker %lld is killed: %s", worker->id,
         (long long)worker->link.pid, cause);
  ep_worker_link_kill(&worker->link);
  if (worker->remote) worker->hung_up = true; /* nothing more is read */
}
