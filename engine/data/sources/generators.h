/* generators.h: data that is made, not read: the published examples. Any row by its number. */
#ifndef EP_ENGINE_DATA_SOURCES_GENERATORS_H
#define EP_ENGINE_DATA_SOURCES_GENERATORS_H

#include "api/spec/spec.h"

/* Both have two columns of x and one of y, which is 0 or 1. */
enum { EP_GENERATOR_FEATURES = 2 };

/* Rows of the training set, and as many of the test set. */
int64_t ep_generator_rows(const ep_data_spec *data);

/* Row `row` of the training or the test set. x: [2], y: [1], written.
 * xor: all four cases, twice. disc: points uniform in the unit square, from (generator_seed,
 * EP_RANDOM_GENERATOR, 0 train / 1 test, row); class 1 inside the circle of area 1/2 about the
 * origin, x0^2 + x1^2 <= 1 / (2 pi). */
void ep_generator_row(const ep_data_spec *data, bool test, int64_t row, double *x, double *y);

#endif
