/* args.h: what a launch of cuda/cnn's kernel is given: the host's side and the kernel's, which is
 * compiled at run time, share it. All pointers are device memory. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_ARGS_H
#define EP_KERNELS_CUDA_EXECUTORS_CNN_ARGS_H

#include "kernels/formulas/optimizers.h"

typedef struct {
  int64_t first_step, steps;
  const void *x;                  /* [train_rows, stored] of the program's x_type */
  const void *y;                  /* float [train_rows, target_columns] or int32 [train_rows] */
  const float *x_scale, *x_shift; /* [stored.channels], for bytes */
  float *parameters;              /* [parameters] */
  float *state;                   /* [slots, parameters] */
  const float *decay;             /* [parameters]: weight decay; negative: frozen */
  float *partials;                /* [workers, CONV_PITCH]: gradients of the convolutions */
  float *linear;                  /* inputs and output gradients of the linear layers, by row */
  double *losses;                 /* [workers] */
  int32_t *misses;                /* [workers] */
  int32_t *order;                 /* [2, batch_size]: see balance.cuh */
  unsigned *barrier;              /* zero at the launch */
  const float *lr;                /* [lr_count]: 1 or steps */
  int64_t lr_count;
  const ep_optimizer_step *update; /* [steps]; NULL where a step's rates are its lr alone */
  float *loss;                     /* [steps], written */
  int32_t *errors;                 /* [steps], written */
  uint64_t seed;
  ep_augment augment;
  ep_optimizer optimizer;
  float loss_parameter, label_smoothing;
} ep_cnn_args;

#endif
