/* filter.h: which system calls a process may make (seccomp). */
#ifndef EP_ENGINE_SANDBOX_FILTER_H
#define EP_ENGINE_SANDBOX_FILTER_H

#include <stdbool.h>

#include "engine/sandbox/sandbox.h"

/* Loads the filter for all threads of the process. A call that it refuses fails with EPERM, as one
 * that a right is missing for. false: no filter is permitted here. */
bool ep_filter_load(ep_sandbox_kind kind);

/* Whether the kernel has filters, and permits to ask. */
bool ep_filter_permitted(void);

#endif
