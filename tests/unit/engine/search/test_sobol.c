/* Sobol points: those that are published, their evenness, and the shift. */
#include "engine/search/sobol.h"
#include "engine/search/space.h"
#include "tests/suite.h"

#include <math.h>

static ep_sobol sobol;

/* A coordinate without its shift, which is point 0. */
static double unshifted(int64_t number, int dimension) {
  uint64_t value = (uint64_t)(ep_sobol_fraction(&sobol, number, dimension) * 0x1p53),
           shift = (uint64_t)(ep_sobol_fraction(&sobol, 0, dimension) * 0x1p53);
  return (double)(value ^ shift) * 0x1p-53;
}

/* As SciPy's and PyTorch's Sobol engines have them without scrambling. */
START_TEST(published_points) {
  static const double POINTS[8][3] = {{0, 0, 0},
                                      {0.5, 0.5, 0.5},
                                      {0.75, 0.25, 0.25},
                                      {0.25, 0.75, 0.75},
                                      {0.375, 0.375, 0.625},
                                      {0.875, 0.875, 0.125},
                                      {0.625, 0.125, 0.875},
                                      {0.125, 0.625, 0.375}};
  ep_sobol_init(&sobol, 42);
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 3; j++) ck_assert_double_eq(unshifted(i, j), POINTS[i][j]);
}
END_TEST

/* One point of which every direction number is a part, from Joe and Kuo's table by a program of its
 * own: a wrong number of any dimension shows. */
START_TEST(all_direction_numbers) {
  static const uint32_t POINT[EP_LIMIT_SWEEP_AXES] = {
      0xFFFFFFFC, 0x55555554, 0x04004444, 0x400BFFBC, 0xC0076D74, 0x007C7C7C,
      0x004070CC, 0xCF0634BC, 0x8BCC077C, 0xBA474674, 0xD9129874, 0xCDDB460C,
      0xCBFC0FFC, 0x75FCF34C, 0x273273EC, 0xDF08F4EC};
  ep_sobol_init(&sobol, 7);
  for (int i = 0; i < EP_LIMIT_SWEEP_AXES; i++)
    ck_assert_uint_eq((uint32_t)(unshifted(0x2AAAAAAA, i) * 0x1p32), POINT[i]);
}
END_TEST

/* Any 2^k points from a multiple of it on have one in each 2^-k of every dimension. */
START_TEST(each_dimension_is_even) {
  ep_sobol_init(&sobol, (uint64_t)_i);
  for (int k = 0; k <= 10; k++)
    for (int dimension = 0; dimension < EP_LIMIT_SWEEP_AXES; dimension++)
      for (int64_t start = 0; start < 3; start++) {
        bool taken[1024] = {false};
        for (int64_t i = 0; i < INT64_C(1) << k; i++) {
          double fraction = ep_sobol_fraction(&sobol, (start << k) + i, dimension);
          ck_assert(fraction >= 0 && fraction < 1);
          int cell = (int)(fraction * (double)(1 << k));
          ck_assert(!taken[cell]);
          taken[cell] = true;
        }
      }
}
END_TEST

/* Rank over GF(2) of the first `bits` bits of the first `numbers` direction numbers of each. */
static int rank_of(const int *dimensions, int dimensions_count, int bits, int numbers) {
  uint64_t rows[64];
  int count = 0, rank = 0;
  for (int d = 0; d < dimensions_count; d++)
    for (int bit = 0; bit < bits; bit++, count++) {
      rows[count] = 0;
      for (int i = 0; i < numbers; i++)
        rows[count] |= (uint64_t)(sobol.direction[dimensions[d]][i] >> (31 - bit) & 1) << i;
    }
  for (int column = 0; column < numbers; column++)
    for (int row = rank; row < count; row++) {
      if (!(rows[row] >> column & 1)) continue;
      uint64_t pivot = rows[row];
      rows[row] = rows[rank];
      rows[rank++] = pivot;
      for (int other = rank; other < count; other++)
        if (rows[other] >> column & 1) rows[other] ^= pivot;
      break;
    }
  return rank;
}

