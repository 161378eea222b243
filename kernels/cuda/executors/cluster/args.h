/* args.h: what a launch of cuda/cluster's kernel is given: the host's side and the kernel's, which
 * is compiled at run time, share it. All pointers are device memory. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CLUSTER_ARGS_H
#define EP_KERNELS_CUDA_EXECUTORS_CLUSTER_ARGS_H

#include "kernels/formulas/optimizers.h"

enum { EP_CLUSTER_LAYERS_MAX = 16 };

typedef struct {
  int64_t first_step, steps;
  const float *x;    /* [train_rows, in_features] */
  const float *y;    /* [train_rows, target_columns]; int32 [train_rows] of classes */
  float *parameters; /* [parameters] */
  float *state;      /* [slots, parameters] */
  float *scratch;    /* where blocks with different rows exchange sums: see update.cuh */
  const float *lr;   /* [lr_count]: 1 or steps */
  int64_t lr_count;
  const ep_optimizer_step *update; /* [steps]; NULL where a step's rates are its lr alone */
  float *loss;                     /* [steps], written */
  int32_t *errors;                 /* [steps], written */
  uint64_t seed;
  ep_optimizer optimizer;
  float loss_parameter, label_smoothing;
  /* Of each layer: weight decay; negative: frozen. */
  float weight_decay[EP_CLUSTER_LAYERS_MAX], bias_decay[EP_CLUSTER_LAYERS_MAX];
  float norm_weight_decay[EP_CLUSTER_LAYERS_MAX], norm_bias_decay[EP_CLUSTER_LAYERS_MAX];
} ep_cluster_args;

#endif
