/* models.h: published models: names for the weights of jobs that ended. A job that a model names
 * cannot be deleted. Thread-safe. */
#ifndef EP_SERVER_JOBS_MODELS_H
#define EP_SERVER_JOBS_MODELS_H

#include "api/responses/model.h"
#include "server/jobs/jobs.h"

/* The class that a threshold of the job is of under that name: the one that the name's threshold is
 * of, if it has one and the job has that class, else the job's positive class. "" where the job's
 * weights do not say; ep_models_put says why. */
ep_status ep_models_positive_find(ep_jobs *jobs, const char *name, const char *job,
                                  char positive[EP_LIMIT_WORD_BYTES + 1], ep_error *error);

/* How the job's predictions differ from those of the model that has the name; *out: of none where
 * there is no such model, or what it predicts cannot be read. keeps: whether a threshold of that
 * model is one of the job's classes. */
ep_status ep_models_changes_find(ep_jobs *jobs, const char *name, const char *job,
                                 ep_model_changes *out, bool *keeps, ep_error *error);

/* Publishes the job's weights, whose file's header it reads. threshold: of two classes, of which
 * positive is the word; NaN: none; EP_INVALID: the job has others. *created: false when the name
 * was there and means this job from here on. A new name is private where its job is, unless the
 * request says. EP_NOT_FOUND: no such job; EP_CONFLICT: it has not ended,
 * has no weights, or they do not say what rows they take. All at
 * /job. EP_FORBIDDEN: the name is another owner's. */
ep_status ep_models_put(ep_jobs *jobs, const char *name, const ep_model_request *request,
                        double threshold, const char *positive, const ep_viewer *by, bool *created,
                        ep_error *error);
ep_status ep_models_get(ep_jobs *jobs, const char *name, ep_model *out, ep_error *error);
/* Who sees it. EP_FORBIDDEN as above. */
ep_status ep_models_show(ep_jobs *jobs, const char *name, const ep_viewer *by, bool private,
                         ep_error *error);
/* Its job stays. EP_FORBIDDEN as above. */
ep_status ep_models_delete(ep_jobs *jobs, const char *name, const char *owner, bool admin,
                           ep_error *error);
/* Text of GET /v2/models/{name}, the caller's, with the columns that a row is made of. */
ep_status ep_models_metadata(ep_jobs *jobs, const char *name, char **text, ep_error *error);
/* Text of GET /v1/models, the caller's: those that the viewer sees. */
ep_status ep_models_list(ep_jobs *jobs, const ep_viewer *viewer, char **text, ep_error *error);

#endif