/* Sobol's property A: of 2^16 points each of the 2^16 halves of halves has one. */
START_TEST(property_a) {
  int dimensions[EP_LIMIT_SWEEP_AXES];
  for (int i = 0; i < EP_LIMIT_SWEEP_AXES; i++) dimensions[i] = i;
  ep_sobol_init(&sobol, 0);
  for (int count = 1; count <= EP_LIMIT_SWEEP_AXES; count++)
    ck_assert_int_eq(rank_of(dimensions, count, 1, count), count);
}
END_TEST

/* What the table's numbers were chosen for: pairs of dimensions are even. Of the first 2^12 points,
 * each square of the side 1/8 at least has as many, in all 120 pairs. */
START_TEST(pairs_of_dimensions_are_even) {
  ep_sobol_init(&sobol, 0);
  for (int a = 0; a < EP_LIMIT_SWEEP_AXES; a++)
    for (int b = 0; b < a; b++) {
      int bits = 0;
      while (bits < 6 && rank_of((int[]){a, b}, 2, bits + 1, 12) == 2 * (bits + 1)) bits++;
      ck_assert_msg(bits >= 3, "dimensions %d and %d: %d bits", a, b, bits);
    }
}
END_TEST

enum { POINTS = 256, DIMENSIONS = 5 };

/* Warnock's formula: the square of the L2 star discrepancy. */
static double discrepancy(double points[POINTS][DIMENSIONS]) {
  double single = 0, pairs = 0;
  for (int i = 0; i < POINTS; i++) {
    double product = 1;
    for (int k = 0; k < DIMENSIONS; k++) product *= (1 - points[i][k] * points[i][k]) / 2;
    single += product;
    for (int j = 0; j < POINTS; j++) {
      product = 1;
      for (int k = 0; k < DIMENSIONS; k++) product *= 1 - fmax(points[i][k], points[j][k]);
      pairs += product;
    }
  }
  return pow(3, -DIMENSIONS) - 2 * single / POINTS + pairs / POINTS / POINTS;
}

START_TEST(more_even_than_chance) {
  ep_axis axes[DIMENSIONS];
  for (int i = 0; i < DIMENSIONS; i++) axes[i] = (ep_axis){EP_AXIS_UNIFORM, 0, 0, 1};
  for (uint64_t seed = 0; seed < 8; seed++) {
    double even[POINTS][DIMENSIONS], chance[POINTS][DIMENSIONS];
    ep_sobol_init(&sobol, seed);
    for (int i = 0; i < POINTS; i++) {
      ep_sobol_point(&sobol, axes, DIMENSIONS, i, even[i]);
      ep_space_random(axes, DIMENSIONS, seed, i, chance[i]);
    }
    ck_assert_double_lt(discrepancy(even), discrepancy(chance) / 2);
    ck_assert_double_gt(discrepancy(even), 0);
  }
}
END_TEST

START_TEST(seeds_shift_all_dimensions) {
  static ep_sobol other;
  ep_sobol_init(&sobol, 1);
  ep_sobol_init(&other, 2);
  for (int i = 0; i < EP_LIMIT_SWEEP_AXES; i++) {
    ck_assert_double_ne(ep_sobol_fraction(&sobol, 0, i), ep_sobol_fraction(&other, 0, i));
    for (int j = 0; j < i; j++) ck_assert_uint_ne(sobol.shift[i], sobol.shift[j]);
  }
}
END_TEST

EP_SUITE("search/sobol") {
  TCase *tests = ep_suite_case(suite, "sobol");
  tcase_add_test(tests, published_points);
  tcase_add_test(tests, all_direction_numbers);
  tcase_add_loop_test(tests, each_dimension_is_even, 0, 3);
  tcase_add_test(tests, property_a);
  tcase_add_test(tests, pairs_of_dimensions_are_even);
  tcase_add_test(tests, more_even_than_chance);
  tcase_add_test(tests, seeds_shift_all_dimensions);
}
