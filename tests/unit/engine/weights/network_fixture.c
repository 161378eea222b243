#include "tests/unit/engine/weights/network_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/weights/notes.h"
#include "engine/weights/weights.h"

void network_open(network *n, const char *layers, const char *rest, ep_shape row, ep_x_type x_type,
                  int64_t targets) {
  char json[4096];
  ep_problem *problem = calloc(1, sizeof *problem);
  ck_assert_ptr_nonnull(problem);
  int bytes = snprintf(json, sizeof json,
                       "{\"data\": {\"dataset\": \"d\"}, \"model\": {\"layers\": %s}, "
                       "\"epochs\": 1%s%s%s}",
                       layers, rest && strstr(rest, "\"loss\"") ? "" : ", \"loss\": \"mse\"",
                       rest ? ", " : "", rest ? rest : "");
  ck_assert_int_lt(bytes, (int)sizeof json);
  ck_assert_msg(ep_job_spec_parse(json, strlen(json), &n->spec, problem) == EP_OK, "%s",
                problem->detail);
  bool classes = ep_loss_takes_classes(n->spec->loss);
  ep_data_shape shape = {.train_rows = 10,
                         .features = ep_shape_count(row),
                         .row = row,
                         .x_type = x_type,
                         .x_integer = true,
                         .x_deep = true,
                         .x_max = 4,
                         .target_columns = classes ? 1 : targets,
                         .classes = classes ? targets : 0,
                         .target_max = classes ? (double)targets - 1 : 1};
  ck_assert_msg(ep_plan_create(n->spec, &shape, &n->plan, problem) == EP_OK, "%s", problem->detail);
  free(problem);
  n->text = ep_job_spec_format(n->spec);
  int64_t floats = ep_program_state_floats(&n->plan->program);
  n->state = malloc((size_t)floats * sizeof *n->state + 1);
  ck_assert(n->text && n->state);
  for (int64_t i = 0; i < floats; i++) n->state[i] = (float)(i + 1) / 64;
}

void network_close(network *n) {
  free(n->state);
  free(n->text);
  ep_plan_destroy(n->plan);
  ep_job_spec_destroy(n->spec);
}

ep_status path_read(const char *path, const ep_plan *plan, float *state, ep_scaling *scaling,
                    ep_error *error) {
  ep_tensors file;
  *scaling = (ep_scaling){0};
  ep_status status = ep_tensors_open(path, &file, error);
  if (status == EP_OK) status = ep_weights_take(&file, plan, state, error);
  if (status == EP_OK)
    status = ep_weights_notes_scaling(&file, ep_shape_count(plan->program.stored),
                                      plan->program.target_columns, scaling, error);
  ep_tensors_close(&file);
  if (status != EP_OK) ep_scaling_deinit(scaling);
  return status;
}
