/* probe.h: a little real training on every executor, against the answer worked out by hand. */
#ifndef EP_KERNELS_CPU_PROBE_H
#define EP_KERNELS_CPU_PROBE_H

#include "kernels/cpu/executors/executor.h"

/* Every executor of the table. EP_DEVICE when an executor gives a wrong number; the processor or
 * the build is broken then. */
ep_status ep_cpu_probe(ep_backend *backend, ep_error *error);

/* One; EP_OK as well when it does not take the probe's program. */
ep_status ep_cpu_probe_executor(ep_backend *backend, const ep_executor *executor, ep_error *error);

#endif
