/* of_job.c: the folds and repeats of a job, as a sweep of one point. */
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/json/memory.h"
#include "api/sweep/sweep_json.h"

/* Moves what says how often out of the job, which keeps all else. */
static json_t *request_make(json_t *job) {
  static const char *const moved[] = {"repeats", "folds", "stratify"};
  json_t *root = json_pack("{s:s, s:s, s:{}}", "search", "grid", "metric", "train.loss", "space");
  bool made = root && json_object_set(root, "job", job) == 0;
  for (size_t i = 0; made && i < sizeof moved / sizeof *moved; i++) {
    json_t *value = json_object_get(job, moved[i]);
    if (value) made = json_object_set(root, moved[i], value) == 0;
    if (value) json_object_del(job, moved[i]);
  }
  if (made) return root;
  json_decref(root);
  return NULL;
}

ep_status ep_sweep_of_job(const char *text, size_t bytes, ep_sweep_spec **out,
                          ep_problem *problem) {
  json_t *job;
  ep_error error;
  *out = NULL;
  if (ep_json_load(text, bytes, 16 * EP_LIMIT_SPEC_BYTES, &job, &error) != EP_OK)
    return ep_problem_set(problem, error.status, "%s", error.message);
  json_t *root = request_make(job);
  char *request = root ? ep_json_write(root, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(root);
  json_decref(job);
  ep_status status = request ? ep_sweep_spec_parse(request, strlen(request), out, problem)
                             : ep_problem_fail_memory(problem);
  free(request);
  return status;
}
