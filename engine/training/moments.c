#include "engine/training/moments.h"

#include "engine/checkpoints/list.h"
#include "engine/weights/weights.h"

bool ep_moments_wanted(const ep_trainer *t) {
  return t->job->spec->timelapse_every > 0 && t->job->job_folder;
}

static ep_status moment_store(ep_trainer *t, ep_error *error) {
  char path[EP_PATH_BYTES], sha256[EP_SHA256_HEX_BYTES];
  int64_t bytes, epoch = t->step / t->steps_per_epoch;
  ep_error refused = {0};
  ep_status status = ep_trainer_export(t, error);
  if (status != EP_OK || !t->finite) return status;
  status = ep_moment_path(t->job->job_folder, epoch, path, error);
  if (status == EP_OK)
    ep_weights_write(path, t->plan, t->state, &t->data.scaling, t->job->spec_text, sha256, &bytes,
                     &refused);
  return status;
}

/* The same steps give the same weights: what a run before has stored up to here is kept. */
ep_status ep_moments_begin(ep_trainer *t, ep_error *error) {
  if (!ep_moments_wanted(t)) return EP_OK;
  int64_t epoch = t->resumed.step > 0 ? t->step / t->steps_per_epoch : -1;
  ep_status status = ep_moments_remove_after(t->job->job_folder, epoch, error);
  return status == EP_OK && t->step == 0 ? moment_store(t, error) : status;
}

ep_status ep_moment_if_due(ep_trainer *t, ep_error *error) {
  if (!ep_moments_wanted(t)) return EP_OK;
  int64_t every = t->job->spec->timelapse_every * t->steps_per_epoch;
  return t->step % every == 0 ? moment_store(t, error) : EP_OK;
}

ep_status ep_moments_end(ep_trainer *t, ep_error *error) {
  if (!ep_moments_wanted(t) || t->step % t->steps_per_epoch != 0) return EP_OK;
  return moment_store(t, error);
}
