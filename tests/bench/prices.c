/* Fits the prices of engine/cost.c to what tests/bench/study measured, and says how well `auto`
 * would choose by them, and by the calibrations of the same run. For whoever changes an executor,
 * or its model: the study need not be run again.
 *
 * usage: bench_prices STUDY.json */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/calibration_fields.h"
#include "engine/cost.h"
#include "engine/worker/calibrator_programs.h"

enum { CELLS_MOST = 256, CPU = 0, CUDA = 1, KINDS = 2, IN_FEATURES = 16 };

static const char *const kinds[KINDS] = {"cpu", "cuda"};

typedef struct {
  int width, depth, rows;
  double seconds[KINDS]; /* of a step, measured */
  const ep_cost_model *model[KINDS];
  ep_cost_sample sample[KINDS];
} cell;

static ep_device_info devices[KINDS] = {{.id = "cpu", .instruction_set = "avx512"},
                                        {.id = "cuda:0", .instruction_set = "sm_90"}};

/* The executor that takes the program, and what a step of it is made of; false when none does. */
static bool cell_plan(cell *c, int kind) {
  ep_calibration_program program = {.executor = "",
                                    .in_features = IN_FEATURES,
                                    .width = c->width,
                                    .hidden = c->depth,
                                    .rows = c->rows};
  ep_job_spec *spec;
  ep_plan *plan;
  ep_error error = {0};
  int count;
  if (ep_calibration_plan(&program, &spec, &plan, &error) != EP_OK) return false;
  const ep_cost_model *models = ep_cost_models(devices[kind].id, &count);
  for (int i = 0; i < count && !c->model[kind]; i++)
    if (models[i].takes(plan, &devices[kind])) c->model[kind] = &models[i];
  c->sample[kind].seconds = c->seconds[kind];
  if (c->model[kind]) c->model[kind]->terms(plan, &devices[kind], c->rows, c->sample[kind].terms);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
  return c->model[kind] != NULL;
}

/* cells: [CELLS_MOST]. */
static int cells_read(const json_t *study, cell *cells) {
  const json_t *item;
  size_t index;
  int count = 0;
  json_array_foreach(json_object_get(study, "cells"), index, item) {
    cell *c = &cells[count];
    *c = (cell){.width = (int)json_integer_value(json_object_get(item, "width")),
                .depth = (int)json_integer_value(json_object_get(item, "depth")),
                .rows = (int)json_integer_value(json_object_get(item, "rows"))};
    bool whole = count < CELLS_MOST - 1;
    for (int kind = 0; kind < KINDS && whole; kind++) {
      const json_t *device = json_object_get(json_object_get(item, "devices"), kinds[kind]);
      c->seconds[kind] = json_number_value(json_object_get(device, "seconds_a_step"));
      whole = c->seconds[kind] > 0 && cell_plan(c, kind);
      const char *ran = json_string_value(json_object_get(device, "executor"));
      if (whole && ran && strcmp(ran, c->model[kind]->executor) != 0)
        printf("%d x %d, %d rows: ran on %s, today %s\n", c->width, c->depth, c->rows, ran,
               c->model[kind]->executor);
    }
    if (whole) count++;
  }
  return count;
}

static double predicted(const cell *c, int kind, const ep_calibration *calibration) {
  const ep_executor_cost *cost = ep_calibration_find(calibration, c->model[kind]->executor);
  double seconds = 0;
  for (int k = 0; cost && k < EP_COST_TERMS; k++)
    seconds += cost->seconds[k] * c->sample[kind].terms[k];
  return cost ? seconds : INFINITY;
}

/* costs: of both kinds' executors. */
static void choices_print(const char *by, const cell *cells, int count,
                          const ep_calibration costs[KINDS]) {
  int right = 0, dear = 0;
  printf("\nby %s:\n", by);
  for (int i = 0; i < count; i++) {
    const cell *c = &cells[i];
    double guess[KINDS];
    for (int kind = 0; kind < KINDS; kind++) guess[kind] = predicted(c, kind, &costs[kind]);
    int taken = guess[CUDA] < guess[CPU] ? CUDA : CPU, other = 1 - taken;
    double lost = c->seconds[taken] / c->seconds[other] - 1;
    if (lost <= 0) right++;
    if (lost >= 0.2) dear++;
    if (lost > 0)
      printf("  %4d x %d, %5d rows: %s lost %3.0f %%; cpu %.3g us (%.2f), %s %.3g us (%.2f)\n",
             c->width, c->depth, c->rows, kinds[taken], 100 * lost, 1e6 * c->seconds[CPU],
             guess[CPU] / c->seconds[CPU], c->model[CUDA]->executor, 1e6 * c->seconds[CUDA],
             guess[CUDA] / c->seconds[CUDA]);
  }
  printf("  %d of %d right; %d lose 20 %% or more\n", right, count, dear);
}

/* Prices for the executors of a kind, from all cells that it took. */
static void kind_fit(const cell *cells, int count, int kind, ep_calibration *out) {
  int models_count;
  const ep_cost_model *models = ep_cost_models(devices[kind].id, &models_count);
  out->count = 0;
  for (int m = 0; m < models_count; m++) {
    ep_cost_sample samples[CELLS_MOST];
    int used = 0;
    for (int i = 0; i < count; i++)
      if (cells[i].model[kind] == &models[m]) samples[used++] = cells[i].sample[kind];
    if (used == 0) continue;
    ep_executor_cost *cost = &out->executors[out->count++];
    ep_cost_fit(&models[m].usual, samples, used, cost);
    snprintf(cost->executor, sizeof cost->executor, "%s", models[m].executor);
    printf("%s, %d cells, error %.2f: {", cost->executor, used, cost->error);
    for (int k = 0; k < EP_COST_TERMS; k++) printf("%s%.3g", k ? ", " : "", cost->seconds[k]);
    printf("}\n");
  }
}

static bool calibrations_read(const json_t *study, ep_calibration costs[KINDS]) {
  const json_t *item;
  size_t index;
  int found = 0;
  json_array_foreach(json_object_get(study, "calibrations"), index, item) {
    const char *device = json_string_value(json_object_get(item, "device"));
    for (int kind = 0; device && kind < KINDS; kind++) {
      if (strncmp(device, kinds[kind], strlen(kinds[kind])) != 0) continue;
      if (!ep_calibration_read(json_object_get(item, "executors"), &costs[kind])) return false;
      devices[kind].threads = (int)json_integer_value(json_object_get(item, "threads"));
      snprintf(devices[kind].instruction_set, sizeof devices[kind].instruction_set, "%s",
               json_string_value(json_object_get(item, "instruction_set")));
      found |= 1 << kind;
    }
  }
  return found == 3;
}

int main(int count, char **arguments) {
  static cell cells[CELLS_MOST];
  static ep_calibration fitted[KINDS], measured[KINDS];
  json_error_t why;
  json_t *study = count == 2 ? json_load_file(arguments[1], 0, &why) : NULL;
  if (!study) {
    fputs("usage: bench_prices STUDY.json\n", stderr);
    return 2;
  }
  bool calibrated = calibrations_read(study, measured);
  int cells_count = cells_read(study, cells);
  for (int kind = 0; kind < KINDS; kind++) kind_fit(cells, cells_count, kind, &fitted[kind]);
  choices_print("prices fitted to the study itself", cells, cells_count, fitted);
  if (calibrated) choices_print("the calibrations of the same run", cells, cells_count, measured);
  json_decref(study);
  return 0;
}
