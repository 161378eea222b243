/* operator.h: what each type of layer is, a row each: all that holds of it on every device. Weights
 * files, initial weights, costs, memory and checks are derived from the rows, here and above. Its
 * words and its formula stand in api/vocabulary.h, its fields in api/spec/layers.c.
 *
 * A type without a row does not link, and a row that lacks a fact does not compile. */
#ifndef EP_KERNELS_OPERATORS_OPERATOR_H
#define EP_KERNELS_OPERATORS_OPERATOR_H

#include <stddef.h>

#include "kernels/program.h"

/* --- parameters ---------------------------------------------------------------------------- */

enum { EP_PARAMETER_DIMENSIONS = 4 };

/* A parameter's shape as torch.nn's module has it, [out, in, …] of a weight. */
typedef struct {
  int dimensions; /* 0: the layer has none */
  int64_t size[EP_PARAMETER_DIMENSIONS];
} ep_parameter_shape;

typedef ep_parameter_shape ep_parameter_shape_of(const ep_op *op);

/* One parameter, by torch.nn's name: weights files have it. One of a single dimension behind the
 * first is a bias. */
typedef struct {
  const char *name;
  ep_parameter_shape_of *shape;
} ep_parameter;

/* What parameters begin as. */
typedef enum {
  EP_START_RANDOM, /* at random, by the layer's `init` and the first one's fans; biases too. Weights
                      are always there */
  EP_START_STATE,  /* the same, by the channels of y, which it hands on from step to step */
  EP_START_ONES    /* ones, and a bias of zeros. A layer may be without either */
} ep_parameter_start;

/* --- what training reads and writes -------------------------------------------------------- */

/* What the backward pass reads of the layer's input x and output y, beside the gradient of y. */
typedef enum {
  EP_READS_NOTHING,
  EP_READS_SIGN, /* the signs of y; with a negative slope below 0, x */
  EP_READS_INPUT,
  EP_READS_OUTPUT,
  EP_READS_BOTH
} ep_reads;

/* Where the forward pass writes. */
typedef enum {
  EP_WRITES_NOTHING, /* y is x */
  EP_WRITES_EACH,    /* in place, value by value */
  EP_WRITES_ROWS,    /* in place, row by row: each value needs its whole row */
  EP_WRITES_APART    /* beside x */
} ep_writes;

/* What the forward pass saves of a row for the backward pass. */
typedef enum {
  EP_SAVED_NOTHING,
  EP_SAVED_INDICES,      /* of the maxima, one for each value of y */
  EP_SAVED_MASK,         /* whether each value was kept; or drawn again (random.h) */
  EP_SAVED_CHANNEL_MASK, /* the same of each channel */
  EP_SAVED_STATISTICS,   /* mean and deviation */
  EP_SAVED_GATES         /* four of each value of y; or computed again */
} ep_saved;

/* --- a row --------------------------------------------------------------------------------- */

typedef struct {
  /* Whether shapes and attributes agree. That x has the shape of what comes before is looked at
   * apart, as are the parameters' places. */
  bool (*fits)(const ep_program *program, const ep_op *op);
  ep_parameter parameters[EP_OP_PARAMETERS]; /* up to the first without a name */
  ep_parameter_start start;
  bool running;    /* it keeps a running mean and variance of its weight's shape */
  bool multiplies; /* each weight, but for biases, is multiplied with a value for each pixel of y */
  int64_t (*operations)(const ep_op *op); /* of a row, forward, without those products */
  double cost; /* a value of y, in values that are written; EP_COST_WINDOW: as many as the window
                  has */
  ep_reads reads;
  ep_writes writes;
  ep_saved saved;
  bool joins; /* it reads two to EP_OP_INPUTS values, others one */
} ep_operator;

#define EP_COST_WINDOW (-1.0)

/* The row of a type: EP_OPERATOR(CODE, fits, PARAMETERS, WORK, MEMORY). */
#define EP_OPERATOR(code, fits_, parameters, work, memory) \
  const ep_operator ep_operator_##code = {.fits = fits_, parameters, work, memory}
#define EP_PARAMETERS(weight_, bias_, start_, running_)                             \
  .parameters = {{"weight", weight_}, {"bias", bias_}}, .start = EP_START_##start_, \
  .running = running_
#define EP_NAMED_PARAMETERS(start_, ...) \
  .parameters = {__VA_ARGS__}, .start = EP_START_##start_, .running = false
