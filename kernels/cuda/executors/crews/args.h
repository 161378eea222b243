/* args.h: what a launch of cuda/crews's kernel is given: the host's side and the kernel's, which is
 * compiled at run time, share it. All pointers are device memory. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CREWS_ARGS_H
#define EP_KERNELS_CUDA_EXECUTORS_CREWS_ARGS_H

#include "kernels/formulas/optimizers.h"

enum {
  EP_CREWS_LAYERS_MAX = 16,
  EP_CREWS_RANKS = 16, /* blocks of a crew */
  EP_CREWS_ROWS = 16,  /* rows that it takes at most */
  EP_CREWS_WARPS = 16, /* of a block */
  EP_CREWS_TASK_FLOATS = 13
};

typedef struct {
  int64_t first_step, steps;
  const float *x;    /* [train_rows, in_features] */
  const float *y;    /* [train_rows, target_columns]; int32 [train_rows] of classes */
  float *parameters; /* [parameters] */
  float *state;      /* [slots, parameters] */
  float *scratch;    /* as plan.h says */
  unsigned *barrier; /* zero at the launch */
  const float *lr;   /* [lr_count]: 1 or steps */
  int64_t lr_count;
  const ep_optimizer_step *update; /* [steps]; NULL where a step's rates are its lr alone */
  float *loss;                     /* [steps], written */
  int32_t *errors;                 /* [steps], written */
  uint64_t seed;
  ep_optimizer optimizer;
  float loss_parameter, label_smoothing;
  /* Of each layer: weight decay; negative: frozen. */
  float weight_decay[EP_CREWS_LAYERS_MAX], bias_decay[EP_CREWS_LAYERS_MAX];
} ep_crews_args;

#endif
