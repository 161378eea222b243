/* What all searches have: options' limits, the order of results, replay, memory. */
#include "engine/search/search.h"
#include "tests/suite.h"
#include "tests/unit/engine/search/search_fixture.h"

#include <math.h>

/* Allocations that succeed before all fail, by the linker's --wrap; below 0: none fails. */
static int64_t allocations_left = -1;
static int64_t failures;
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

static bool fails(void) {
  if (allocations_left < 0) return false;
  if (allocations_left-- > 0) return false;
  allocations_left = 0;
  failures++;
  return true;
}

void *__wrap_malloc(size_t bytes) {
  return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes) {
  return fails() ? NULL : __real_realloc(block, bytes);
}

static const ep_axis AXES[4] = {
    {EP_AXIS_UNIFORM, 0, -1, 2},
    {EP_AXIS_LOG_UNIFORM, 0, 1e-5, 1},
    {EP_AXIS_INT_LOG_UNIFORM, 0, 1, 512},
    {EP_AXIS_VALUES, 7, 0, 0},
};
static const ep_axis GRID_AXES[4] = {
    {EP_AXIS_VALUES, 3, 0, 0},
    {EP_AXIS_INT_UNIFORM, 0, -1, 2},
    {EP_AXIS_VALUES, 2, 0, 0},
    {EP_AXIS_INT_UNIFORM, 0, 5, 5},
};

static ep_search_options options_of(ep_search_type type) {
  return (ep_search_options){.type = type,
                             .axes = type == EP_SEARCH_GRID ? GRID_AXES : AXES,
                             .axes_count = 4,
                             .seed = 11,
                             .max_trials = 60,
                             .parallel = 5,
                             .epochs = 27,
                             .min_epochs = 1,
                             .factor = 3,
                             .brackets = 2};
}

/* What ep_search_create returns; the search, if any, is destroyed. */
static ep_status tried(const ep_search_options *options) {
  ep_search *search = NULL;
  ep_error error = {0};
  ep_status status = ep_search_create(options, &search, &error);
  allocations_left = -1; /* libcheck's own succeed */
  ck_assert_int_eq(status, error.status);
  ck_assert(status == EP_OK ? search && !error.message[0] : !search && error.message[0]);
  ep_search_destroy(search);
  return status;
}

