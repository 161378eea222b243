/* random.h against the published vectors of Philox, and the permutations it makes. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/random.h"
#include "tests/suite.h"

/* Known answers of Philox4x32-10, from the test vectors of Random123. */
static const struct {
  uint32_t counter[4], key[2], words[4];
} vectors[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(philox_gives_the_published_words) {
  ep_random4 counter;
  memcpy(counter.word, vectors[_i].counter, sizeof counter.word);
  ep_random4 words = ep_philox(vectors[_i].key[0], vectors[_i].key[1], counter);
  for (int i = 0; i < 4; i++) ck_assert_uint_eq(words.word[i], vectors[_i].words[i]);
}
END_TEST

START_TEST(the_counter_keeps_seed_purpose_epoch_and_index_apart) {
  ep_random4 zero = ep_random(0, EP_RANDOM_INIT, 0, 0);
  ck_assert_uint_eq(zero.word[0], 0x6627e8d5); /* all zeros: the first vector */
  ep_random4 others[] = {
      ep_random(1, EP_RANDOM_INIT, 0, 0),
      ep_random(UINT64_C(1) << 32, EP_RANDOM_INIT, 0, 0),
      ep_random(0, EP_RANDOM_SHUFFLE, 0, 0),
      ep_random(0, EP_RANDOM_SPLIT, 0, 0),
      ep_random(0, EP_RANDOM_INIT, 1, 0),
      ep_random(0, EP_RANDOM_INIT, UINT64_C(1) << 32, 0),
      ep_random(0, EP_RANDOM_INIT, 0, 1),
      ep_random(0, EP_RANDOM_INIT, 0, UINT64_C(1) << 32),
      zero,
  };
  size_t count = sizeof others / sizeof others[0];
  for (size_t i = 0; i < count; i++) {
    for (size_t j = i + 1; j < count; j++) {
      ck_assert_int_ne(memcmp(&others[i], &others[j], sizeof zero), 0);
    }
  }
}
END_TEST

START_TEST(floats_lie_in_zero_to_one) {
  ck_assert(ep_random_float(0) == 0);
  ck_assert(ep_random_float(UINT32_MAX) == 1 - 0x1p-24f);
  ck_assert(ep_random_double(0, 0) == 0);
  ck_assert(ep_random_double(UINT32_MAX, UINT32_MAX) == 1 - 0x1p-53);
}
END_TEST

static const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 1000, 60000};

START_TEST(a_permutation_has_every_number_once) {
  uint32_t n = sizes[_i];
  uint8_t *seen = malloc(n);
  ck_assert_ptr_nonnull(seen);
  for (uint64_t epoch = 0; epoch < 20; epoch++) {
    ep_permutation permutation = ep_permutation_make(7, EP_RANDOM_SHUFFLE, epoch, n);
    memset(seen, 0, n);
    for (uint32_t i = 0; i < n; i++) {
      uint32_t place = ep_permutation_at(&permutation, i);
      ck_assert_uint_lt(place, n);
      ck_assert_uint_eq(seen[place]++, 0);
    }
  }
  free(seen);
}
END_TEST

/* The largest sizes: a few elements, in range and apart. */
START_TEST(a_permutation_of_two_to_the_31_stays_in_range) {
  uint64_t n = UINT64_C(1) << 31;
  ep_permutation permutation = ep_permutation_make(7, EP_RANDOM_SHUFFLE, 0, n);
  uint32_t before = UINT32_MAX;
  for (uint32_t i = 0; i < 1000; i++) {
    uint32_t place = ep_permutation_at(&permutation, (uint32_t)(n - 1 - i));
    ck_assert_uint_lt(place, n);
    ck_assert_uint_ne(place, before);
    before = place;
  }
}
END_TEST

enum { EPOCHS = 20000, MOST = 128 };

/* How often element i goes to place j, over many epochs, against 1/n: chi-square of (n-1)^2
 * degrees of freedom, in units of its deviation from its mean. */
