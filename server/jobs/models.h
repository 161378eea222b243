/* models.h: published models: names for the weights of jobs that ended. A job that a model names is
 * kept until no model does: ep_jobs_delete says EP_CONFLICT. Thread-safe. */
#ifndef EP_SERVER_JOBS_MODELS_H
#define EP_SERVER_JOBS_MODELS_H

#include "api/responses/model.h"
#include "server/jobs/jobs.h"

/* Publishes the job's weights; *created false when the name was there and now means this job.
 * EP_NOT_FOUND: there is no such job; EP_CONFLICT: it has not ended, has no weights, or they do not
 * say what rows they take. All at /job. Reads the weights file's header. */
ep_status ep_models_put(ep_jobs *jobs, const char *name, const char *job, bool *created,
                        ep_error *error);
ep_status ep_models_get(ep_jobs *jobs, const char *name, ep_model *out, ep_error *error);
ep_status ep_models_delete(ep_jobs *jobs, const char *name, ep_error *error); /* its job stays */
/* GET /v1/models; owned by the caller. */
ep_status ep_models_list(ep_jobs *jobs, char **text, ep_error *error);

/* EP_CONFLICT, with its name, when a model names the job. The job is claimed by the caller
 * (pins.h), so that none can come to name it. */
ep_status ep_models_check_free(ep_jobs *jobs, const char *job, ep_error *error);

#endif
