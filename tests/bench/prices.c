/* Fits the prices of engine/plan/cost.c to what tests/bench/study measured, and says how well
 * `auto` would choose by them: fitted to all cells; by those of the other half of the cells, which
 * is how it would do with networks that it has not seen; by the usual ones; and, of one study, by
 * the calibrations of the same run. For whoever changes an executor, or its model: the study need
 * not be run again.
 *
 * Of several studies a cell's time on a device is the least that the executor took which is its
 * today, and each executor's prices are fitted to all that it ever ran: give those that were
 * measured since the executors changed.
 *
 * usage: bench_prices [--cells] STUDY.json … */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/wire/calibration.h"
#include "engine/plan/cost.h"
#include "engine/worker/calibrator_programs.h"

enum { CELLS_MOST = 256, RUNS_MOST = 4096, CPU = 0, CUDA = 1, KINDS = 2, IN_FEATURES = 16 };

static const char *const kinds[KINDS] = {"cpu", "cuda"};

typedef struct {
  int width, depth, rows;
  const ep_executor_profile *executor[KINDS]; /* of the executor that takes it today */
  ep_cost_sample sample[KINDS];               /* by that; seconds: 0 where it never ran */
} cell;

/* What was measured once. */
typedef struct {
  const ep_executor_profile *executor;
  ep_cost_sample sample;
  int cell;
} run;

typedef struct {
  cell cells[CELLS_MOST];
  int cells_count;
  run runs[RUNS_MOST];
  int runs_count;
  ep_device_info devices[KINDS]; /* of the study that is read */
  ep_calibration measured[KINDS];
} record;

static ep_status cell_open(const cell *c, ep_job *out) {
  ep_calibration_program program = {
      .in_features = IN_FEATURES, .width = c->width, .hidden = c->depth, .rows = c->rows};
  return ep_calibration_open(&program, out, NULL);
}

static const ep_executor_profile *executor_today(const ep_plan *plan,
                                                 const ep_device_info *device) {
  int count;
  const ep_executor_profile *const *executors = ep_cost_executors(device->id, &count);
  for (int i = 0; i < count; i++)
    if (ep_cost_executor_takes(executors[i], plan, device)) return executors[i];
  return NULL;
}

/* The cell of these sizes, a new one at the end if need be; -1 when there are too many. */
static int cell_find(record *r, int width, int depth, int rows) {
  for (int i = 0; i < r->cells_count; i++) {
    const cell *c = &r->cells[i];
    if (c->width == width && c->depth == depth && c->rows == rows) return i;
  }
  if (r->cells_count == CELLS_MOST) return -1;
  r->cells[r->cells_count] = (cell){.width = width, .depth = depth, .rows = rows};
  return r->cells_count++;
}

/* What a device needed for a cell: a run; and the cell's time where the executor is today's. */
static void run_add(record *r, int at, int kind, const ep_plan *plan, const json_t *said) {
  const ep_device_info *device = &r->devices[kind];
  cell *c = &r->cells[at];
  const char *ran = json_string_value(json_object_get(said, "executor"));
  bool expected_only = json_integer_value(json_object_get(said, "epochs")) == 0;
  const ep_executor_profile *executor = ran ? ep_cost_executor_find(ran) : NULL;
  ep_cost_sample sample = {.seconds = json_number_value(json_object_get(said, "seconds_a_step"))};
  if (!executor || !(sample.seconds > 0) || r->runs_count == RUNS_MOST) return;
  ep_cost_units(executor, plan, device, c->rows, sample.units);
  if (!expected_only) r->runs[r->runs_count++] = (run){executor, sample, at};
  c->executor[kind] = executor_today(plan, device);
  double least = c->sample[kind].seconds;
  if (executor == c->executor[kind] && (least == 0 || sample.seconds < least))
    c->sample[kind] = sample;
}

static void cells_read(record *r, const json_t *study) {
  const json_t *item;
  size_t index;
  json_array_foreach(json_object_get(study, "cells"), index, item) {
    int at = cell_find(r, (int)json_integer_value(json_object_get(item, "width")),
                       (int)json_integer_value(json_object_get(item, "depth")),
                       (int)json_integer_value(json_object_get(item, "rows")));
    ep_job job;
    if (at < 0) continue;
    ep_status status = cell_open(&r->cells[at], &job);
    for (int kind = 0; status == EP_OK && kind < KINDS; kind++)
      run_add(r, at, kind, job.plan,
              json_object_get(json_object_get(item, "devices"), kinds[kind]));
    ep_job_close(&job);
  }
}

/* Whose figures they are; prices of other terms than today's are no prices. */
static void calibrations_read(record *r, const json_t *study) {
  const json_t *item;
  size_t index;
  r->devices[CPU] = (ep_device_info){.id = "cpu", .instruction_set = "avx512"};
  r->devices[CUDA] = (ep_device_info){.id = "cuda:0", .instruction_set = "sm_90"};
  memset(r->measured, 0, sizeof r->measured);
  json_array_foreach(json_object_get(study, "calibrations"), index, item) {
    const char *id = json_string_value(json_object_get(item, "device"));
    const char *set = json_string_value(json_object_get(item, "instruction_set"));
    bool today = json_integer_value(json_object_get(item, "costs")) == EP_COST_VERSION;
    for (int kind = 0; id && set && kind < KINDS; kind++) {
      if (strncmp(id, kinds[kind], strlen(kinds[kind])) != 0) continue;
      ep_device_info *device = &r->devices[kind];
      device->threads = (int)json_integer_value(json_object_get(item, "threads"));
      snprintf(device->instruction_set, sizeof device->instruction_set, "%s", set);
      if (today) ep_calibration_read(json_object_get(item, "executors"), &r->measured[kind]);
    }
  }
}

