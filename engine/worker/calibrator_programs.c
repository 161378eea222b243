#include "engine/worker/calibrator_programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In all some three seconds on two cores: most need less than a millisecond a step. Small networks
 * above all: there the CPU and a GPU are close. None of them is a cell of tests/bench/study. */
static const ep_calibration_program cpu_programs[] = {
    {"cpu/fused", 10, 5, 1, 60, 0, 0},       {"cpu/fused", 12, 6, 2, 200, 0, 0},
    {"cpu/fused", 8, 8, 2, 1000, 0, 0},      {"cpu/fused", 20, 6, 4, 700, 0, 0},
    {"cpu/fused", 12, 5, 8, 150, 0, 0},      {"cpu/fused", 2, 4, 2, 8192, 0, 0},
    {"cpu/fused", 2, 2, 8, 2048, 0, 0},      {"cpu/fused", 24, 12, 1, 120, 0, 0},
    {"cpu/fused", 12, 12, 2, 90, 0, 0},      {"cpu/fused", 20, 20, 4, 200, 0, 0},
    {"cpu/fused", 24, 16, 1, 2000, 0, 0},    {"cpu/fused", 8, 16, 8, 100, 0, 0},
    {"cpu/fused", 12, 24, 8, 800, 0, 0},     {"cpu/fused", 32, 48, 1, 90, 0, 0},
    {"cpu/fused", 20, 48, 2, 200, 0, 0},     {"cpu/fused", 24, 80, 4, 60, 0, 0},
    {"cpu/fused", 32, 64, 1, 700, 0, 0},     {"cpu/fused", 20, 200, 1, 80, 0, 0},
    {"cpu/fused", 32, 256, 1, 400, 0, 0},    {"cpu/fused", 24, 256, 2, 128, 0, 0},
    {"cpu/fused", 32, 128, 4, 128, 0, 0},    {"cpu/fused", 24, 768, 1, 128, 0, 0},
    {"cpu/fused", 24, 512, 2, 64, 0, 0},     {"cpu/fused", 32, 1024, 2, 64, 0, 0},
    {"cpu/fused", 24, 1024, 4, 64, 0, 0},    {"cpu/fused", 16, 16, 2, 4096, 0, 128},
    {"cpu/blocked", 4, 4, 1, 16, 0, 0},      {"cpu/blocked", 8, 16, 8, 100, 0, 0},
    {"cpu/blocked", 64, 64, 2, 256, 0, 0},   {"cpu/blocked", 16, 256, 3, 1024, 0, 0},
    {"cpu/blocked", 16, 1024, 2, 256, 0, 0}, {"cpu/blocked", 1, 8, 2, 64, 16, 0},
    {"cpu/blocked", 16, 32, 2, 32, 16, 0},   {"cpu/reference", 4, 4, 1, 16, 0, 0},
    {"cpu/reference", 8, 32, 2, 64, 0, 0},
};

