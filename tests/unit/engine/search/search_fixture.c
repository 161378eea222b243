#include "tests/unit/engine/search/search_fixture.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t test_random_below(test_random *random, uint64_t limit) {
  random->state = random->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (random->state >> 33) % limit;
}

static search_log run(const ep_search_options *options, search_metric *metric,
                      test_random *chance) {
  ep_search *search;
  ck_assert_int_eq(ep_search_create(options, &search, NULL), EP_OK);
  int64_t most = ep_search_trainings(options), under_way_count = 0;
  search_log log = {.trainings = malloc((size_t)most * sizeof *log.trainings)};
  int64_t *under_way = malloc((size_t)most * sizeof *under_way);
  for (;;) {
    ep_search_training training;
    memset(&training, 0xff, sizeof training);
    ep_search_answer answer = EP_SEARCH_WAIT; /* with chance, a result may come before it must */
    if (!chance || under_way_count == 0 || test_random_below(chance, 3))
      answer = ep_search_next(search, &training);
    if (answer == EP_SEARCH_TRAIN) {
      ck_assert_int_lt(log.count, most);
      ck_assert_int_eq(training.number, log.count + 1);
      under_way[under_way_count++] = training.number;
      log.trainings[log.count++] = training;
      continue;
    }
    if (answer == EP_SEARCH_DONE) break;
    ck_assert_int_gt(under_way_count, 0); /* it never waits for nothing */
    int64_t at = chance ? (int64_t)test_random_below(chance, (uint64_t)under_way_count) : 0;
    int64_t number = under_way[at];
    memmove(&under_way[at], &under_way[at + 1],
            (size_t)(--under_way_count - at) * sizeof *under_way);
    ck_assert_int_eq(ep_search_tell(search, number, metric(&log.trainings[number - 1]), NULL),
                     EP_OK);
  }
  free(under_way);
  ep_search_destroy(search);
  return log;
}

search_log search_run(const ep_search_options *options, search_metric *metric) {
  return run(options, metric, NULL);
}

search_log search_run_shuffled(const ep_search_options *options, search_metric *metric,
                               uint64_t chance) {
  test_random random = {chance};
  return run(options, metric, &random);
}

void search_assert_same(const search_log *a, const search_log *b) {
  ck_assert_int_eq(a->count, b->count);
  for (int64_t i = 0; i < a->count; i++) {
    const ep_search_training *left = &a->trainings[i], *right = &b->trainings[i];
    ck_assert_int_eq(left->number, right->number);
    ck_assert_int_eq(left->trial, right->trial);
    ck_assert_int_eq(left->epochs, right->epochs);
    ck_assert_mem_eq(left->point, right->point, sizeof left->point);
  }
}

double metric_smooth(const ep_search_training *training) {
  double sum = 0;
  for (int i = 0; i < 4; i++) sum += sin(training->point[i] * (i + 1.3));
  return sum + 1 / (double)training->epochs;
}

double metric_failing(const ep_search_training *training) {
  return training->trial % 8 == 3 ? NAN : metric_smooth(training);
}

double metric_tied(const ep_search_training *training) {
  return floor(metric_smooth(training));
}
