/* ASHA: a sequence worked out by hand, and long ones against its rule in plain loops. */
#include "engine/search/search.h"
#include "engine/search/space.h"
#include "tests/suite.h"
#include "tests/unit/engine/search/search_fixture.h"

#include <math.h>

static const ep_axis AXES[4] = {
    {EP_AXIS_UNIFORM, 0, -3, 3},
    {EP_AXIS_LOG_UNIFORM, 0, 1e-5, 1},
    {EP_AXIS_INT_UNIFORM, 0, 1, 9},
    {EP_AXIS_VALUES, 4, 0, 0},
};

static ep_search_options options_of(int64_t max_trials, int64_t parallel, int64_t min_epochs,
                                    int64_t epochs, int factor, int brackets) {
  return (ep_search_options){.type = EP_SEARCH_ASHA,
                             .axes = AXES,
                             .axes_count = 4,
                             .seed = 4,
                             .max_trials = max_trials,
                             .parallel = parallel,
                             .epochs = epochs,
                             .min_epochs = min_epochs,
                             .factor = factor,
                             .brackets = brackets};
}

static double metric_rising(const ep_search_training *training) {
  return (double)training->trial;
}

static double metric_falling(const ep_search_training *training) {
  return -(double)training->trial;
}

static double metric_equal(const ep_search_training *training) {
  (void)training;
  return 1;
}

static double metric_nan(const ep_search_training *training) {
  (void)training;
  return NAN;
}

static double metric_half(const ep_search_training *training) {
  return training->trial < 5 ? NAN : (double)training->trial;
}

/* Trials and epochs of what is named. expected: [count] */
static void assert_sequence(const ep_search_options *options, search_metric *metric,
                            const int64_t (*expected)[2], int64_t count) {
  search_log log = search_run(options, metric);
  ck_assert_int_eq(log.count, count);
  for (int64_t i = 0; i < count; i++) {
    ck_assert_int_eq(log.trainings[i].trial, expected[i][0]);
    ck_assert_int_eq(log.trainings[i].epochs, expected[i][1]);
  }
  free(log.trainings);
}

START_TEST(by_hand) {
  static const int64_t BETTER_FIRST[][2] = {{0, 1}, {1, 1}, {2, 1}, {0, 3}, {3, 1}, {4, 1}, {5, 1},
                                            {1, 3}, {6, 1}, {7, 1}, {8, 1}, {2, 3}, {0, 9}};
  ep_search_options options = options_of(9, 1, 1, 9, 3, 1);
  assert_sequence(&options, metric_rising, BETTER_FIRST, 13);
  assert_sequence(&options, metric_equal, BETTER_FIRST, 13); /* ties: by the trial's number */
  /* With two under way a promotion comes one training later. */
  static const int64_t LATER[][2] = {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {0, 3}, {4, 1}, {5, 1},
                                     {6, 1}, {1, 3}, {7, 1}, {8, 1}, {2, 3}, {0, 9}};
  options.parallel = 2;
  assert_sequence(&options, metric_rising, LATER, 13);
  /* Five failed: of nine results three may be promoted, which are the three best. */
  static const int64_t FAILED[][2] = {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {5, 3},
                                      {6, 1}, {6, 3}, {7, 1}, {8, 1}, {7, 3}, {5, 9}};
  options.parallel = 1;
  assert_sequence(&options, metric_half, FAILED, 13);
}
END_TEST

START_TEST(failed_trials_are_never_promoted) {
  ep_search_options options = options_of(100, 7, 1, 81, 3, 3);
  search_log log = search_run(&options, metric_nan);
  ck_assert_int_eq(log.count, 100);
  free(log.trainings);
}
END_TEST

/* Each trial is better than those before it: the most trainings that may be named. */
START_TEST(the_bound_is_reached) {
  for (int brackets = 1; brackets <= 4; brackets++) {
    ep_search_options options = options_of(50, 1, 2, 54, 3, brackets);
    search_log log = search_run(&options, metric_falling);
    ck_assert_int_eq(log.count, ep_search_trainings(&options));
    free(log.trainings);
  }
  ep_search_options options = options_of(1, 1, 1, 9, 3, 3);
  ck_assert_int_eq(ep_search_trainings(&options), 1);
}
END_TEST

