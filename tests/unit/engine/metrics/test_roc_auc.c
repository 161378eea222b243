/* The area under the ROC curve against its definition: all pairs of a positive and a negative. */
#include "engine/metrics/roc_auc.h"

#include <math.h>

#include "kernels/random.h"
#include "tests/suite.h"

enum { ROWS = 700 };

static double by_pairs(const ep_scored *rows, int64_t count) {
  double above = 0, pairs = 0;
  for (int64_t i = 0; i < count; i++)
    for (int64_t j = 0; j < count; j++) {
      if (!rows[i].positive || rows[j].positive) continue;
      above += rows[i].score > rows[j].score ? 1 : rows[i].score == rows[j].score ? 0.5 : 0;
      pairs++;
    }
  return above / pairs;
}

/* kind 0: of both signs and all sizes; 1: probabilities; 2: few values, so that many are equal;
 * 3: zeros of both signs, and infinities. */
static double score_make(int kind, ep_random4 words) {
  double value = ep_random_double(words.word[0], words.word[1]);
  int power = (int)(words.word[2] % 601) - 300;
  switch (kind) {
  case 0: return (words.word[3] & 1 ? -value : value) * pow(10, power);
  case 1: return value;
  case 2: return (double)(words.word[2] % 5) - 2;
  default: return words.word[2] % 3 == 0 ? -INFINITY : words.word[2] % 3 == 1 ? -0.0 : 0.0;
  }
}

START_TEST(equals_the_share_of_pairs_in_order) {
  static const int64_t counts[] = {2, 3, 31, 256, 257, ROWS};
  ep_scored rows[ROWS], spare[ROWS];
  for (int kind = 0; kind < 4; kind++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      for (int64_t i = 0; i < counts[c]; i++) {
        ep_random4 words = ep_random(5, EP_RANDOM_GENERATOR, (uint64_t)kind, (uint64_t)i);
        rows[i] = (ep_scored){score_make(kind, words), i == 0 || (i > 1 && words.word[3] % 4 == 0)};
      }
      double expected = by_pairs(rows, counts[c]);
      double found = ep_roc_auc(rows, spare, counts[c]);
      ck_assert_msg(fabs(found - expected) <= 1e-12, "kind %d, %lld rows: %.17g, not %.17g", kind,
                    (long long)counts[c], found, expected);
    }
}
END_TEST

START_TEST(has_none_without_an_order) {
  ep_scored spare[2];
  ck_assert(isnan(ep_roc_auc((ep_scored[]){{1, true}, {2, true}}, spare, 2)));
  ck_assert(isnan(ep_roc_auc((ep_scored[]){{1, false}, {2, false}}, spare, 2)));
  ck_assert(isnan(ep_roc_auc((ep_scored[]){{NAN, true}, {2, false}}, spare, 2)));
  ck_assert(isnan(ep_roc_auc(spare, spare, 0)));
  ck_assert(ep_roc_auc((ep_scored[]){{1, true}, {2, false}}, spare, 2) == 0);
}
END_TEST

EP_SUITE("engine/roc_auc") {
  TCase *tests = ep_suite_case(suite, "areas");
  tcase_add_test(tests, equals_the_share_of_pairs_in_order);
  tcase_add_test(tests, has_none_without_an_order);
}
