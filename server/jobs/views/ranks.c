#include "server/jobs/views/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "api/json/scanner.h"
#include "api/spec/spec.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/prepare/shape.h"
#include "engine/files/path.h"
#include "engine/plan/plan.h"

/* What the rows are. False: they are gone. */
static bool shape_find(const char *data_dir, const ep_data_spec *data, ep_data_shape *out,
                       ep_problem *problem) {
  char folder[EP_PATH_BYTES];
  ep_dataset_meta meta = {0};
  bool stored = data->sha256[0] != 0;
  if (stored && (ep_path_join(folder, NULL, data_dir, "datasets", data->sha256, NULL) != EP_OK ||
                 ep_data_meta_find(data, folder, &stored, &meta, NULL) != EP_OK))
    return false;
  if (!stored && data->source == EP_DATA_PATH) return false;
  bool found = ep_data_shape_find(data, stored ? &meta : NULL, out, problem) == EP_OK;
  ep_dataset_meta_deinit(&meta);
  return found;
}

static bool plan_look(const char *data_dir, const char *text, ep_parallel_view *out,
                      ep_problem *problem) {
  ep_job_spec *spec = NULL;
  ep_plan *plan = NULL;
  ep_data_shape shape;
  bool found = ep_job_spec_load(text, strlen(text), &spec, problem) == EP_OK &&
               shape_find(data_dir, &spec->data, &shape, problem) &&
               ep_plan_create(spec, &shape, &plan, problem) == EP_OK &&
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
