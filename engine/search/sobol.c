#include "engine/search/sobol.h"

#include "engine/search/draws.h"
#include "engine/search/space.h"

enum { MOST_DEGREE = 6 };

/* Dimensions 2 … 16: S. Joe and F. Y. Kuo, "Constructing Sobol Sequences with Better
 * Two-Dimensional Projections", SIAM J. Sci. Comput. 30, 2008; their table new-joe-kuo-6. A
 * primitive polynomial over GF(2) and the first numbers m of its recurrence: odd, m[i] < 2^(i+1).
 */
static const struct {
  int degree;
  uint32_t middle; /* the coefficients between the first and the last, which are 1 */
  uint32_t m[MOST_DEGREE];
} TABLE[EP_LIMIT_SWEEP_AXES - 1] = {
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
};

/* direction: [EP_SOBOL_BITS]. Bit i stands for m[i] / 2^(i+1), as 32 bits of a fraction. */
static void directions_fill(uint32_t *direction, int dimension) {
  for (int i = 0; i < EP_SOBOL_BITS; i++) {
    if (dimension == 0) { /* van der Corput's: the bits reversed */
      direction[i] = UINT32_C(1) << (31 - i);
      continue;
    }
    int degree = TABLE[dimension - 1].degree;
    if (i < degree) {
      direction[i] = TABLE[dimension - 1].m[i] << (31 - i);
      continue;
    }
    uint32_t value = direction[i - degree] ^ direction[i - degree] >> degree;
    for (int j = 1; j < degree; j++)
      if (TABLE[dimension - 1].middle >> (degree - 1 - j) & 1) value ^= direction[i - j];
    direction[i] = value;
  }
}

void ep_sobol_init(ep_sobol *sobol, uint64_t seed) {
  for (int i = 0; i < EP_LIMIT_SWEEP_AXES; i++) {
    directions_fill(sobol->direction[i], i);
    sobol->shift[i] = (uint64_t)(ep_search_draw(seed, EP_DRAW_SHIFT, 0, i) * 0x1p53) << 11;
  }
}

double ep_sobol_fraction(const ep_sobol *sobol, int64_t number, int dimension) {
  /* In the order of the Gray code (Antonov and Saleev 1979), as most programs have it. */
  uint32_t bits = (uint32_t)number ^ (uint32_t)number >> 1, value = 0;
  for (int i = 0; bits; i++, bits >>= 1)
    if (bits & 1) value ^= sobol->direction[dimension][i];
  return (double)(((uint64_t)value << 32 ^ sobol->shift[dimension]) >> 11) * 0x1p-53;
}

void ep_sobol_point(const ep_sobol *sobol, const ep_axis *axes, int axes_count, int64_t trial,
                    double *point) {
  for (int i = 0; i < axes_count; i++)
    point[i] = ep_axis_value(&axes[i], ep_sobol_fraction(sobol, trial, i));
}
