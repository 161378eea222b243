/* models.h: published models, which name jobs' weights, in the store (store.h). Thread-safe; a
 * function that changes something returns when it is on disk. */
#ifndef EP_SERVER_STORE_MODELS_H
#define EP_SERVER_STORE_MODELS_H

#include "api/responses/model.h"
#include "server/store/store.h"

/* Names a job's weights. *created: false when the name was there and means this job from here on;
 * its owner stays, and its visibility unless that is given. EP_CONFLICT: there are EP_LIMIT_MODELS
 * names; EP_FORBIDDEN: the name is another owner's, and it is not an admin who asks. */
ep_status ep_store_model_put(ep_store *store, const ep_model *model, bool admin, bool *created,
                             ep_error *error);
ep_status ep_store_model_get(ep_store *store, const char *name, ep_model *out, ep_error *error);
/* EP_FORBIDDEN as above; owner: who asks. */
ep_status ep_store_model_delete(ep_store *store, const char *name, const char *owner, bool admin,
                                ep_error *error);
/* Who sees it. EP_FORBIDDEN as above; EP_DAMAGED: the row is not what was written. */
ep_status ep_store_model_visibility(ep_store *store, const char *name, const char *owner,
                                    bool admin, bool private, ep_error *error);
/* The first that was published of the models that name the job: of this owner's, if there are any.
 * EP_NOT_FOUND when none does. */
ep_status ep_store_model_by_job(ep_store *store, const char *job, const char *owner, ep_model *out,
                                ep_error *error);
/* Those that the viewer sees (NULL: all), by name; *models is the caller's (free). */
ep_status ep_store_model_list(ep_store *store, const ep_viewer *viewer, ep_model **models,
                              int64_t *count, ep_error *error);

#endif
