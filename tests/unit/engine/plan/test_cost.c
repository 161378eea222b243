/* The costs of work: fitted to samples, and the choice that follows from them. All figures are made
 * up here, so that what must come out is known. */
#include "api/responses/validation.h"
#include "engine/plan/cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/unit/engine/plan/plan_fixture.h"

enum { SAMPLES = 12 };

static const ep_executor_cost usual = {
    .executor = "x", .start_seconds = 0.5, .seconds = {1e-6, 2e-9, 5e-12}};

/* Work of many mixtures: a few steps of each term rule by turns. */
static void samples_make(ep_cost_sample samples[SAMPLES], const double costs[3], double noise) {
  for (int i = 0; i < SAMPLES; i++) {
    ep_cost_sample *sample = &samples[i];
    *sample = (ep_cost_sample){.start_seconds = i == 3 ? 9 : 0.25, .again_seconds = 0.125};
    sample->units[0] = 1;
    sample->units[1] = pow(4, i % 6) * 10;
    sample->units[2] = pow(5, i % 7) * (i % 2 ? 1000 : 10);
    for (int k = 0; k < 3; k++) sample->seconds += costs[k] * sample->units[k];
    sample->seconds *= 1 + (i % 2 ? noise : -noise);
  }
}

START_TEST(a_fit_finds_the_costs) {
  static const double costs[3] = {3e-6, 1e-9, 2e-11};
  ep_cost_sample samples[SAMPLES];
  ep_executor_cost fitted;
  samples_make(samples, costs, 0);
  ep_cost_fit(&usual, samples, SAMPLES, &fitted);
  for (int k = 0; k < 3; k++) ck_assert_double_eq_tol(fitted.seconds[k] / costs[k], 1, 0.15);
  ck_assert_double_lt(fitted.error, 0.05);
  ck_assert_int_eq(fitted.measured, SAMPLES);
  ck_assert_double_eq(fitted.again_seconds, 0.125);
  ck_assert_double_eq(fitted.start_seconds, 0.25); /* one that stood in the way does not count */
  ck_assert_double_eq(fitted.seconds[5], 0);
}
END_TEST

/* A third of the samples took twice as long: the costs are those of the others; where all took
 * longer, that is what they take. */
START_TEST(what_was_disturbed_is_left_out) {
  static const double costs[3] = {3e-6, 1e-9, 2e-11};
  ep_cost_sample samples[SAMPLES];
  ep_executor_cost calm, fitted, plain;
  samples_make(samples, costs, 0);
  ep_cost_fit_disturbed(&usual, samples, SAMPLES, &calm);
  ck_assert_int_eq(calm.measured, SAMPLES);
  for (int i = 1; i < SAMPLES; i += 3) samples[i].seconds *= 2;
  ep_cost_fit(&usual, samples, SAMPLES, &plain);
  ep_cost_fit_disturbed(&usual, samples, SAMPLES, &fitted);
  ck_assert_int_eq(fitted.measured, SAMPLES - SAMPLES / 3);
  ck_assert_double_lt(fitted.error, 0.05);
  ck_assert_double_gt(plain.error, 0.1);                  /* canary */
  for (int i = SAMPLES - SAMPLES / 3; i < SAMPLES; i++) { /* those that were left out */
    double seconds = 0;
    for (int k = 0; k < 3; k++) seconds += fitted.seconds[k] * samples[i].units[k];
    ck_assert_double_eq_tol(seconds / samples[i].seconds, 0.5, 0.1);
  }
  for (int i = 0; i < SAMPLES; i++) samples[i].seconds *= 2;
  ep_cost_fit_disturbed(&usual, samples, SAMPLES, &plain);
  ck_assert_double_eq_tol(plain.seconds[0] / fitted.seconds[0], 2, 0.1);
}
END_TEST

START_TEST(noise_does_not_turn_costs_negative) {
  static const double costs[3] = {3e-6, 0, 2e-11};
  ep_cost_sample samples[SAMPLES];
  ep_executor_cost fitted;
  samples_make(samples, costs, 0.2);
  ep_cost_fit(&usual, samples, SAMPLES, &fitted);
  for (int k = 0; k < 3; k++) ck_assert_double_gt(fitted.seconds[k], 0);
  ck_assert_double_lt(fitted.error, 0.3);
  ck_assert_double_gt(fitted.error, 0.1); /* canary: the noise is there */
}
END_TEST