/* NAN where the prices have none of its executor. */
static double predicted(const cell *c, int kind, const ep_calibration *prices) {
  const ep_executor_cost *cost = ep_calibration_find(prices, c->executor[kind]->name);
  double seconds = cost ? 0 : NAN;
  for (int k = 0; cost && k < EP_COST_TERMS; k++)
    seconds += cost->seconds[k] * c->sample[kind].units[k];
  return seconds;
}

static bool is_whole(const cell *c) {
  return c->sample[CPU].seconds > 0 && c->sample[CUDA].seconds > 0;
}

/* What choices come to. */
typedef struct {
  int of, right, dear;
} tally;

static void choice_add(const cell *c, const ep_calibration prices[KINDS], bool all, tally *sum) {
  double guess[KINDS], took[KINDS] = {c->sample[CPU].seconds, c->sample[CUDA].seconds};
  for (int kind = 0; kind < KINDS; kind++) guess[kind] = predicted(c, kind, &prices[kind]);
  if (isnan(guess[CPU]) || isnan(guess[CUDA])) return;
  int taken = guess[CUDA] < guess[CPU] ? CUDA : CPU;
  double lost = took[taken] / took[1 - taken] - 1;
  sum->of++;
  sum->right += lost <= 0;
  sum->dear += lost >= 0.2;
  if (!all && lost <= 0) return;
  printf("  %4d x %d, %5d rows: %s %.3g us (%.2f), %s %.3g us (%.2f)", c->width, c->depth, c->rows,
         c->executor[CPU]->name, 1e6 * took[CPU], guess[CPU] / took[CPU], c->executor[CUDA]->name,
         1e6 * took[CUDA], guess[CUDA] / took[CUDA]);
  if (lost > 0) printf(": %s lost %.0f %%", kinds[taken], 100 * lost);
  putchar('\n');
}

/* Of the cells of one half (0, 1), or of all (2). */
static void choices_add(const record *r, int half, const ep_calibration prices[KINDS], bool all,
                        tally *sum) {
  for (int i = 0; i < r->cells_count; i++)
    if (is_whole(&r->cells[i]) && (half == 2 || i % 2 == half))
      choice_add(&r->cells[i], prices, all, sum);
}

static void tally_print(const tally *sum) {
  printf("  %d of %d right; %d lose 20 %% or more\n", sum->right, sum->of, sum->dear);
}

static void cost_print(const ep_executor_cost *cost) {
  printf("%s, %d runs, error %.2f: {", cost->executor, cost->measured, cost->error);
  for (int k = 0; k < EP_COST_TERMS; k++) printf("%s%.3g", k ? ", " : "", cost->seconds[k]);
  printf("}\n");
}

/* Prices for the executors of a kind, from the runs of one half's cells, or of all; the usual ones
 * of those that did not run. */
static void kind_fit(const record *r, int kind, int half, ep_calibration *out) {
  static ep_cost_sample samples[RUNS_MOST];
  int count;
  const ep_executor_profile *const *executors = ep_cost_executors(kinds[kind], &count);
  out->count = 0;
  for (int e = 0; e < count; e++) {
    int used = 0;
    for (int i = 0; i < r->runs_count; i++)
      if (r->runs[i].executor == executors[e] && (half == 2 || r->runs[i].cell % 2 == half))
        samples[used++] = r->runs[i].sample;
    const ep_executor_cost usual = ep_cost_usual(executors[e]);
    ep_executor_cost *cost = &out->executors[out->count++];
    ep_cost_fit(&usual, samples, used, cost);
    if (half == 2 && used > 0) cost_print(cost);
  }
}

static void kind_usual(int kind, ep_calibration *out) {
  int count;
  const ep_executor_profile *const *executors = ep_cost_executors(kinds[kind], &count);
  out->count = count;
  for (int e = 0; e < count; e++) out->executors[e] = ep_cost_usual(executors[e]);
}

static void record_judge(const record *r, bool all) {
  ep_calibration prices[KINDS];
  tally fitted = {0}, halves = {0}, usual = {0}, measured = {0};
  for (int kind = 0; kind < KINDS; kind++) kind_fit(r, kind, 2, &prices[kind]);
  puts("\nby prices fitted to all cells:");
  choices_add(r, 2, prices, all, &fitted);
  tally_print(&fitted);
  puts("\nby prices fitted to the other half of the cells:");
  for (int half = 0; half < 2; half++) {
    for (int kind = 0; kind < KINDS; kind++) kind_fit(r, kind, 1 - half, &prices[kind]);
    choices_add(r, half, prices, all, &halves);
  }
  tally_print(&halves);
  puts("\nby the usual prices:");
  for (int kind = 0; kind < KINDS; kind++) kind_usual(kind, &prices[kind]);
  choices_add(r, 2, prices, all, &usual);
  tally_print(&usual);
  if (r->measured[CPU].count == 0 || r->measured[CUDA].count == 0) return;
  puts("\nby the calibrations of the last study:");
  choices_add(r, 2, r->measured, all, &measured);
  tally_print(&measured);
}

int main(int count, char **arguments) {
  static record r;
  bool all = count > 1 && strcmp(arguments[1], "--cells") == 0;
  int first = all ? 2 : 1;
  for (int i = first; i < count; i++) {
    json_t *study = json_load_file(arguments[i], 0, NULL);
    if (!study) fprintf(stderr, "bench_prices: %s cannot be read\n", arguments[i]);
    if (!study) return 1;
    calibrations_read(&r, study);
    cells_read(&r, study);
    json_decref(study);
  }
  if (first >= count) {
    fputs("usage: bench_prices [--cells] STUDY.json …\n", stderr);
    return 2;
  }
  record_judge(&r, all);
  return 0;
}
