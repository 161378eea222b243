/* of_job.c: the folds and repeats of a job, as a sweep of one point. */
#include "api/json/json.h"
#include "api/sweep/sweep_json.h"

enum { JOB_TEXT_LIMIT = 16 * EP_LIMIT_SPEC_BYTES };

/* Moves what says how often out of the job, and drops what happens when the whole job ends. NULL:
 * memory is short. */
static json_t *request_make(json_t *job) {
  static const char *const moved[] = {"repeats", "folds", "stratify"};
  json_t *root = json_pack("{s:s, s:s, s:{}}", "search", "grid", "metric", "train.loss", "space");
  bool made = root && json_object_set(root, "job", job) == 0;
  for (size_t i = 0; made && i < sizeof moved / sizeof *moved; i++) {
    json_t *value = json_object_get(job, moved[i]);
    if (value) made = json_object_set(root, moved[i], value) == 0;
    if (value) json_object_del(job, moved[i]);
  }
  json_object_del(job, "webhooks");
  if (made) return root;
  json_decref(root);
  return NULL;
}

ep_status ep_sweep_of_job(const char *text, size_t bytes, ep_sweep_spec **out,
                          ep_problem *problem) {
  json_t *job;
  ep_error error;
  *out = NULL;
  if (ep_json_load(text, bytes, JOB_TEXT_LIMIT, &job, &error) != EP_OK)
    return ep_problem_set(problem, error.status, "%s", error.message);
  json_t *root = request_make(job);
  ep_field_reader reader = {.problem = problem, .stored = true};
  ep_status status =
      root ? ep_sweep_spec_read(&reader, root, true, out) : ep_problem_fail_memory(problem);
  json_decref(root);
  json_decref(job);
  return status;
}
