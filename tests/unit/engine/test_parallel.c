/* Each thing is done once, however many there are. */
#include "engine/parallel.h"

#include <stdatomic.h>

#include "api/limits.h"
#include "tests/suite.h"
#include "tests/wait.h"

enum { THINGS = 1000 };

typedef struct {
  int done[THINGS];
  int64_t least;
  atomic_int calls, short_ones; /* ranges of fewer than `least` */
} tally;

static void things_count(void *context, int64_t first, int64_t count) {
  tally *sum = context;
  atomic_fetch_add(&sum->calls, 1);
  if (count < sum->least) atomic_fetch_add(&sum->short_ones, 1);
  for (int64_t i = first; i < first + count; i++) sum->done[i]++;
}

START_TEST(each_is_done_once) {
  static const int64_t counts[] = {0, 1, 2, 31, 32, 33, 997, THINGS};
  static const int64_t leasts[] = {1, 2, 100, 5000};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
    for (size_t l = 0; l < sizeof leasts / sizeof *leasts; l++) {
      tally sum = {.least = leasts[l]};
      ep_parallel_run(counts[c], leasts[l], things_count, &sum);
      for (int64_t i = 0; i < THINGS; i++) ck_assert_int_eq(sum.done[i], i < counts[c]);
      if (sum.calls > 1) ck_assert_int_eq(sum.short_ones, 0);
      ck_assert_int_le(sum.calls, counts[c] / leasts[l] + 1);
    }
}
END_TEST

/* Each waits until all do: with fewer threads than things they would wait for ever. */
static void all_meet(void *context, int64_t first, int64_t count) {
  tally *sum = context;
  for (int64_t i = first; i < first + count; i++) sum->done[i]++;
  atomic_fetch_add(&sum->calls, 1);
  wait_until(atomic_load(&sum->calls) >= sum->least);
}

START_TEST(each_waits_with_the_others) {
  for (int64_t count = 0; count <= EP_LIMIT_PARALLEL_THREADS; count += count < 4 ? 1 : 14) {
    tally sum = {.least = count};
    ep_parallel_for(count, all_meet, &sum);
    for (int64_t i = 0; i < THINGS; i++) ck_assert_int_eq(sum.done[i], i < count);
  }
}
END_TEST

EP_SUITE("engine/parallel") {
  TCase *tests = ep_suite_case(suite, "ranges");
  tcase_add_test(tests, each_is_done_once);
  tcase_add_test(tests, each_waits_with_the_others);
}