#define ASSERT_LIMIT(field, inside, outside)                                             \
  do {                                                                                   \
    ep_search_options good = options_of(type), bad = good;                               \
    good.field = (inside);                                                               \
    bad.field = (outside);                                                               \
    ck_assert_msg(tried(&good) == EP_OK, #field " may be " #inside ": %d", (int)type);   \
    ck_assert_msg(tried(&bad) == EP_INVALID, #field " not " #outside ": %d", (int)type); \
  } while (0)

START_TEST(options_have_limits) {
  ep_search_type type = (ep_search_type)_i;
  ASSERT_LIMIT(max_trials, 1, 0);
  ASSERT_LIMIT(max_trials, EP_LIMIT_TRIALS, EP_LIMIT_TRIALS + 1);
  ASSERT_LIMIT(parallel, 1, 0);
  ASSERT_LIMIT(parallel, INT64_MAX, INT64_MIN);
  ASSERT_LIMIT(epochs, EP_LIMIT_EPOCHS, EP_LIMIT_EPOCHS + 1);
  ASSERT_LIMIT(epochs, 3, 0);
  ASSERT_LIMIT(axes_count, 0, -1);
  ASSERT_LIMIT(axes_count, 0, EP_LIMIT_SWEEP_AXES + 1);
  ASSERT_LIMIT(type, type, EP_SEARCH_COUNT);
  if (type != EP_SEARCH_ASHA) return;
  ASSERT_LIMIT(min_epochs, 1, 0);
  ASSERT_LIMIT(min_epochs, 26, 28);
  ASSERT_LIMIT(factor, 2, 1);
  ASSERT_LIMIT(brackets, 1, 0);
  ASSERT_LIMIT(brackets, 4, 5); /* 1, 3, 9, 27 epochs */
}
END_TEST

START_TEST(the_order_of_results_changes_nothing) {
  static search_metric *const METRICS[] = {metric_smooth, metric_failing, metric_tied};
  for (int parallel = 1; parallel <= 64; parallel *= 4)
    for (int metric = 0; metric < 3; metric++) {
      ep_search_options options = options_of((ep_search_type)_i);
      options.parallel = parallel;
      search_log in_order = search_run(&options, METRICS[metric]);
      for (uint64_t chance = 0; chance < 10; chance++) {
        search_log shuffled = search_run_shuffled(&options, METRICS[metric], chance);
        search_assert_same(&in_order, &shuffled);
        free(shuffled.trainings);
      }
      free(in_order.trainings);
    }
}
END_TEST

static int64_t changed_after; /* results of later numbers differ */

static double metric_changed(const ep_search_training *training) {
  return training->number > changed_after ? -metric_smooth(training) : metric_smooth(training);
}

/* Results that differ after number m change nothing up to number m + parallel, and then do. */
START_TEST(results_count_after_so_many_trainings) {
  ep_search_options options = options_of((ep_search_type)_i);
  options.max_trials = 400;
  changed_after = 150;
  search_log log = search_run(&options, metric_smooth);
  search_log changed = search_run(&options, metric_changed);
  ck_assert_int_gt(log.count, changed_after + options.parallel);
  int64_t same = 0;
  while (same < log.count && same < changed.count &&
         memcmp(&log.trainings[same], &changed.trainings[same], sizeof *log.trainings) == 0)
    same++;
  ck_assert_int_ge(same, changed_after + options.parallel);
  ck_assert_int_lt(same, changed_after + options.parallel + 50);
  free(log.trainings);
  free(changed.trainings);
}
END_TEST

static double metric_negative(const ep_search_training *training) {
  return -metric_failing(training);
}

START_TEST(maximize_is_the_negative) {
  ep_search_options options = options_of((ep_search_type)_i);
  search_log minimized = search_run(&options, metric_failing);
  options.maximize = true;
  search_log maximized = search_run(&options, metric_negative);
  search_assert_same(&minimized, &maximized);
  options.maximize = false;
  search_log other = search_run(&options, metric_negative);
  ck_assert(
      other.count != minimized.count ||
      memcmp(other.trainings, minimized.trainings, (size_t)other.count * sizeof *other.trainings));
  free(minimized.trainings);
  free(maximized.trainings);
  free(other.trainings);
}
END_TEST

START_TEST(seeds_differ) {
  ep_search_options options = options_of((ep_search_type)_i);
  search_log one = search_run(&options, metric_smooth);
  options.seed += UINT64_C(1) << 32;
  search_log other = search_run(&options, metric_smooth);
  ck_assert_mem_ne(one.trainings[0].point, other.trainings[0].point,
                   4 * sizeof *one.trainings[0].point);
  free(one.trainings);
  free(other.trainings);
}
END_TEST

/* So many are named, then it waits for number 1, whatever else is told. */
START_TEST(waits_for_the_first_result) {
  ep_search_options options = options_of((ep_search_type)_i);
  ep_search *search;
  ep_search_training training;
  ck_assert_int_eq(ep_search_create(&options, &search, NULL), EP_OK);
  for (int i = 1; i <= options.parallel; i++)
    ck_assert_int_eq(ep_search_next(search, &training), EP_SEARCH_TRAIN);
  for (int i = 2; i <= options.parallel; i++) {
    ck_assert_int_eq(ep_search_next(search, &training), EP_SEARCH_WAIT);
    ck_assert_int_eq(ep_search_tell(search, i, i, NULL), EP_OK);
  }
  ck_assert_int_eq(ep_search_next(search, &training), EP_SEARCH_WAIT);
  ck_assert_int_eq(ep_search_tell(search, 1, 1, NULL), EP_OK);
  for (int i = 1; i <= options.parallel; i++)
    ck_assert_int_eq(ep_search_next(search, &training), EP_SEARCH_TRAIN);
  ck_assert_int_eq(ep_search_next(search, &training), EP_SEARCH_WAIT);
  ep_search_destroy(search);
}
END_TEST

START_TEST(a_result_is_told_once) {
  ep_search_options options = options_of((ep_search_type)_i);
  ep_search *search;
  ep_search_training training;
  ck_assert_int_eq(ep_search_create(&options, &search, NULL), EP_OK);
  ck_assert_int_eq(ep_search_tell(search, 1, 0, NULL), EP_INVALID);
  ck_assert_int_eq(ep_search_next(search, &training), EP_SEARCH_TRAIN);
  ck_assert_int_eq(ep_search_tell(search, 0, 0, NULL), EP_INVALID);
  ck_assert_int_eq(ep_search_tell(search, 2, 0, NULL), EP_INVALID);
  ck_assert_int_eq(ep_search_tell(search, 1, NAN, NULL), EP_OK);
  ck_assert_int_eq(ep_search_tell(search, 1, 0, NULL), EP_CONFLICT);
  ep_search_destroy(search);
}
END_TEST

START_TEST(create_without_memory) {
  ep_search_options options = options_of((ep_search_type)_i);
  ep_status status;
  int64_t n = 0;
  do {
    allocations_left = n++;
    status = tried(&options);
    ck_assert(status == EP_OK || status == EP_NO_MEMORY);
  } while (status);
  ck_assert_int_ge(n, 3); /* the search and its bits at least */
}
END_TEST

/* Each growth fails once: the result that needed it is told again, and nothing changes. */
START_TEST(results_without_memory) {
  ep_search_options options = options_of(EP_SEARCH_ASHA);
  options.max_trials = 3000;
  search_log log = search_run(&options, metric_smooth);
  ep_search *search;
  ck_assert_int_eq(ep_search_create(&options, &search, NULL), EP_OK);
  failures = 0;
  for (int64_t told = 0, named = 0;;) {
    ep_search_training training;
    ep_search_answer answer = ep_search_next(search, &training);
    if (answer == EP_SEARCH_DONE) break;
    if (answer == EP_SEARCH_TRAIN) {
      ck_assert_mem_eq(&training, &log.trainings[named++], sizeof training);
      continue;
    }
    double metric = metric_smooth(&log.trainings[told++]);
    allocations_left = 0;
    ep_status status = ep_search_tell(search, told, metric, NULL);
    allocations_left = -1;
    if (status == EP_OK) continue;
    ck_assert_int_eq(status, EP_NO_MEMORY);
    ck_assert_int_eq(ep_search_tell(search, told, metric, NULL), EP_OK);
  }
  ck_assert_int_gt(failures, 5);
  ck_assert_int_lt(failures, 50); /* it grows by parts of its size, not by one */
  ep_search_destroy(search);
  free(log.trainings);
}
END_TEST

EP_SUITE("search") {
  TCase *tests = ep_suite_case(suite, "search");
  tcase_add_loop_test(tests, options_have_limits, 0, EP_SEARCH_COUNT);
  tcase_add_loop_test(tests, the_order_of_results_changes_nothing, 0, EP_SEARCH_COUNT);
  tcase_add_loop_test(tests, results_count_after_so_many_trainings, EP_SEARCH_ASHA,
                      EP_SEARCH_COUNT);
  tcase_add_loop_test(tests, maximize_is_the_negative, EP_SEARCH_ASHA, EP_SEARCH_COUNT);
  tcase_add_loop_test(tests, seeds_differ, EP_SEARCH_RANDOM, EP_SEARCH_COUNT);
  tcase_add_loop_test(tests, waits_for_the_first_result, EP_SEARCH_ASHA, EP_SEARCH_COUNT);
  tcase_add_loop_test(tests, a_result_is_told_once, 0, EP_SEARCH_COUNT);
  tcase_add_loop_test(tests, create_without_memory, 0, EP_SEARCH_COUNT);
  tcase_add_test(tests, results_without_memory);
}
