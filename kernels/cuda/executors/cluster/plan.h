/* plan.h: how cuda/cluster runs a program: how many blocks take rows and how many share them, which
 * layers are sliced, what lies where in a block's shared memory. Plain C, linked into epochd. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CLUSTER_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_CLUSTER_PLAN_H

#include "kernels/cuda/executors/cluster/args.h"
#include "kernels/cuda/runtime/codegen.h"
#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cuda_cluster_profile;

/* A linear layer, and the norm, the activation and the dropout behind it. Offsets are floats of
 * shared memory; matrices of features lie as [features, rows of the block + 4], weights as
 * [outputs, inputs + 4].
 *
 * in, out: the layer's; inputs, outputs: this block's, each a multiple of eight. weight, bias: of
 * the parameters; bias: -1 for none. activation: -1 for none. landing: of what other slices' blocks
 * give; 0: nothing.
 *
 * norm_weight, norm_bias: of the parameters; -1 for none, also where there is no norm: normal is 0
 * then. normal: the normalized outputs, and, once the gradient has come back, the gradients by the
 * norm's weights; shifts: those by its biases; scales, offsets: the norm's parameters; deviations:
 * one over each row's. mask: the number that keys the dropout's mask; -1: no dropout. */
/* clang-format off */
#define EP_CLUSTER_LAYER(INTEGER, TYPE, REAL) \
  INTEGER(in) INTEGER(out) INTEGER(inputs) INTEGER(outputs) \
  INTEGER(weight) INTEGER(bias) \
  TYPE(activation) REAL(negative_slope) REAL(alpha) REAL(beta) REAL(threshold) \
  INTEGER(x) INTEGER(grad) INTEGER(weights) INTEGER(biases) INTEGER(landing) \
  INTEGER(norm_weight) INTEGER(norm_bias) INTEGER(normal) INTEGER(shifts) \
  INTEGER(scales) INTEGER(offsets) INTEGER(deviations) REAL(eps) \
  INTEGER(mask) REAL(p)
/* clang-format on */

typedef struct {
  EP_CUDA_FIELDS(EP_CLUSTER_LAYER)
  float weight_decay, bias_decay, norm_weight_decay, norm_bias_decay; /* negative: frozen */
} ep_cluster_layer;

/* Cycles that a step is expected to take, by its parts. */
typedef struct {
  double cycles;                   /* of all; the others are parts of it */
  double layers;                   /* how many */
  double products;                 /* with the sums and the update of the weights */
  double slices_given, rows_given; /* what the blocks of a row, and those of all rows, exchange */
} ep_cluster_work;

typedef struct {
  int layers_count;
  int front;      /* layers that each block has whole; all, when there is one slice */
  int row_blocks; /* blocks with rows of their own */
  int slices;     /* blocks that share them */
  int warps, row_warps;
  int groups; /* of 16 by 32 weights, that a block sums up */
  int fetched, targets, order, updates, losses, barriers, shared_floats;
  int64_t scratch_floats;
  ep_cluster_work work; /* expected of a step */
  ep_cluster_layer layers[EP_CLUSTER_LAYERS_MAX];
} ep_cluster_plan;

/* false: not a program for this executor. */
bool ep_cluster_plan_make(const ep_program *program, ep_cluster_plan *out);

/* As codegen.h says: the caller's to free; NULL when memory is short. */
char *ep_cluster_codegen(const ep_program *program, const ep_cluster_plan *plan);

/* The same for the plan that a GPU has; NULL as well when the program is none for it. */
char *ep_cuda_cluster_source(const ep_program *program, const ep_gpu_traits *gpu);

#endif
