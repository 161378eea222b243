/* args.h: the argument of cuda/persistent's kernel, shared by the host and by the kernel, which is
 * compiled at run time. All pointers are device memory. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_ARGS_H
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_ARGS_H

#include "kernels/formulas/optimizers.h"

enum { EP_PERSISTENT_STAGES_MAX = 40 };

/* What a word of a slice's segments is: the parameter of that number, times EP_PERSISTENT_PLACE,
 * and whether the training changes it, and whether this slice is the one that brings it back; or
 * none, which is always 0 or 1. */
enum {
  EP_PERSISTENT_PLACE_TRAINS = 1,
  EP_PERSISTENT_PLACE_STORES = 2,
  EP_PERSISTENT_PLACE = 4,
  EP_PERSISTENT_PLACE_OF_ZERO = -1,
  EP_PERSISTENT_PLACE_OF_ONE = -2
};

enum { EP_PERSISTENT_PIECE = 4 }; /* numbers of an embedding's vector that are exchanged together */

typedef struct {
  int64_t first_step, steps;
  const float *rows;     /* [train_rows, plan.row_words]: x, zeros, at plan.targets y, zeros */
  const int32_t *places; /* [slices, plan.vector_words], as above */
  float *parameters;     /* [parameters + buffers] */
  float *state;          /* [slots, parameters] */
  float *exchange; /* [plan.exchange_words] of tagged words (tagged.cuh), none of them there */
  const float *lr; /* [lr_count]: 1 or steps */
  int64_t lr_count;
  const ep_optimizer_step *update; /* [steps]; NULL where a step's rates are its lr alone */
  float *loss;                     /* [steps], written */
  int32_t *errors;                 /* [steps], written */
  uint64_t seed;
  ep_optimizer optimizer;
  float loss_parameter, label_smoothing;
  float decay[EP_PERSISTENT_STAGES_MAX][2]; /* weight decay of each stage's weight and bias */
} ep_persistent_args;

#endif
