/* first_weights.h: where a job's first weights come from: model.init names a job or an upload. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_FIRST_WEIGHTS_H
#define EP_SERVER_JOBS_LIFECYCLE_FIRST_WEIGHTS_H

#include "server/jobs/live/state.h"

/* Finds and pins what model.init names, checks it against the plan, and fills in spec->init_sha256.
 * Faults go into *problem. pin: written, also on failure; "" = nothing is pinned. */
ep_status ep_first_weights_resolve(ep_jobs *jobs, ep_job_spec *spec, const ep_plan *plan,
                                   char pin[EP_PIN_BYTES], ep_problem *problem);
/* The pin of a spec that was resolved before; "" = none. */
void ep_first_weights_pin_name(const ep_job_spec *spec, char pin[EP_PIN_BYTES]);
/* Removes the pin, and the content that nothing else needs. "" is allowed. */
void ep_first_weights_unpin(ep_jobs *jobs, const char *pin);

#endif
