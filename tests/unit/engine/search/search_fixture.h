/* search_fixture.h: runs a search to its end, with results in any order. */
#ifndef EP_TEST_ENGINE_SEARCH_FIXTURE_H
#define EP_TEST_ENGINE_SEARCH_FIXTURE_H

#include "engine/search/search.h"

/* Numbers for tests, the same each time. */
typedef struct {
  uint64_t state;
} test_random;

uint64_t test_random_below(test_random *random, uint64_t limit);

typedef double search_metric(const ep_search_training *training);

/* What was named, in order. */
typedef struct {
  int64_t count;
  ep_search_training *trainings; /* [count], that of number 1 first; free it */
} search_log;

/* Results in the order of the numbers, each told when the search waits for one. */
search_log search_run(const ep_search_options *options, search_metric *metric);

/* The same with results in an order that `chance` decides, before or after the search waits. */
search_log search_run_shuffled(const ep_search_options *options, search_metric *metric,
                               uint64_t chance);

/* Fails the test unless they are the same to the last bit. */
void search_assert_same(const search_log *a, const search_log *b);

/* A smooth metric of the point and the epochs; NaN for one point in eight; whole numbers. */
double metric_smooth(const ep_search_training *training);
double metric_failing(const ep_search_training *training);
double metric_tied(const ep_search_training *training);

#endif
