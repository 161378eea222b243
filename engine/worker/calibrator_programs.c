#include "engine/worker/calibrator_programs.h"

#include <stdio.h>
#include <stdlib.h>

int ep_calibration_programs_count(const char *device) {
  int executors_count, count = 0;
  const ep_executor_profile *const *executors = ep_cost_executors(device, &executors_count);
  for (int i = 0; i < executors_count; i++) count += executors[i]->programs_count;
  return count;
}

const ep_calibration_program *ep_calibration_program_at(const char *device, int at,
                                                        const ep_executor_profile **executor) {
  int executors_count;
  const ep_executor_profile *const *executors = ep_cost_executors(device, &executors_count);
  for (; at >= (*executors)->programs_count; executors++) at -= (*executors)->programs_count;
  *executor = *executors;
  return &(*executors)->programs[at];
}

/* The job's text; NULL when memory is short. */
static char *text_make(const ep_calibration_program *program) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  fprintf(out, "{\"data\":{\"generator\":\"disc\",\"rows\":%d},\"model\":{\"layers\":[",
          program->rows);
  for (int i = 0; i < program->hidden; i++)
    if (program->side > 0)
      fprintf(out,
              "{\"type\":\"conv2d\",\"out_channels\":%d,\"kernel_size\":3,\"padding\":1},"
              "{\"type\":\"relu\"},",
              program->width);
    else
      fprintf(out, "{\"type\":\"linear\",\"out_features\":%d},{\"type\":\"relu\"},",
              program->width);
  fprintf(out,
          "%s{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"mse\",\"optimizer\":"
          "{\"type\":\"sgd\",\"lr\":1e-4},\"epochs\":1,\"batch_size\":%d,\"precision\":\"%s\","
          "\"parallel\":{\"data\":%d}}",
          program->side > 0 ? "{\"type\":\"flatten\"}," : "",
          program->batch > 0 ? program->batch : program->rows,
          ep_precision_name(program->precision), program->replicas > 0 ? program->replicas : 1);
  bool failed = ferror(out) != 0;
  if (fclose(out) == 0 && !failed) return text;
  free(text);
  return NULL;
}

ep_status ep_calibration_open(const ep_calibration_program *program, ep_job *out, ep_error *error) {
  int64_t pixels = program->side > 0 ? (int64_t)program->side * program->side : 1;
  ep_data_shape shape = {.train_rows = program->rows,
                         .features = program->in_features * pixels,
                         .target_columns = 1,
                         .target_max = 1,
                         .x_max = 1};
  if (program->side > 0) shape.row = (ep_shape){program->in_features, program->side, program->side};
  *out = (ep_job){0};
  char *text = text_make(program);
  if (!text) return ep_fail_memory(error);
  ep_status status = ep_job_open(&(ep_job_source){.text = text, .shape = &shape}, out, error);
  free(text);
  return status;
}
