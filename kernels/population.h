/* population.h: many trainings of one shape in one launch.
 *
 * All programs of a population agree in everything but numbers: layers, rows, batch size, loss and
 * types of optimizer are the same; seed, momentum and the other numbers of optimizer, loss and
 * layers may differ, and so may lr and steps. All train on the same rows. Each result is that of
 * the program alone, but for rounding, and the same bits each time, whatever else is in the
 * population. */
#ifndef EP_KERNELS_POPULATION_H
#define EP_KERNELS_POPULATION_H

#include "kernels/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One training of a population. */
typedef struct {
  const ep_program *program; /* lent */
  int64_t first_step, steps; /* as in ep_segment; steps may be 0 */
  const float *lr;           /* [lr_count]: one a step from first_step on, or one for all */
  int64_t lr_count;          /* 1 or steps */
  float *state;              /* in, out [parameters + buffers]; on return with what was trained */
  float *optimizer;          /* in, out [optimizer_floats]; NULL when that is 0 */
  double loss; /* out: mean of the batches' losses, each before its update, of the last
                  steps_per_epoch steps of this call; NaN when steps is 0 */
  bool finite; /* out: no batch's loss was NaN or infinite, nor is a value of `state` */
} ep_member;

/* Rows of a split, in host memory, as ep_backend_ops.load_data takes them. rows 0: there are none.
 */
typedef struct {
  const void *x, *y;
  int64_t rows;
} ep_population_rows;

typedef struct {
  ep_population_rows train;
  ep_population_rows predict[3]; /* splits to predict after the training; rows 0: not */
  float *outputs[3];             /* out: [count, rows, out_features] of each, or NULL */
  ep_member *members;            /* [count] */
  int64_t count;
} ep_population;

#ifdef __cplusplus
}
#endif
#endif