/* One sample cannot tell three costs apart: their proportions stay, on its scale. */
START_TEST(few_samples_keep_the_proportions) {
  ep_cost_sample sample = {.units = {1, 100, 1000}};
  ep_executor_cost fitted;
  for (int k = 0; k < 3; k++) sample.seconds += 7 * usual.seconds[k] * sample.units[k];
  ep_cost_fit(&usual, &sample, 1, &fitted);
  for (int k = 0; k < 3; k++)
    ck_assert_double_eq_tol(fitted.seconds[k] / usual.seconds[k], 7, 0.01);
  ep_cost_fit(&usual, NULL, 0, &fitted);
  ck_assert_mem_eq(fitted.seconds, usual.seconds, sizeof usual.seconds);
  ck_assert_double_eq(fitted.start_seconds, usual.start_seconds);
}
END_TEST

/* --- the choice ------------------------------------------------------------------------------ */

#define BATCHED_TWICE(width, batch)                                                    \
  "{\"data\":{\"generator\":\"disc\",\"rows\":1000},\"model\":{\"layers\":["           \
  "{\"type\":\"linear\",\"out_features\":" #width "},{\"type\":\"relu\"},"             \
  "{\"type\":\"linear\",\"out_features\":" #width "},{\"type\":\"relu\"},"             \
  "{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"mse\",\"epochs\":10,\"batch_" \
  "size\":" #batch "}"
#define TWICE(width) BATCHED_TWICE(width, 100)

#define BATCHED(width, batch, more)                                              \
  "{\"data\":{\"generator\":\"disc\",\"rows\":1000},\"model\":{\"layers\":["     \
  "{\"type\":\"linear\",\"out_features\":" #width "},{\"type\":\"relu\"},"       \
  "{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"mse\",\"epochs\":1000," \
  "\"batch_size\":" #batch more "}"
#define DENSE(width, more) BATCHED(width, 100, more)

static const ep_data_shape disc = {
    .train_rows = 1000, .features = 2, .target_columns = 1, .target_max = 1, .x_max = 1};

static const ep_device_info cpu = {.id = "cpu", .instruction_set = "avx512", .threads = 2},
                            gpu = {.id = "cuda:0", .instruction_set = "sm_90", .threads = 132},
                            desktop_gpu = {.id = "cuda:0",
                                           .instruction_set = "sm_120",
                                           .threads = 170},
                            old_gpu = {.id = "cuda:0", .instruction_set = "sm_75"};

/* The job with its plan on a device; the caller has nothing to free. */
static ep_estimate estimate_with(const char *text, const ep_device_info *device,
                                 const ep_calibration *calibration, const ep_program_past *past) {
  ep_job_spec *spec;
  ep_plan *plan = plan_of(text, &disc, &spec);
  ep_estimate estimate = ep_plan_estimate(plan, spec, device, calibration, past);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
  return estimate;
}
static ep_estimate estimate_of(const char *text, const ep_device_info *device,
                               const ep_calibration *calibration) {
  return estimate_with(text, device, calibration, NULL);
}

/* The same where nothing is left to compile. */
static ep_estimate own_choice_of(const char *text, const ep_device_info *device,
                                 const ep_calibration *calibration) {
  const ep_program_past past = {.compiled = true};
  return estimate_with(text, device, calibration, &past);
}

START_TEST(an_estimate_is_its_start_and_its_steps) {
  ep_calibration calibration = {
      .count = 1,
      .executors = {{.executor = "cuda/grid", .start_seconds = 0.5, .seconds = {2e-6}}}};
  ep_estimate estimate = estimate_of(DENSE(64, ""), &gpu, &calibration);
  ck_assert_str_eq(estimate.executor, "cuda/grid");
  ck_assert(estimate.calibrated);
  ck_assert_double_eq_tol(estimate.start_seconds, 0.5, 1e-3);
  ck_assert_double_eq_tol(estimate.seconds, estimate.start_seconds + 1000 * 10 * 2e-6, 1e-9);
}
END_TEST

/* A program that the device has compiled before starts faster; what is no part of a kernel makes no
 * other program. */
