/* program.h: what to train, as a compute backend sees it: flat, with shapes and offsets.
 *
 * The engine lowers a job to a program; a backend compiles it. A program says nothing of files,
 * splits, names or units: x and y arrive ready (standardized, float32). */
#ifndef EP_KERNELS_PROGRAM_H
#define EP_KERNELS_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "api/vocabulary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One layer: y = f(x), x: [rows, in_features], y: [rows, out_features], row-major float32.
 * linear: y = x W^T + b with weight W: [out_features, in_features] and bias b: [out_features]. */
typedef struct {
  ep_layer_type type;
  int64_t in_features, out_features; /* equal for all but linear */
  int64_t weight;       /* offset of the weight in the parameters, in floats; -1 = none */
  int64_t bias;         /* offset of the bias; -1 = none */
  float negative_slope; /* leaky_relu */
} ep_op;

/* torch.optim.SGD (no dampening): g = grad + weight_decay * p; v = momentum * v + g;
 * step = nesterov ? g + momentum * v : v; p -= lr * step. v starts at zero. */
typedef struct {
  ep_optimizer_type type;
  float momentum, weight_decay;
  bool nesterov;
} ep_optimizer;

typedef struct {
  const ep_op *ops; /* [ops_count], lent for the life of the program */
  int ops_count;
  int64_t in_features;  /* columns of x */
  int64_t out_features; /* columns of the network's output */
  int64_t
      target_columns; /* columns of y; equals out_features unless the loss takes classes: then 1 */
  int64_t parameters; /* floats in all; weight, then bias, layer by layer, without gaps */
  ep_loss_type loss;  /* mean over rows and columns (torch's reduction="mean") */
  float huber_delta;
  ep_optimizer optimizer;
  int64_t optimizer_floats; /* floats of optimizer state: parameters with momentum, else 0 */
  int64_t train_rows;
  int64_t batch_size; /* 1 … train_rows; the last batch of an epoch may be smaller, and is kept */
  int64_t
      max_predict_rows; /* the most rows of one evaluate or predict that are worth doing at once */
  bool shuffle; /* row i of epoch e is element i of the permutation (seed, SHUFFLE, e); random.h */
  uint64_t seed;
  ep_precision precision;
} ep_program;

static inline int64_t ep_program_steps_per_epoch(const ep_program *program) {
  return (program->train_rows + program->batch_size - 1) / program->batch_size;
}

static inline int64_t ep_program_batch_rows(const ep_program *program, int64_t batch) {
  int64_t left = program->train_rows - batch * program->batch_size;
  return left < program->batch_size ? left : program->batch_size;
}

#ifdef __cplusplus
}
#endif
#endif
