/* plan.h: how cuda/crews runs a program: crews of 16 blocks, each a cluster with rows of its own;
 * which layers each block of a crew has whole, and of which it has a sixteenth; what lies where.
 * Plain C, linked into epochd.
 *
 * Weights lie in tiles of 8 outputs by 16 inputs, [outputs / 8, inputs / 16, 128], and behind them
 * the biases, [outputs]; so do they in memory, in pieces as blocks fetch them. Features lie in
 * tiles of a crew's 16 rows by 16, [features / 16, 256]; in memory, where all crews' meet for the
 * gradients, [features / 16, crews, 256], and gradients by outputs [outputs / 8, crews, 128]. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CREWS_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_CREWS_PLAN_H

#include "kernels/cuda/executors/crews/args.h"
#include "kernels/cuda/runtime/codegen.h"
#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cuda_crews_profile;

/* A linear layer and the activation behind it. Offsets are floats.
 *
 * in, out: the layer's; inputs, outputs: what a block takes and gives: its own part of the outputs,
 * and, for the last layer, of the inputs. weight, bias: of the parameters; bias: -1 for none.
 * activation: -1 for none. weights, biases: in shared memory. image, x, grad: in scratch: a block's
 * piece of the weights is the rank's. */
/* clang-format off */
#define EP_CREWS_LAYER(INTEGER, TYPE, REAL) \
  INTEGER(in) INTEGER(out) INTEGER(inputs) INTEGER(outputs) \
  INTEGER(weight) INTEGER(bias) \
  TYPE(activation) REAL(negative_slope) REAL(alpha) REAL(beta) REAL(threshold) \
  INTEGER(weights) INTEGER(biases) INTEGER(image) INTEGER(x) INTEGER(grad)
/* clang-format on */

typedef struct {
  EP_CUDA_FIELDS(EP_CREWS_LAYER)
  float weight_decay, bias_decay; /* negative: frozen */
} ep_crews_layer;

typedef struct {
  int layers_count;
  int front;     /* layers that each block has whole */
  int crews;     /* clusters */
  int rows_each; /* rows of the batch that a crew has */
  int place[2];  /* of inputs of the layers behind the front, by turns; sums land in them */
  int features;  /* of the front's inputs, then of its gradients: [2, 1024] */
  int grads;     /* of the gradients by a block's outputs */
  int front_weights, front_floats; /* the front's piece; in the scratch it is the first */
  int fetched, targets, order, updates, barriers, shared_floats;
  bool refetches; /* the front's weights make room for wide layers' features, and come again */
  int metrics;    /* in scratch: [crews, 2, 2] */
  int tasks;      /* in scratch: EP_CREWS_TASK_FLOATS of each thread */
  int64_t scratch_floats;
  ep_crews_layer layers[EP_CREWS_LAYERS_MAX];
} ep_crews_plan;

/* false: not a program for this executor. */
bool ep_crews_plan_make(const ep_program *program, ep_crews_plan *out);

/* As codegen.h says: the caller's to free; NULL when memory is short. */
char *ep_crews_codegen(const ep_program *program, const ep_crews_plan *plan);

/* The same for the plan that a GPU has; NULL as well when the program is none for it. */
char *ep_cuda_crews_source(const ep_program *program, const ep_gpu_traits *gpu);

#endif
