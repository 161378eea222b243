/* help.h: points of a sweep that another worker has, trained here: engine/sweep/sharing.h. */
#ifndef EP_ENGINE_SWEEP_HELP_H
#define EP_ENGINE_SWEEP_HELP_H

#include "engine/sweep/sweep.h"

typedef struct ep_sweep_help ep_sweep_help;

/* NULL: memory is short. */
ep_sweep_help *ep_sweep_help_create(void);
void ep_sweep_help_destroy(ep_sweep_help *help); /* NULL is allowed */

/* From any thread. EP_NO_MEMORY. */
ep_status ep_sweep_help_add(ep_sweep_help *help, const ep_trial_point *points, int64_t count,
                            ep_error *error);

/* Trains the points that are added until run->shared.cancel is set and ep_sweep_help_wake called.
 * ready: it can begin, with so many trainings at a time. Results come by run->results in any order.
 * run: folder, sharing and started are NULL. EP_OK: it was told to end. A failure of `ready` or of
 * run->results ends it: what was not told is lost. */
ep_status ep_sweep_help_run(ep_sweep_help *help, const ep_sweep_run *run,
                            ep_status (*ready)(void *context, int64_t slots, bool together,
                                               ep_error *error),
                            ep_error *error);
/* Has it look at run->shared.cancel. Any thread. */
void ep_sweep_help_wake(ep_sweep_help *help);

#endif
