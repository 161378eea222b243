/* first_weights.h: where a job's first weights come from: model.init names a job or an upload. */
#ifndef EP_SERVER_JOBS_LIFECYCLE_FIRST_WEIGHTS_H
#define EP_SERVER_JOBS_LIFECYCLE_FIRST_WEIGHTS_H

#include "engine/files/path.h"
#include "server/jobs/live/state.h"

/* Puts the id of the job that model.init of a request calls by another word (ep_jobs_find) in the
 * place of that. Faults go into *problem. */
ep_status ep_first_weights_name(ep_jobs *jobs, const ep_viewer *by, struct json_t *request,
                                ep_problem *problem);

/* Finds and pins what model.init names, if `by` sees it, checks it against the plan, and fills in
 * spec->init_sha256. Faults go into *problem. pin: written, also on failure; "" = nothing is
 * pinned. checkpoint: the file, where it is one, for ep_first_weights_link; "" = it is none. */
ep_status ep_first_weights_resolve(ep_jobs *jobs, const ep_viewer *by, ep_job_spec *spec,
                                   const ep_plan *plan, char pin[EP_PIN_BYTES],
                                   char checkpoint[EP_PATH_BYTES], ep_problem *problem);
/* Gives the file another name in the job's folder, which is on disk afterwards: the other job may
 * replace its checkpoints at any time. "" is allowed. */
ep_status ep_first_weights_link(const char *data_dir, const char *job, const char *checkpoint,
                                ep_error *error);
/* The pin of a spec that was resolved before; "" = none. */
void ep_first_weights_pin_name(const ep_job_spec *spec, char pin[EP_PIN_BYTES]);
/* Removes the pin, and the content that nothing else needs. "" is allowed. */
void ep_first_weights_unpin(ep_jobs *jobs, const char *pin);

#endif