static double place_score(uint32_t n, bool shuffled) {
  static uint32_t count[MOST][MOST];
  memset(count, 0, sizeof count);
  for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
    ep_permutation permutation = ep_permutation_make(3, EP_RANDOM_SHUFFLE, epoch, n);
    for (uint32_t i = 0; i < n; i++) {
      count[i][shuffled ? ep_permutation_at(&permutation, i) : (i + epoch % 2) % n]++;
    }
  }
  double expected = (double)EPOCHS / n, chi_square = 0, freedom = (n - 1.0) * (n - 1.0);
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t j = 0; j < n; j++) {
      double difference = count[i][j] - expected;
      chi_square += difference * difference / expected;
    }
  }
  return (chi_square - freedom) / (freedom > 0 ? 1.4142135623730951 * (n - 1.0) : 1);
}

static const uint32_t place_sizes[] = {2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 32, 33, 100, 128};

START_TEST(every_element_goes_everywhere_equally_often) {
  ck_assert_double_lt(place_score(place_sizes[_i], true), 5);
}
END_TEST

START_TEST(the_place_score_notices_a_bad_shuffle) {
  ck_assert_double_gt(place_score(8, false), 100);
}
END_TEST

/* The number of a permutation of n among all n!, in lexicographic order. */
static int rank(const uint32_t *order, uint32_t n) {
  int found = 0;
  for (uint32_t i = 0; i < n; i++) {
    int smaller = 0;
    for (uint32_t j = i + 1; j < n; j++) smaller += order[j] < order[i];
    found = found * (int)(n - i) + smaller;
  }
  return found;
}

/* All n! orders of a few elements come equally often: XOR has four rows. The limit is the
 * 1e-5 quantile of chi-square with n! - 1 degrees of freedom. */
START_TEST(every_order_of_a_few_elements_comes_equally_often) {
  static const struct {
    uint32_t n;
    int orders;
    double limit;
  } rows[] = {{2, 2, 19.5}, {3, 6, 30.9}, {4, 24, 62.4}, {5, 120, 196.7}, {6, 720, 892.4}};
  uint32_t n = rows[_i].n;
  int count[720] = {0};
  for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
    ep_permutation permutation = ep_permutation_make(5, EP_RANDOM_SHUFFLE, epoch, n);
    uint32_t order[6];
    for (uint32_t i = 0; i < n; i++) order[i] = ep_permutation_at(&permutation, i);
    count[rank(order, n)]++;
  }
  double expected = (double)EPOCHS / rows[_i].orders, chi_square = 0;
  for (int i = 0; i < rows[_i].orders; i++) {
    chi_square += (count[i] - expected) * (count[i] - expected) / expected;
  }
  ck_assert_double_lt(chi_square, rows[_i].limit);
}
END_TEST

EP_SUITE("random") {
  TCase *philox = ep_suite_case(suite, "philox");
  tcase_add_loop_test(philox, philox_gives_the_published_words, 0, 3);
  tcase_add_test(philox, the_counter_keeps_seed_purpose_epoch_and_index_apart);
  tcase_add_test(philox, floats_lie_in_zero_to_one);
  TCase *permutation = ep_suite_case(suite, "permutation");
  tcase_set_timeout(permutation, 60);
  tcase_add_loop_test(permutation, a_permutation_has_every_number_once, 0,
                      sizeof sizes / sizeof sizes[0]);
  tcase_add_test(permutation, a_permutation_of_two_to_the_31_stays_in_range);
  tcase_add_loop_test(permutation, every_element_goes_everywhere_equally_often, 0,
                      sizeof place_sizes / sizeof place_sizes[0]);
  tcase_add_test(permutation, the_place_score_notices_a_bad_shuffle);
  tcase_add_loop_test(permutation, every_order_of_a_few_elements_comes_equally_often, 0, 5);
}