/* Where a kernel is compiled for each program, that is most of the time: as few as say enough. */
static const ep_calibration_program cuda_programs[] = {
    {"cuda/fused", 24, 64, 2, 1500, 0, 0},    {"cuda/fused", 24, 48, 4, 20000, 0, 0},
    {"cuda/fused", 12, 64, 1, 65536, 0, 0},   {"cuda/fused", 2, 32, 8, 4096, 0, 0},
    {"cuda/resident", 2, 2, 1, 4, 0, 0},      {"cuda/resident", 6, 6, 1, 321, 0, 0},
    {"cuda/resident", 12, 5, 1, 1000, 0, 0},  {"cuda/resident", 16, 2, 2, 8192, 0, 0},
    {"cuda/cluster", 2, 16, 2, 100, 0, 0},    {"cuda/cluster", 2, 64, 4, 500, 0, 0},
    {"cuda/cluster", 12, 20, 1, 80, 0, 0},    {"cuda/cluster", 10, 6, 7, 60, 0, 0},
    {"cuda/cluster", 24, 64, 4, 100, 0, 0},   {"cuda/cluster", 32, 200, 1, 200, 0, 0},
    {"cuda/crews", 2, 512, 2, 100, 0, 0},     {"cuda/crews", 24, 320, 4, 64, 0, 0},
    {"cuda/grid", 16, 32, 4, 8192, 0, 0},     {"cuda/grid", 16, 128, 2, 4096, 0, 0},
    {"cuda/grid", 2, 512, 4, 100, 0, 0},      {"cuda/grid", 2, 1024, 4, 1000, 0, 0},
    {"cuda/grid", 2, 2048, 2, 100, 0, 0},     {"cuda/graph", 1, 8, 2, 200, 16, 0},
    {"cuda/images", 32, 64, 2, 256, 16, 0},   {"cuda/gemm", 16, 128, 2, 1024, 0, 0},
    {"cuda/gemm", 16, 1024, 4, 4096, 0, 0},   {"cuda/gemm", 16, 64, 2, 65536, 0, 0},
    {"cuda/general", 2, 16, 2, 100, 0, 0},    {"cuda/general", 2, 64, 8, 1000, 0, 0},
    {"cuda/general", 2, 8, 2, 65536, 0, 0},   {"cuda/general", 2, 128, 2, 65536, 0, 0},
    {"cuda/general", 2, 1024, 4, 1000, 0, 0}, {"cuda/general", 2, 1024, 2, 16384, 0, 0},
    {"cuda/general", 1, 8, 2, 64, 16, 0},     {"cuda/general", 32, 64, 2, 256, 16, 0},
};

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

const ep_calibration_program *ep_calibration_programs(const char *device, int *count) {
  bool cpu = strcmp(device, "cpu") == 0;
  *count = cpu ? COUNT(cpu_programs) : COUNT(cuda_programs);
  return cpu ? cpu_programs : cuda_programs;
}

/* The job's text; NULL when memory is short. */
static char *text_make(const ep_calibration_program *program) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  bool gemm = strcmp(program->executor, "cuda/gemm") == 0;
  bool images = strcmp(program->executor, "cuda/images") == 0;
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
          "{\"type\":\"sgd\",\"lr\":1e-4},\"epochs\":1,\"batch_size\":%d%s}",
          program->side > 0 ? "{\"type\":\"flatten\"}," : "",
          program->batch > 0 ? program->batch : program->rows,
          gemm     ? ",\"precision\":\"tf32\""
          : images ? ",\"precision\":\"bf16\""
                   : "");
  bool failed = ferror(out) != 0;
  if (fclose(out) == 0 && !failed) return text;
  free(text);
  return NULL;
}

ep_status ep_calibration_plan(const ep_calibration_program *program, ep_job_spec **spec,
                              ep_plan **plan, ep_error *error) {
  int64_t pixels = program->side > 0 ? (int64_t)program->side * program->side : 1;
  ep_data_shape shape = {.train_rows = program->rows,
                         .features = program->in_features * pixels,
                         .target_columns = 1,
                         .target_max = 1,
                         .x_max = 1};
  if (program->side > 0) shape.row = (ep_shape){program->in_features, program->side, program->side};
  ep_problem *problem = calloc(1, sizeof *problem);
  char *text = text_make(program);
  *spec = NULL;
  *plan = NULL;
  ep_status status = problem && text ? EP_OK : EP_NO_MEMORY;
  if (status == EP_OK) status = ep_job_spec_parse(text, strlen(text), spec, problem);
  if (status == EP_OK) status = ep_plan_create(*spec, &shape, plan, problem);
  if (status != EP_OK) {
    ep_fail(error, status, "a program to measure: %s", problem ? problem->detail : "no memory");
    ep_job_spec_destroy(*spec);
    *spec = NULL;
  }
  free(text);
  free(problem);
  return status;
}
