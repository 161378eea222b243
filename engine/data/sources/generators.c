#include "engine/data/sources/generators.h"

#include <assert.h>
#include <math.h>

#include "kernels/random.h"

static int64_t xor_rows(const ep_data_spec *data) {
  (void)data;
  return 4;
}

static void xor_row(const ep_data_spec *data, bool test, int64_t row, double *x, double *y) {
  static const double cases[4][3] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
  (void)data;
  (void)test;
  assert(row >= 0 && row < 4);
  x[0] = cases[row][0];
  x[1] = cases[row][1];
  y[0] = cases[row][2];
}

static int64_t disc_rows(const ep_data_spec *data) {
  return data->rows;
}

static void disc_row(const ep_data_spec *data, bool test, int64_t row, double *x, double *y) {
  ep_random4 words = ep_random(data->generator_seed, EP_RANDOM_GENERATOR, test, (uint64_t)row);
  x[0] = ep_random_double(words.word[0], words.word[1]);
  x[1] = ep_random_double(words.word[2], words.word[3]);
  y[0] = x[0] * x[0] + x[1] * x[1] <= 1 / (2 * M_PI);
}

static const struct {
  int64_t (*rows)(const ep_data_spec *data);
  void (*row)(const ep_data_spec *data, bool test, int64_t row, double *x, double *y);
} generators[EP_GENERATOR_COUNT] = {
    [EP_GENERATOR_XOR] = {xor_rows, xor_row}, [EP_GENERATOR_DISC] = {disc_rows, disc_row}};

int64_t ep_generator_rows(const ep_data_spec *data) {
  assert(data->generator < EP_GENERATOR_COUNT);
  return generators[data->generator].rows(data);
}

void ep_generator_row(const ep_data_spec *data, bool test, int64_t row, double *x, double *y) {
  assert(data->generator < EP_GENERATOR_COUNT);
  generators[data->generator].row(data, test, row, x, y);
}