/* Epochs of the rungs: of a run in which all rungs are reached. */
static void assert_rungs(int64_t min_epochs, int64_t epochs, int factor, int brackets,
                         const int64_t *rungs, int count) {
  ep_search_options options = options_of(300, 1, min_epochs, epochs, factor, brackets);
  search_log log = search_run(&options, metric_falling);
  int64_t most = 0;
  for (int64_t i = 0; i < log.count; i++) {
    int rung = 0;
    while (rung < count && rungs[rung] != log.trainings[i].epochs) rung++;
    ck_assert_int_lt(rung, count);
    if (log.trainings[i].epochs > most) most = log.trainings[i].epochs;
  }
  ck_assert_int_eq(most, rungs[count - 1]);
  free(log.trainings);
}

START_TEST(rungs_grow_by_the_factor) {
  assert_rungs(1, 9, 3, 1, (int64_t[]){1, 3, 9}, 3);
  assert_rungs(1, 10, 3, 1, (int64_t[]){1, 3, 9, 10}, 4);
  assert_rungs(1, 8, 3, 1, (int64_t[]){1, 3, 8}, 3);
  assert_rungs(5, 5, 2, 1, (int64_t[]){5}, 1);
  assert_rungs(4, 5, 2, 2, (int64_t[]){4, 5}, 2);
  assert_rungs(1000, EP_LIMIT_EPOCHS, 100, 1, (int64_t[]){1000, 100000, 10000000, 1000000000}, 4);
}
END_TEST

/* As many brackets as rungs: so a count of rungs shows. */
static void assert_rungs_count(int64_t min_epochs, int factor, int count) {
  for (int more = 0; more < 2; more++) {
    ep_search_options options = options_of(9, 1, min_epochs, EP_LIMIT_EPOCHS, factor, count + more);
    ep_search *search = NULL;
    ck_assert_int_eq(ep_search_create(&options, &search, NULL), more ? EP_INVALID : EP_OK);
    ep_search_destroy(search);
  }
}

START_TEST(rungs_of_the_longest_training) {
  assert_rungs_count(1, 2, 31); /* 2^0 … 2^29, and all */
  assert_rungs_count(1, INT32_MAX, 2);
  assert_rungs_count(EP_LIMIT_EPOCHS - 1, 2, 2);
  assert_rungs_count(EP_LIMIT_EPOCHS, 2, 1);
}
END_TEST

/* The rule in plain loops: what number n is, from the results of 1 … horizon. */
typedef struct {
  const ep_search_options *options;
  const search_log *log;
  const double *metrics; /* [log->count] */
  const int *rungs;      /* [log->count]: of each training */
  int64_t rung_epochs[40];
  int rungs_count;
  int64_t trials;
} rule_model;

static bool is_before(const rule_model *model, int64_t a, int64_t b) {
  double left = model->metrics[a], right = model->metrics[b];
  if (isnan(left) || isnan(right)) return !isnan(left);
  return left != right ? left < right
                       : model->log->trainings[a].trial < model->log->trainings[b].trial;
}

/* Whether, among the first `horizon` results, training `i` may be promoted, as number `n`. */
static bool may_be_promoted(const rule_model *model, int64_t i, int64_t horizon, int64_t n) {
  const ep_search_training *trainings = model->log->trainings;
  int64_t count = 0, better = 0;
  if (isnan(model->metrics[i])) return false;
  for (int64_t j = 0; j < horizon; j++) {
    if (model->rungs[j] != model->rungs[i] ||
        (trainings[j].trial - trainings[i].trial) % model->options->brackets)
      continue;
    count++;
    better += j != i && is_before(model, j, i);
  }
  for (int64_t j = 0; j < n; j++)
    if (trainings[j].trial == trainings[i].trial && model->rungs[j] > model->rungs[i]) return false;
  return better < count / model->options->factor;
}

/* The best that may be promoted, from the highest rung down, from the first bracket on; or -1. */
static int64_t promotion(const rule_model *model, int64_t horizon, int64_t n) {
  for (int rung = model->rungs_count - 2; rung >= 0; rung--)
    for (int bracket = 0; bracket < model->options->brackets; bracket++) {
      int64_t best = -1;
      for (int64_t i = 0; i < horizon; i++)
        if (model->rungs[i] == rung &&
            model->log->trainings[i].trial % model->options->brackets == bracket &&
            may_be_promoted(model, i, horizon, n) && (best < 0 || is_before(model, i, best)))
          best = i;
      if (best >= 0) return best;
    }
  return -1;
}

static int rung_of(const rule_model *model, int64_t epochs) {
  int rung = 0;
  while (model->rung_epochs[rung] != epochs) ck_assert_int_lt(++rung, model->rungs_count);
  return rung;
}

