/* args.h: what a launch of cuda/fused's kernel is given: the host's side and the kernel's, which is
 * compiled at run time, share it. All pointers are device memory. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_FUSED_ARGS_H
#define EP_KERNELS_CUDA_EXECUTORS_FUSED_ARGS_H

#include "kernels/formulas/optimizers.h"

enum { EP_CUDA_FUSED_LAYERS_MAX = 16 };

typedef struct {
  int64_t first_step, steps;
  const float *x;    /* [train_rows, in_features] */
  const float *y;    /* [train_rows, target_columns]; int32 [train_rows] of classes */
  float *parameters; /* [parameters] */
  float *state;      /* [slots, parameters] */
  float *partials;   /* [blocks, QUADS, 4]: sums of gradients: see constants.cuh */
  char *image;       /* [IMAGE_BYTES]: weights and biases as they lie in shared memory; its gaps
                        are zero */
  double *losses;    /* [blocks] */
  int32_t *misses;   /* [blocks] */
  unsigned *barrier; /* zero at the launch */
  const float *lr;   /* [lr_count]: 1 or steps */
  int64_t lr_count;
  const ep_optimizer_step *update; /* [steps]; NULL where a step's rates are its lr alone */
  float *loss;                     /* [steps], written */
  int32_t *errors;                 /* [steps], written */
  uint64_t seed;
  ep_optimizer optimizer;
  float loss_parameter, label_smoothing;
  float decay[EP_CUDA_FUSED_LAYERS_MAX][2]; /* of a layer's weights, biases; negative: frozen */
} ep_cuda_fused_args;

#endif
