/* What the outputs of a job's network mean, from the file of its weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/weights/stored_model.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/live/live.h"

static ep_status meaning_copy(const ep_output_meaning *from, ep_output_meaning *out,
                              ep_error *error) {
  *out = (ep_output_meaning){.loss = from->loss};
  if (from->classes == 0) return EP_OK;
  out->class_name = calloc((size_t)from->classes, sizeof *out->class_name);
  for (; out->class_name && out->classes < from->classes; out->classes++)
    if (!(out->class_name[out->classes] = strdup(from->class_name[out->classes]))) break;
  if (out->classes == from->classes) return EP_OK;
  ep_output_meaning_deinit(out);
  return ep_fail_memory(error);
}

/* Whether it is held. Weights of a job that ended do not change. */
static bool meaning_held(ep_jobs *jobs, const char *id, ep_output_meaning *out) {
  pthread_mutex_lock(&jobs->mutex);
  bool held =
      strcmp(jobs->meaning_job, id) == 0 && meaning_copy(&jobs->meaning, out, NULL) == EP_OK;
  pthread_mutex_unlock(&jobs->mutex);
  return held;
}

/* Memory may be short: then nothing is held. */
static void meaning_hold(ep_jobs *jobs, const char *id, const ep_output_meaning *meaning) {
  ep_output_meaning copy, before;
  if (meaning_copy(meaning, &copy, NULL) != EP_OK) return;
  pthread_mutex_lock(&jobs->mutex);
  before = jobs->meaning;
  jobs->meaning = copy;
  snprintf(jobs->meaning_job, sizeof jobs->meaning_job, "%s", id);
  pthread_mutex_unlock(&jobs->mutex);
  ep_output_meaning_deinit(&before);
}

ep_status ep_jobs_meaning_find(ep_jobs *jobs, const char *id, int64_t checkpoint,
                               ep_output_meaning *out, ep_error *error) {
  char path[EP_PATH_BYTES] = "";
  ep_stored_model model = {0};
  *out = (ep_output_meaning){0};
  if (checkpoint == 0 && meaning_held(jobs, id, out)) return EP_OK;
  ep_status status = ep_jobs_weights_path(jobs, id, checkpoint, path, error);
  if (status == EP_OK) status = ep_stored_model_open(path, &model, error);
  if (status == EP_OK) status = ep_stored_model_spec_load(&model, error);
  if (status == EP_OK) {
    out->loss = model.spec->loss;
    out->class_name = model.classes.word; /* moved; their counts of rows say nothing */
    out->classes = model.classes.count;
    model.classes.word = NULL;
    model.classes.count = 0;
  }
  ep_stored_model_close(&model);
  if (status == EP_DATA || status == EP_INTERNAL)
    return EP_OK; /* the worker that reads all of the file says what is wrong */
  if (status != EP_OK) return ep_jobs_weights_explain(jobs, id, checkpoint, path, error);
  if (checkpoint == 0) meaning_hold(jobs, id, out);
  return EP_OK;
}
