/* graph.h: a network as values and operators: what each operator reads, computes and makes.
 *
 * The order of the operators is one in which they can run. What follows from a graph (who reads a
 * value, which memory it shares, whose gradient is asked for) is in kernels/operators/values.h. */
#ifndef EP_KERNELS_GRAPH_H
#define EP_KERNELS_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "api/vocabulary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one row holds, row-major: an image is [channels, height, width], a series [channels, 1,
 * length], a vector [features, 1, 1]. */
typedef struct {
  int64_t channels, height, width;
} ep_shape;

static inline int64_t ep_shape_count(ep_shape shape) {
  return shape.channels * shape.height * shape.width;
}

enum { EP_SHAPE_SIDES = 3 };

/* Channels, height, width: 0, 1, 2. */
static inline int64_t ep_shape_side(ep_shape shape, int side) {
  return side == 0 ? shape.channels : side == 1 ? shape.height : shape.width;
}

static inline void ep_shape_set_side(ep_shape *shape, int side, int64_t length) {
  *(side == 0 ? &shape->channels : side == 1 ? &shape->height : &shape->width) = length;
}

enum { EP_OP_INPUTS = 4 };     /* values that an operator reads at most */
enum { EP_OP_PARAMETERS = 8 }; /* parameters that it has at most */

/* One operator, of which a row of kernels/operators says more: y = f(x), x: [rows, in_features], y:
 * [rows, out_features], row-major float32. Formulas and defaults are torch's. in_features and
 * out_features are the counts of the shapes, of the first input's and y's.
 *
 * Values are numbered: 0 is the network's input, i + 1 what op i makes. An op reads values that
 * come before its own; in a plain list of layers op i reads value i.
 *
 * - linear: y = x W^T + b, W: [out_features, in_features], b: [out_features].
 *
 * - conv2d: W: [out channels, in channels / groups, kernel height, kernel width], b: [out
 * channels].
 *
 * - max_pool2d: padding counts as -infinity; the first maximum gets the gradient.
 *
 * - avg_pool2d: padding counts as 0, and is counted (count_include_pad).
 *
 * - adaptive_avg_pool2d: window i of n over size m: floor(i m / n) … ceil((i + 1) m / n) - 1.
 *
 * - dropout: training: y = keep ? x / (1 - p) : 0 for each element; evaluation: y = x.
 *
 * - dropout2d: the same for each whole channel of a row.
 *
 * - batch_norm: by channel over rows (and pixels): (x - mean) / sqrt(variance + eps) * W + b.
 * Training takes the batch's mean and population variance, and moves the running ones by momentum
 * towards it (the variance's unbiased form). Evaluation takes the running ones.
 *
 * - layer_norm: by row over all its features; W, b: [in_features].
 *
 * - embedding: x: [rows, numbers + columns]; the columns hold whole numbers 0 … embeddings - 1, W:
 * [embeddings, dimension]; y: [rows, numbers + columns * dimension]: the numbers as they are, then
 * a row of W for each column.
 *
 * - add, mul: y = x0 + x1 + …, x0 * x1 * …, all of one shape.
 *
 * - concat: inputs one after the other along `axis`; their other sides are alike.
 *
 * - slice: the places start … start + (y's side) - 1 of `axis`.
 *
 * - reshape (and flatten): the same numbers in the same order, in another shape.
 *
 * - permute: side i of y is side order[i] of x.
 *
 * - conv1d: a conv2d whose windows lie along the width alone, W: [out channels, in channels /
 * groups, kernel width]. causal: padded on the left alone, so that y at t sees x up to t. */
typedef struct {
  ep_layer_type type;
  ep_shape in, out;
  int64_t in_features, out_features;
  union { /* offsets in the parameters, in floats; -1 = none */
    struct {
      int64_t weight, bias; /* the first two, which most have, and no others */
    };
    int64_t parameter[EP_OP_PARAMETERS]; /* in the order of its row (operators/operator.h), one
                                            behind the other; beyond the row's: unused */
  };
  int64_t running; /* batch_norm: offset of the running mean [channels], then variance [channels],
                      counted from the first buffer; -1 = none */
  float negative_slope;  /* leaky_relu */
  float alpha;           /* elu */
  float beta, threshold; /* softplus */
  float p;               /* dropout, dropout2d */
  float eps, momentum;   /* norms; momentum: batch_norm */
  bool sync;             /* batch_norm: over the batch of all replicas, not each its slice */
  int kernel[2], stride[2], padding[2], dilation[2]; /* windows; [height, width] */
  int64_t groups;                                    /* conv2d */
  int64_t embeddings, numbers;                       /* embedding */
  bool is_1d;                   /* conv2d: of a conv1d: its weight has no height */
  bool causal;                  /* conv2d of a conv1d: padded on the left alone */
  int axis;                     /* concat, slice: 0 channels, 1 height, 2 width */
  int64_t start;                /* slice */
  int64_t length[EP_OP_INPUTS]; /* concat: of each input, along the axis */
  int order[EP_SHAPE_SIDES];    /* permute */
  int inputs;                   /* values that it reads, 1 … EP_OP_INPUTS */
  int input[EP_OP_INPUTS];      /* their numbers */
  int layer;                    /* its number for random.h: keys the dropout mask */
} ep_op;

/* An embedding's columns, and what each becomes. */
static inline int64_t ep_op_columns(const ep_op *op) {
  return op->in_features - op->numbers;
}
static inline int64_t ep_op_dimension(const ep_op *op) {
  return (op->out_features - op->numbers) / ep_op_columns(op);
}

/* A shape along one of its sides, row-major: `count` runs of `whole` numbers each; a place of the
 * side has `place` numbers of each run. */
typedef struct {
  int64_t count, whole, place;
} ep_shape_runs;

static inline ep_shape_runs ep_shape_runs_along(int axis, ep_shape shape) {
  ep_shape_runs runs = {1, 1, 1};
  for (int side = 0; side < axis; side++) runs.count *= ep_shape_side(shape, side);
  for (int side = axis + 1; side < EP_SHAPE_SIDES; side++) runs.place *= ep_shape_side(shape, side);
  runs.whole = runs.place * ep_shape_side(shape, axis);
  return runs;
}

/* Whether op `number` stands in a plain list of layers: it reads what the op before it makes, and
 * an add besides it an earlier value, past a block. */
static inline bool ep_op_is_in_line(const ep_op *op, int number) {
  if (op->input[0] != number || op->causal) return false;
  return op->inputs == 1 || (op->type == EP_LAYER_ADD && op->inputs == 2 && op->input[1] < number);
}

#ifdef __cplusplus
}
#endif
#endif