static void assert_follows_the_rule(const ep_search_options *options, search_metric *metric) {
  search_log log = search_run_shuffled(options, metric, (uint64_t)options->max_trials);
  double *metrics = malloc((size_t)log.count * sizeof *metrics);
  int *rungs = malloc((size_t)log.count * sizeof *rungs);
  rule_model model = {.options = options, .log = &log, .metrics = metrics, .rungs = rungs};
  for (int64_t epochs = options->min_epochs; epochs < options->epochs; epochs *= options->factor)
    model.rung_epochs[model.rungs_count++] = epochs;
  model.rung_epochs[model.rungs_count++] = options->epochs;
  for (int64_t i = 0; i < log.count; i++) {
    double value = metric(&log.trainings[i]);
    metrics[i] = options->maximize ? -value : value;
    rungs[i] = rung_of(&model, log.trainings[i].epochs);
  }
  int64_t horizon = 0;
  for (int64_t n = 0; n < log.count; n++) {
    if (n + 1 - options->parallel > horizon) horizon = n + 1 - options->parallel;
    int64_t promoted = promotion(&model, horizon, n);
    while (promoted < 0 && model.trials == options->max_trials) {
      ck_assert_int_lt(horizon, n); /* it should have been done */
      promoted = promotion(&model, ++horizon, n);
    }
    double point[4];
    int64_t trial = promoted < 0 ? model.trials++ : log.trainings[promoted].trial;
    int rung = promoted < 0 ? (int)(trial % options->brackets) : rungs[promoted] + 1;
    ck_assert_int_eq(log.trainings[n].trial, trial);
    ck_assert_int_eq(rungs[n], rung);
    ep_space_random(options->axes, 4, options->seed, trial, point);
    ck_assert_mem_eq(log.trainings[n].point, point, sizeof point);
  }
  /* Then it is done: all trials are begun, and all results together allow no other promotion. */
  ck_assert_int_eq(model.trials, options->max_trials);
  ck_assert_int_eq(promotion(&model, log.count, log.count), -1);
  ck_assert_int_le(log.count, ep_search_trainings(options));
  free(log.trainings);
  free(metrics);
  free(rungs);
}

START_TEST(follows_the_rule) {
  static search_metric *const METRICS[] = {metric_smooth, metric_failing, metric_tied,
                                           metric_falling, metric_rising};
  static const int PARALLEL[] = {1, 3, 16, 1000};
  search_metric *metric = METRICS[_i % 5];
  for (int i = 0; i < 4; i++) {
    ep_search_options options =
        options_of(60, PARALLEL[i], 1 + _i % 3, 30 + _i, 2 + _i % 3, 1 + _i % 2);
    options.maximize = _i % 4 == 3;
    options.seed = (uint64_t)_i;
    assert_follows_the_rule(&options, metric);
  }
}
END_TEST

/* By results in the long run: a rung gets about 1 / factor of the one below it, and the best of all
 * trials is trained to the end where the first epochs tell which it is. */
START_TEST(a_part_of_each_rung_is_promoted) {
  ep_search_options options = options_of(9000, 50, 1, 27, 3, 1);
  search_log log = search_run_shuffled(&options, metric_smooth, 6);
  int64_t counts[4] = {0}, best = 0, whole_best = -1;
  for (int64_t i = 0; i < log.count; i++) {
    const ep_search_training *training = &log.trainings[i];
    int rung = 0;
    for (int64_t epochs = 1; epochs < training->epochs; epochs *= 3) rung++;
    counts[rung]++;
    ep_search_training first = *training, first_best = log.trainings[best];
    first.epochs = first_best.epochs = 1;
    if (metric_smooth(&first) < metric_smooth(&first_best)) best = i;
  }
  for (int64_t i = 0; i < log.count; i++)
    if (log.trainings[i].epochs == 27 && log.trainings[i].trial == log.trainings[best].trial)
      whole_best = i;
  ck_assert_int_ge(whole_best, 0);
  ck_assert_int_eq(counts[0], 9000);
  for (int rung = 1; rung < 4; rung++) {
    ck_assert_int_ge(counts[rung], counts[rung - 1] / 3);
    ck_assert_int_lt(counts[rung], counts[rung - 1] / 3 + 300);
  }
  free(log.trainings);
}
END_TEST

EP_SUITE("search/asha") {
  TCase *tests = ep_suite_case(suite, "asha");
  tcase_add_test(tests, by_hand);
  tcase_add_test(tests, failed_trials_are_never_promoted);
  tcase_add_test(tests, the_bound_is_reached);
  tcase_add_test(tests, rungs_grow_by_the_factor);
  tcase_add_test(tests, rungs_of_the_longest_training);
  tcase_add_loop_test(tests, follows_the_rule, 0, 20);
  tcase_add_test(tests, a_part_of_each_rung_is_promoted);
}
