/* rows.h: a population's rows on the device, for the calls that come with the same ones. */
#ifndef EP_KERNELS_CUDA_POPULATION_ROWS_H
#define EP_KERNELS_CUDA_POPULATION_ROWS_H

#include "kernels/cuda/runtime/device.h"

/* Rows of a split: x, [rows, in_features], numbers also where they are stored as bytes; y, [rows,
 * target_columns]. */
typedef struct {
  const void *host_x, *host_y; /* where they were copied from */
  int64_t rows, in_features, target_columns;
  float *x, *y; /* device; owned */
  int64_t bytes;
} ep_population_split;

/* Makes *self the rows of `given`: copies them, unless they are there. y is left out where it is
 * NULL. */
ep_status ep_population_split_load(ep_population_split *self, const ep_backend *backend,
                                   const ep_program *program, const ep_population_rows *given,
                                   ep_error *error);
void ep_population_split_deinit(ep_population_split *self); /* a zeroed one is allowed */

#endif