START_TEST(a_program_that_was_seen_starts_faster) {
  static const char *const texts[] = {DENSE(64, ""), DENSE(64, ",\"optimizer\":{\"lr\":0.5}"),
                                      DENSE(65, ""), DENSE(64, ",\"optimizer\":\"adam\"")};
  const ep_program_past compiled = {.compiled = true};
  uint64_t signatures[4];
  double first[4], again[4];
  for (int i = 0; i < 4; i++) {
    ep_job_spec *spec;
    ep_plan *plan = plan_of(texts[i], &disc, &spec);
    signatures[i] = ep_plan_signature(plan);
    first[i] = ep_plan_estimate(plan, spec, &gpu, NULL, NULL).seconds;
    again[i] = ep_plan_estimate(plan, spec, &gpu, NULL, &compiled).seconds;
    ck_assert_double_lt(again[i], first[i]);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
  ck_assert(signatures[0] == signatures[1]);
  ck_assert(signatures[0] != signatures[2] && signatures[0] != signatures[3]);
  ck_assert(signatures[0] != 0);
}
END_TEST

#define CONVOLUTIONS(channels, stride, more)                                                  \
  "{\"data\":{\"generator\":\"disc\",\"rows\":1000},\"model\":{\"layers\":["                  \
  "{\"type\":\"conv2d\",\"out_channels\":" #channels ",\"kernel_size\":3,\"padding\":1,"      \
  "\"stride\":" #stride "},{\"type\":\"conv2d\",\"out_channels\":" #channels                  \
  ",\"kernel_size\":3,\"padding\":1},{\"type\":\"flatten\"},"                                 \
  "{\"type\":\"linear\",\"out_features\":1}]},\"loss\":\"mse\",\"epochs\":10,\"batch_size\":" \
  "100" more "}"

/* What an epoch took of one is no guess for the other: as many features between the layers, four
 * times the products, or more to do with each gradient. */
START_TEST(networks_of_other_work_are_other_programs) {
  static const char *const texts[] = {CONVOLUTIONS(16, 1, ""), CONVOLUTIONS(64, 2, ""),
                                      CONVOLUTIONS(16, 1, ",\"clip\":{\"norm\":1}"),
                                      CONVOLUTIONS(16, 1, ",\"seed\":9")};
  const ep_data_shape images = {.train_rows = 1000,
                                .features = 1024,
                                .row = {1, 32, 32},
                                .target_columns = 1,
                                .target_max = 1,
                                .x_max = 1};
  uint64_t signatures[4];
  for (int i = 0; i < 4; i++) {
    ep_job_spec *spec;
    ep_plan *plan = plan_of(texts[i], &images, &spec);
    ck_assert_int_eq(plan->ops[1].in_features, 16 * 32 * 32);
    signatures[i] = ep_plan_signature(plan);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
  ck_assert(signatures[0] != signatures[1] && signatures[0] != signatures[2]);
  ck_assert(signatures[0] == signatures[3]);
}
END_TEST

START_TEST(a_device_chooses_what_it_has) {
  ep_calibration all = {.count = 3}, one = {.count = 1};
  snprintf(all.executors[0].executor, 32, "cuda/general");
  snprintf(all.executors[1].executor, 32, "cuda/grid");
  snprintf(all.executors[2].executor, 32, "cuda/resident");
  snprintf(one.executors[0].executor, 32, "cuda/general");
  static const char slim[] = DENSE(4, ""), middle[] = DENSE(64, ""), wide[] = DENSE(4096, "");
  ck_assert_str_eq(own_choice_of(slim, &gpu, &all).executor, "cuda/resident");
  ck_assert_str_eq(own_choice_of(middle, &gpu, &all).executor, "cuda/grid");
  ck_assert_str_eq(own_choice_of(middle, &old_gpu, &all).executor, "cuda/general");
  ck_assert_str_eq(own_choice_of(middle, &gpu, &one).executor, "cuda/general");
  ck_assert_str_eq(own_choice_of(middle, &gpu, NULL).executor, "cuda/persistent");
  ck_assert_str_eq(own_choice_of(wide, &gpu, NULL).executor, "cuda/persistent");
  ck_assert_str_eq(own_choice_of(middle, &cpu, NULL).executor, "cpu/fused");
  /* Its blocks have 99 KiB of shared memory. */
  ck_assert_str_eq(own_choice_of(middle, &desktop_gpu, NULL).executor, "cuda/persistent");
  ck_assert_str_eq(own_choice_of(wide, &desktop_gpu, NULL).executor, "cuda/persistent");
}
END_TEST

/* What is compiled first waits until the training is long enough, or came often enough. */
START_TEST(a_short_training_does_not_wait_for_a_compiler) {
  static const char text[] = BATCHED_TWICE(256, 100);
  const ep_program_past often = {.asked = 1000};
  char own[EP_EXECUTOR_BYTES];
  snprintf(own, sizeof own, "%s", own_choice_of(text, &gpu, NULL).executor);
  const ep_estimate estimate = estimate_of(text, &gpu, NULL);
  ck_assert_str_ne(estimate.executor, own);
  ck_assert_double_lt(estimate.start_seconds, 0.1);
  ck_assert_str_eq(estimate_with(text, &gpu, NULL, &often).executor, own);
}
END_TEST

/* Clusters with rows of their own: as many as there is room for. */
START_TEST(crews_take_what_fits_a_cluster) {
  static const char wide[] = BATCHED_TWICE(512, 112), many[] = BATCHED_TWICE(512, 113),
                    wider[] = BATCHED_TWICE(1024, 100);
  ck_assert_str_eq(own_choice_of(wide, &gpu, NULL).executor, "cuda/crews");
  ck_assert_str_ne(own_choice_of(many, &gpu, NULL).executor, "cuda/crews");
  ck_assert_str_ne(own_choice_of(wider, &gpu, NULL).executor, "cuda/crews");
  ck_assert_str_eq(own_choice_of(wide, &desktop_gpu, NULL).executor, "cuda/general");
}
END_TEST

/* cuda/resident has the order of an epoch in shared memory, beside all else. */
START_TEST(an_order_must_fit_a_block) {
  static const char text[] = DENSE(4, "");
  static const struct {
    const ep_device_info *device;
    const char *text;
    int64_t rows;
    bool fits;
  } rows[] = {{&gpu, text, 32768, true},         {&gpu, text, 32769, false},
              {&desktop_gpu, text, 21504, true}, {&desktop_gpu, text, 21505, false},
              {&old_gpu, text, 12544, true},     {&old_gpu, text, 12545, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ep_data_shape shape = disc;
    ep_job_spec *spec;
    shape.train_rows = rows[i].rows;
    ep_plan *plan = plan_of(rows[i].text, &shape, &spec);
    ep_estimate estimate = ep_plan_estimate(plan, spec, rows[i].device, NULL, NULL);
    ck_assert_int_eq(strcmp(estimate.executor, "cuda/resident") == 0, rows[i].fits);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

/* Narrow layers on many rows: cuda/fused is for them, and yields. */
START_TEST(many_rows_go_where_they_take_least) {
  static const char wide[] = BATCHED(129, 1000, ",\"precision\":\"bf16\"");
  static const char narrow[] = BATCHED(128, 1000, ",\"precision\":\"bf16\"");
  static const char few[] = BATCHED(128, 255, ",\"precision\":\"bf16\"");
  static const char slim[] = BATCHED(4, 1000, ",\"precision\":\"bf16\"");
  ck_assert_str_eq(own_choice_of(narrow, &gpu, NULL).executor, "cuda/persistent");
  ck_assert_str_eq(own_choice_of(wide, &gpu, NULL).executor, "cuda/persistent");
  ck_assert_str_eq(own_choice_of(few, &gpu, NULL).executor, "cuda/persistent");
  ck_assert_str_eq(own_choice_of(slim, &gpu, NULL).executor, "cuda/resident");
  ck_assert_str_eq(own_choice_of(narrow, &old_gpu, NULL).executor, "cuda/general");
  ck_assert_str_eq(own_choice_of(BATCHED(64, 1000, ""), &gpu, NULL).executor, "cuda/persistent");
}
END_TEST

/* Compiling is shared by those who ask for it; what was measured is believed, of the same executor
 * alone. */
START_TEST(the_past_of_a_program_counts) {
  ep_calibration calibration = {.count = 1,
                                .executors = {{.executor = "cuda/grid",
                                               .start_seconds = 0.5,
                                               .again_seconds = 0.1,
                                               .seconds = {2e-6}}}};
  const int grid = ep_cost_executor_index(ep_cost_executor_find("cuda/grid"));
  const int general = ep_cost_executor_index(ep_cost_executor_find("cuda/general"));
  ep_program_past past = {.asked = 3};
  past.epoch_seconds[grid] = 7e-6F;
  past.epoch_seconds[general] = 1e-6F; /* nobody asks for that one */
  ep_job_spec *spec;
  ep_plan *plan = plan_of(DENSE(64, ""), &disc, &spec);
  ep_estimate estimate = ep_plan_estimate(plan, spec, &gpu, &calibration, &past);
  ck_assert(estimate.measured);
  ck_assert_double_eq_tol(estimate.start_seconds, 0.1 + 0.4 / 4, 1e-3);
  ck_assert_double_eq_tol(estimate.seconds - estimate.start_seconds, 1000 * 7e-6, 1e-9);
  past.compiled = true;
  past.epoch_seconds[grid] = 0;
  estimate = ep_plan_estimate(plan, spec, &gpu, &calibration, &past);
  ck_assert(!estimate.measured);
  ck_assert_double_eq_tol(estimate.start_seconds, 0.1, 1e-3);
  ck_assert_double_eq_tol(estimate.seconds - estimate.start_seconds, 1000 * 10 * 2e-6, 1e-9);
  calibration.executors[0].drift = 1.5; /* what was measured of other programs is off by that */
  estimate = ep_plan_estimate(plan, spec, &gpu, &calibration, &past);
  ck_assert_double_eq_tol(estimate.model_seconds, 1000 * 10 * 2e-6, 1e-9);
  ck_assert_double_eq_tol(estimate.seconds - estimate.start_seconds, 1.5 * 1000 * 10 * 2e-6, 1e-9);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(an_executor_that_is_asked_for_names_its_device) {
  static const char asks[] = DENSE(64, ",\"executor\":\"cpu/reference\"");
  ck_assert_str_eq(estimate_of(asks, &cpu, NULL).executor, "cpu/reference");
  ck_assert(isinf(estimate_of(asks, &gpu, NULL).seconds));
  static const char other[] = DENSE(64, ",\"executor\":\"cuda/general\"");
  ck_assert(isinf(estimate_of(other, &cpu, NULL).seconds));
  ck_assert_str_eq(estimate_of(other, &gpu, NULL).executor, "cuda/general");
}
END_TEST

/* More of anything takes longer, with any executor, by the usual costs. */
START_TEST(more_work_takes_longer) {
  static const char *const texts[] = {DENSE(4, ""), DENSE(8, ""), DENSE(64, ""), DENSE(512, "")};
  for (int i = 1; i < 4; i++) {
    const ep_device_info *devices[] = {&cpu, &gpu, &old_gpu};
    for (int d = 0; d < 3; d++) {
      ep_estimate less = estimate_of(texts[i - 1], devices[d], NULL);
      ep_estimate more = estimate_of(texts[i], devices[d], NULL);
      if (strcmp(less.executor, more.executor) != 0) continue;
      ck_assert_double_gt(more.seconds, less.seconds);
    }
  }
}
END_TEST

/* Large layers take all cores, and the matrix unit; small ones take neither. */
START_TEST(large_layers_are_shared) {
  ep_device_info one = cpu, many = cpu, tiles = cpu;
  one.threads = 1;
  many.threads = 8;
  snprintf(tiles.instruction_set, sizeof tiles.instruction_set, "amx");
  static const char large[] = TWICE(1024), small[] = TWICE(16);
  ck_assert_int_gt(estimate_of(large, &many, NULL).cores, 1);
  ck_assert_int_eq(estimate_of(small, &many, NULL).cores, 1);
  ck_assert_double_lt(2 * estimate_of(large, &many, NULL).seconds,
                      estimate_of(large, &one, NULL).seconds);
  ck_assert_double_lt(estimate_of(large, &tiles, NULL).seconds,
                      estimate_of(large, &cpu, NULL).seconds);
  ck_assert_double_eq(estimate_of(small, &many, NULL).seconds,
                      estimate_of(small, &one, NULL).seconds);
}
END_TEST

/* By parts of the batch, or, where a network is too large for its few parts, by pieces of its
 * layers: as many threads as there are, and no more. */
START_TEST(a_step_is_shared_by_as_many_threads_as_pay) {
  ep_device_info threads = cpu, tiles = cpu;
  threads.threads = tiles.threads = 64;
  snprintf(tiles.instruction_set, sizeof tiles.instruction_set, "amx");
  static const char middle[] = BATCHED_TWICE(256, 256), large[] = BATCHED_TWICE(1024, 256);
  static const char few_rows[] = BATCHED_TWICE(512, 64);
  ck_assert_int_eq(estimate_of(middle, &threads, NULL).cores, 4);
  ck_assert_int_eq(estimate_of(middle, &tiles, NULL).cores, 4);
  ck_assert_int_eq(estimate_of(few_rows, &threads, NULL).cores, 9);
  ck_assert_int_eq(estimate_of(large, &threads, NULL).cores, 17);
  ck_assert_int_eq(estimate_of(large, &tiles, NULL).cores, 17);
  double last = INFINITY;
  for (threads.threads = 1; threads.threads <= 16; threads.threads *= 2) {
    double seconds = estimate_of(large, &threads, NULL).seconds;
    ck_assert_double_lt(seconds, last);
    last = seconds;
  }
  threads.threads = 15; /* of 16 pieces: one thread has two, as with eight */
  double fifteen = estimate_of(large, &threads, NULL).seconds;
  threads.threads = 8;
  ck_assert_double_eq_tol(fifteen / estimate_of(large, &threads, NULL).seconds, 1, 1e-6);
}
END_TEST

/* cuda/resident: what a thread cannot keep is read again in each step; a second block is another
 * barrier. */
START_TEST(rows_in_registers_are_not_read) {
  const ep_executor_profile *resident = ep_cost_executor_find("cuda/resident");
  static const char *const texts[] = {BATCHED(4, 1000, ""), BATCHED(4, 999, ""),
                                      BATCHED(4, 400, "")};
  double units[3][EP_COST_TERMS];
  for (int i = 0; i < 3; i++) {
    ep_job_spec *spec;
    ep_plan *plan = plan_of(texts[i], &disc, &spec);
    ck_assert(ep_cost_executor_takes(resident, plan, &gpu));
    ep_cost_units(resident, plan, &gpu, plan->program.batch_size, units[i]);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
  /* Two blocks of four warps, four rows a thread: kept where they are all rows; else three numbers
   * a row. */
  ck_assert_double_eq(units[0][6], 0);
  ck_assert_double_eq(units[1][6], 4 * 4 * 3);
  ck_assert_double_eq(units[2][6], 4 * 4 * 3);
  ck_assert_double_eq(units[0][5], 2);
  ck_assert_double_eq(units[2][4], 0);      /* one block */
  ck_assert_double_eq(units[0][3], 4 * 32); /* 17 gradients and two more */
}
END_TEST

/* Each executor is found by its name, and costs something; its terms are named, each once. */
START_TEST(profiles_are_whole) {
  static const char *const devices[] = {"cpu", "cuda:3"};
  int seen = 0;
  for (int d = 0; d < 2; d++) {
    int count;
    const ep_executor_profile *const *executors = ep_cost_executors(devices[d], &count);
    for (int i = 0; i < count; i++, seen++) {
      ck_assert_ptr_eq(ep_cost_executor_find(executors[i]->name), executors[i]);
      ck_assert_int_eq(ep_cost_executor_index(executors[i]), i);
      ck_assert_double_gt(executors[i]->terms[0].seconds, 0);
      ck_assert_double_gt(executors[i]->start_seconds, 0);
      for (int t = 0; t < EP_COST_TERMS; t++) {
        const ep_cost_term *term = &executors[i]->terms[t];
        ck_assert_int_eq(term->unit != NULL, term->seconds > 0);
        for (int other = 0; term->unit && other < t; other++)
          ck_assert_str_ne(term->unit, executors[i]->terms[other].unit);
      }
    }
    ck_assert_int_le(count, EP_COST_EXECUTORS); /* a place each */
  }
  ck_assert_int_ge(seen, 6);
  ck_assert_ptr_null(ep_cost_executor_find("cpu/abacus"));
  int count = 1;
  ck_assert_ptr_null(ep_cost_executors("tpu", &count));
  ck_assert_int_eq(count, 0);
}
END_TEST

/* --- the file -------------------------------------------------------------------------------- */

static const ep_calibration_key key = {.device = "cuda:0",
                                       .name = "NVIDIA \"H200\"",
                                       .instruction_set = "sm_90",
                                       .threads = 132,
                                       .driver = "CUDA 12.8",
                                       .version = "0.1.0"};

START_TEST(a_file_is_read_as_it_was_written) {
  ep_calibration written = {.count = 2}, back;
  for (int i = 0; i < 2; i++)
    written.executors[i] = (ep_executor_cost){.executor = "cuda/grid",
                                              .start_seconds = 1.0 / 3,
                                              .again_seconds = 0.1,
                                              .seconds = {1e-6, 1e-300, 0, i},
                                              .error = 0.1,
                                              .measured = i};
  char *text = ep_calibration_format(&key, &written);
  ck_assert_int_eq(ep_calibration_parse(text, strlen(text), &key, &back, NULL), EP_OK);
  ck_assert_mem_eq(&back, &written, sizeof back);
  ck_assert_ptr_eq(ep_calibration_find(&back, "cuda/grid"), &back.executors[0]);
  ck_assert_ptr_null(ep_calibration_find(&back, "cuda/cnn"));
  free(text);
}
END_TEST

/* A file may have the name that an executor had. */
START_TEST(a_file_of_a_former_name_is_taken) {
  ep_calibration written = {.count = 1}, back;
  snprintf(written.executors[0].executor, 32, "cuda/graph");
  char *text = ep_calibration_format(&key, &written);
  ck_assert_int_eq(ep_calibration_parse(text, strlen(text), &key, &back, NULL), EP_OK);
  ck_assert_ptr_nonnull(ep_calibration_find(&back, "cuda/cnn"));
  free(text);
}
END_TEST

/* Another device, driver, program: measured anew. Half a file is none. */
START_TEST(a_file_of_something_else_is_not_taken) {
  ep_calibration written = {.count = 1}, back;
  snprintf(written.executors[0].executor, 32, "cuda/grid");
  char *text = ep_calibration_format(&key, &written);
  ep_calibration_key others[6];
  for (int i = 0; i < 6; i++) others[i] = key;
  others[0].device[0] = 'x';
  others[1].name[0] = 'x';
  others[2].instruction_set[0] = 'x';
  others[3].threads = 1;
  others[4].driver[0] = 'x';
  others[5].version[0] = 'x';
  for (int i = 0; i < 6; i++)
    ck_assert_int_eq(ep_calibration_parse(text, strlen(text), &others[i], &back, NULL),
                     EP_CONFLICT);
  for (size_t bytes = 0; bytes + 2 < strlen(text); bytes++)
    ck_assert_int_ne(ep_calibration_parse(text, bytes, &key, &back, NULL), EP_OK);
  ck_assert_int_eq(ep_calibration_parse("{}", 2, &key, &back, NULL), EP_INVALID);
  free(text);
}
END_TEST

EP_SUITE("engine/cost") {
  TCase *tests = ep_suite_case(suite, "cost");
  tcase_add_test(tests, a_fit_finds_the_costs);
  tcase_add_test(tests, what_was_disturbed_is_left_out);
  tcase_add_test(tests, noise_does_not_turn_costs_negative);
  tcase_add_test(tests, few_samples_keep_the_proportions);
  tcase_add_test(tests, an_estimate_is_its_start_and_its_steps);
  tcase_add_test(tests, a_program_that_was_seen_starts_faster);
  tcase_add_test(tests, networks_of_other_work_are_other_programs);
  tcase_add_test(tests, a_device_chooses_what_it_has);
  tcase_add_test(tests, a_short_training_does_not_wait_for_a_compiler);
  tcase_add_test(tests, crews_take_what_fits_a_cluster);
  tcase_add_test(tests, an_order_must_fit_a_block);
  tcase_add_test(tests, the_past_of_a_program_counts);
  tcase_add_test(tests, many_rows_go_where_they_take_least);
  tcase_add_test(tests, an_executor_that_is_asked_for_names_its_device);
  tcase_add_test(tests, more_work_takes_longer);
  tcase_add_test(tests, large_layers_are_shared);
  tcase_add_test(tests, a_step_is_shared_by_as_many_threads_as_pay);
  tcase_add_test(tests, rows_in_registers_are_not_read);
  tcase_add_test(tests, profiles_are_whole);
  tcase_add_test(tests, a_file_is_read_as_it_was_written);
  tcase_add_test(tests, a_file_of_a_former_name_is_taken);
  tcase_add_test(tests, a_file_of_something_else_is_not_taken);
}
