#include "server/jobs/views/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "api/json/scanner.h"
#include "api/spec/spec.h"
#include "engine/data/prepare/job_plan.h"
#include "engine/plan/plan.h"

static bool plan_look(const char *data_dir, const char *text, ep_parallel_view *out,
                      ep_problem *problem) {
  ep_job_spec *spec = NULL;
  ep_plan *plan = NULL;
  bool found = ep_job_spec_load(text, strlen(text), &spec, problem) == EP_OK &&
               ep_job_plan_stored(spec, data_dir, &plan, NULL) == EP_OK &&
               ep_plan_parallel(plan, spec, out);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
  return found;
}

bool ep_job_ranks_find(const char *data_dir, const ep_job_row *row, ep_parallel_view *out) {
  ep_scanner spec = {row->spec, row->spec + strlen(row->spec)};
  if (!ep_scan_member(&spec, "parallel") || ep_scan_peek(&spec) != '{') return false;
  ep_problem *problem = calloc(1, sizeof *problem);
  bool found = problem && plan_look(data_dir, row->spec, out, problem);
  free(problem);
  return found;
}
