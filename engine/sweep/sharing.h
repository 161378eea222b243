/* sharing.h: the other workers that train points of a sweep, its helpers, as the worker that has
 * the sweep sees them. It alone names points, puts results in order and stores them; helpers train
 * what they are handed. epochd lends helpers and takes them back; each loan has a number, its
 * lease. The points of a helper that is gone are handed out again, and what comes from it late is
 * ignored. */
#ifndef EP_ENGINE_SWEEP_SHARING_H
#define EP_ENGINE_SWEEP_SHARING_H

#include <stdint.h>

#include "api/limits.h"
#include "api/status.h"
#include "api/wire/frame.h"

typedef struct ep_sweep_sharing ep_sweep_sharing;

/* NULL: memory is short. It outlives the sweep that is trained with it. */
ep_sweep_sharing *ep_sweep_sharing_create(void);
void ep_sweep_sharing_destroy(ep_sweep_sharing *sharing); /* NULL is allowed */

/* From any thread, before, while and after the sweep is trained. These are the helpers, all of
 * them: leases: [count], at most EP_LIMIT_SWEEP_WORKERS. */
void ep_sweep_sharing_set(ep_sweep_sharing *sharing, const uint64_t *leases, int count);
/* What a helper sent: results, or that it is ready. */
void ep_sweep_sharing_results(ep_sweep_sharing *sharing, const ep_points *results);

#endif