#define EP_NO_PARAMETERS EP_NAMED_PARAMETERS(ONES, {NULL, ep_shape_none})
#define EP_WORK(multiplies_, operations_, cost_) \
  .multiplies = multiplies_, .operations = operations_, .cost = cost_
#define EP_MEMORY(reads_, writes_, saved_) \
  .reads = EP_READS_##reads_, .writes = EP_WRITES_##writes_, .saved = EP_SAVED_##saved_
/* The same of what reads several values. */
#define EP_JOINS(reads_, writes_, saved_) EP_MEMORY(reads_, writes_, saved_), .joins = true

const ep_operator *ep_operator_of(ep_layer_type type);

/* The operator that a word of JSON becomes: an add of a residual, itself of most. */
ep_layer_type ep_layer_operator(ep_layer_type word);

/* --- what rows are made of ----------------------------------------------------------------- */

bool ep_fits_same_shape(const ep_program *program, const ep_op *op); /* y's is x's */
bool ep_shapes_same(ep_shape a, ep_shape b);
/* Whether the op reads as many values as its row says, and all come before its own. */
bool ep_fits_inputs(const ep_program *program, const ep_op *op);
/* Whether windows over x leave y. dilates: they have gaps. */
bool ep_fits_windows(const ep_op *op, bool dilates);
/* The same for a pool: padding is half of a window at most, so that each window has a pixel. */
bool ep_fits_pool(const ep_op *op, bool dilates);

ep_parameter_shape ep_shape_none(const ep_op *op);
ep_parameter_shape ep_shape_channels(const ep_op *op); /* [channels of y] */

int64_t ep_operations_none(const ep_op *op);
int64_t ep_operations_each(const ep_op *op);   /* one for each value of y */
int64_t ep_operations_window(const ep_op *op); /* one for each value of its window */
int64_t ep_operations_bias(const ep_op *op);   /* one for each value of y, if there is a bias */
int64_t ep_operations_norm(const ep_op *op);

/* --- what follows from a row --------------------------------------------------------------- */

/* a * b, or INT64_MAX. Both are at least 0. */
static inline int64_t ep_multiply_saturated(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* The row's parameter k, or NULL behind the last. */
const ep_parameter *ep_op_parameter(const ep_op *op, int k);
bool ep_op_parameter_is_bias(const ep_op *op, int k);
/* Values that a layer of this type and shape has as parameter k, saturated at INT64_MAX; of those
 * that this one has: 0 where it is without it. */
int64_t ep_op_parameter_count(const ep_op *op, int k);
int64_t ep_op_own_count(const ep_op *op, int k);
/* Of all its own, and where they begin; -1: it has none. */
int64_t ep_op_parameters(const ep_op *op);
int64_t ep_op_parameters_first(const ep_op *op);

/* The same of the first two, for layers that have a weight, a bias, and nothing else. */
static inline int64_t ep_op_weights(const ep_op *op) {
  return ep_op_parameter_count(op, 0);
}
static inline int64_t ep_op_biases(const ep_op *op) {
  return ep_op_parameter_count(op, 1);
}
static inline int64_t ep_op_own_weights(const ep_op *op) {
  return ep_op_own_count(op, 0);
}
static inline int64_t ep_op_own_biases(const ep_op *op) {
  return ep_op_own_count(op, 1);
}
int64_t ep_op_buffers(const ep_op *op); /* running means, then variances */

/* Whether the training changes the op's parameters; the first op of which it does, or ops_count. */
bool ep_op_learns(const ep_program *program, const ep_op *op);
int ep_program_first_learned(const ep_program *program);

/* Multiply-adds of one row, forward, saturated; 0 for what has no weights to multiply with. */
int64_t ep_op_products(const ep_op *op);

/* The cost of one value of the output, in values that are written: an activation computes, and a
 * function of the library's costs as much as writing several values. */
double ep_op_value_work(const ep_op *op);

/* Values that are saved of a row. */
int64_t ep_op_saved(const ep_op *op);

/* How much of a value must stay as it is until the backward pass of its layer: nothing; its
 * signs alone (where a value was dropped, the gradient is 0 in any case); all. */
typedef enum { EP_KEEP_NOTHING, EP_KEEP_SIGN, EP_KEEP_ALL } ep_keep;

/* Whether the op's forward pass may run in place in training. *kept: how much of its input must
 * stay, in; of its output, out. added: a residual adds the output later. */
bool ep_op_keep(const ep_op *op, bool added, ep_keep *kept);

#endif
