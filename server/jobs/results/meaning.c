/* What the outputs of a job's network mean, from the file of its weights. */
#include <stdlib.h>
#include <string.h>

#include "engine/weights/weights.h"
#include "server/jobs/checkpoints.h"

static ep_status loss_read(const char *weights, ep_loss_type *out, ep_error *error) {
  char *text = NULL;
  ep_job_spec *spec = NULL;
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  ep_status status = ep_weights_read_spec(weights, &text, error);
  if (status == EP_OK && ep_job_spec_parse(text, strlen(text), &spec, problem) != EP_OK)
    status = ep_fail(error, EP_DATA, "weights: %.400s", problem->detail);
  if (status == EP_OK) *out = spec->loss;
  ep_job_spec_destroy(spec);
  free(text);
  free(problem);
  return status;
}

ep_status ep_jobs_meaning_find(ep_jobs *jobs, const char *id, int64_t checkpoint,
                               ep_output_meaning *out, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_words classes = {0};
  *out = (ep_output_meaning){0};
  ep_status status = ep_jobs_weights_path(jobs, id, checkpoint, path, error);
  if (status == EP_OK) status = loss_read(path, &out->loss, error);
  if (status == EP_OK) status = ep_weights_read_classes(path, &classes, error);
  if (status == EP_DATA)
    return EP_OK; /* the worker that reads all of the file says what is wrong */
  if (status != EP_OK) return status;
  out->class_name = classes.word; /* moved; they have no counts of rows */
  out->classes = classes.count;
  return EP_OK;
}
