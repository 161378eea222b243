/* What the outputs of a job's network mean, from the file of its weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/weights/weights.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/live/live.h"

static ep_status loss_read(const char *weights, ep_loss_type *out, ep_error *error) {
  char *text = NULL;
  ep_job_spec *spec = NULL;
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  ep_status status = ep_weights_read_spec(weights, &text, error);
  if (status == EP_OK && ep_job_spec_load(text, strlen(text), &spec, problem) != EP_OK)
    status = ep_fail(error, EP_DATA, "weights: %.400s", problem->detail);
  if (status == EP_OK) *out = spec->loss;
  ep_job_spec_destroy(spec);
  free(text);
  free(problem);
  return status;
}

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
  char path[EP_PATH_BYTES];
  ep_words classes = {0};
  *out = (ep_output_meaning){0};
  if (checkpoint == 0 && meaning_held(jobs, id, out)) return EP_OK;
  ep_status status = ep_jobs_weights_path(jobs, id, checkpoint, path, error);
  if (status == EP_OK) status = loss_read(path, &out->loss, error);
  if (status == EP_OK) status = ep_weights_read_classes(path, &classes, error);
  if (status == EP_DATA)
    return EP_OK; /* the worker that reads all of the file says what is wrong */
  if (status != EP_OK) return status;
  out->class_name = classes.word; /* moved; they have no counts of rows */
  out->classes = classes.count;
  if (checkpoint == 0) meaning_hold(jobs, id, out);
  return EP_OK;
}
