/* program.h: what to train, as a compute backend sees it: flat, with shapes and offsets.
 *
 * The engine lowers a job to a program; a backend compiles it. A program says nothing of files,
 * splits, names or units: x and y arrive ready (standardized, float32). */
#ifndef EP_KERNELS_PROGRAM_H
#define EP_KERNELS_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"
#include "kernels/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The formulas, and the slots of state that each keeps, are those of kernels/formulas/optimizers.h.
 */
typedef struct {
  ep_optimizer_type type;
  float momentum;
  bool nesterov;
  float beta1, beta2; /* adam, adamw, lion, nadam, adamax */
  float alpha;        /* rmsprop */
  float eps;
  bool centered;   /* rmsprop */
  float decay;     /* adagrad: lr_decay, nadam: momentum_decay */
  float clip_norm; /* gradients are scaled to at most this norm, over all; 0 = not. First this … */
  float clip_value; /* … then each is cut to ±this; 0 = not */
} ep_optimizer;

/* Parameters that are treated alike: ranges in order, covering all. */
typedef struct {
  int64_t first, count;
  float weight_decay;
  bool frozen; /* neither changed nor counted in the gradient's norm */
} ep_parameter_group;

/* How x is stored. Bytes stay bytes on the device, and become (byte * scale + shift) by channel
 * where they are used. */
typedef enum { EP_X_FLOAT32, EP_X_UINT8 } ep_x_type;

/* What happens to a training row on its way into a batch, drawn by random.h's (seed, AUGMENT,
 * epoch, row's index in the training set): word 0 and 1 give the shift down and right, uniform in
 * -shift … shift (what comes in is 0 in the stored type); word 2's lowest bit mirrors left and
 * right; word 3's halves (high: down) place the crop. Evaluation takes the middle. In this order:
 * shift, flip, crop. */
typedef struct {
  int shift;
  bool flip;
} ep_augment;

/* One training on several ranks: `data` replicas of the network, each of which has a slice of every
 * batch, of `model` stages, each of which has some of the layers. Rank d * model + m is stage m of
 * replica d. Replica d of a batch of n rows has rows n d / data … n (d + 1) / data - 1 of it; its
 * slice goes through the stages in `micro_batches` pieces, cut the same way. Rows, masks and the
 * mean loss are those of the whole batch, on however many ranks. batch_norm sees a micro-batch, of
 * one replica unless it is to sync. */
typedef struct {
  int data, model;                     /* 0 stands for 1 */
  int micro_batches;                   /* 0 stands for 1 */
  int stage_first[EP_LIMIT_RANKS + 1]; /* the op that each stage begins with; [model] is ops_count.
                                          No residual's block is cut */
  int devices_count;          /* GPUs that the ranks fill one after another; 0 stands for 1 */
  int device[EP_LIMIT_RANKS]; /* [devices_count], the first of them the backend's own; the
                                 numbers say nothing about the course of the training */
} ep_parallel;

typedef struct {
  const ep_op *ops; /* [ops_count], lent for the life of the program, as all arrays here */
  int ops_count;
  ep_shape stored;      /* a row of x as it is stored; greater than `in` only where it is cropped */
  ep_shape in;          /* a row of x as the first layer gets it */
  int64_t in_features;  /* its count */
  int64_t out_features; /* columns of the network's output */
  int64_t target_columns; /* of y; equals out_features unless the loss takes classes: then 1 */
  int64_t parameters;     /* floats in all; weight, then bias, layer by layer, without gaps */
  int64_t buffers; /* floats of running statistics: they follow the parameters in all states */
  const ep_parameter_group *groups; /* [groups_count] */
  int groups_count;
  ep_loss_type loss;     /* mean over rows and columns (torch's reduction="mean") */
  float loss_parameter;  /* huber: delta, quantile: q, focal: gamma, bce: pos_weight */
  float label_smoothing; /* cross_entropy */
  const float
      *class_weights; /* of a loss of classes: [out_features]; NULL = all 1. The mean is weighted */
  ep_optimizer optimizer;
  int64_t optimizer_floats; /* floats of optimizer state: slots * parameters */
  int64_t train_rows;
  int64_t batch_size; /* 1 … train_rows; the last batch of an epoch may be smaller, and is kept */
  int64_t
      max_predict_rows; /* the most rows of one evaluate or predict that are worth doing at once */
  ep_x_type x_type;
  const float *x_scale, *x_shift; /* [stored.channels]; NULL unless x_type is bytes */
  ep_augment augment;
  bool shuffle; /* row i of epoch e is element i of the permutation (seed, SHUFFLE, e); random.h */
  uint64_t seed;
  int64_t data_bytes_max;   /* device memory that the training rows may take; more are streamed from
                               the host beside the computation. 0 = what is free */
  int64_t memory_bytes_max; /* of the host, that a network on the CPU may take; 0 = the machine's */
  ep_precision precision;
  ep_parallel parallel;
} ep_program;

/* Element `element` (0 … elements of the batch - 1: row in the batch * features + feature, or, for
 * dropout2d, row * channels + channel) of the dropout mask of layer `op->layer` in step `step` is
 * kept when word element % 4 of random.h's (seed, DROPOUT, step, layer << 40 | element / 4), as a
 * float in [0, 1), is at least p. */

/* Each parameter's weight decay, negative for the frozen ones. decay: [parameters], written. */
static inline void ep_program_decay(const ep_program *program, float *decay) {
  for (int64_t i = 0; i < program->parameters; i++) decay[i] = 0;
  for (int g = 0; g < program->groups_count; g++) {
    const ep_parameter_group *group = &program->groups[g];
    for (int64_t i = group->first; i < group->first + group->count; i++)
      decay[i] = group->frozen ? -1 : group->weight_decay;
  }
}

/* That of the parameter at an offset; 0 for an offset that is none. */
static inline float ep_program_decay_at(const ep_program *program, int64_t offset) {
  for (int g = 0; offset >= 0 && g < program->groups_count; g++) {
    const ep_parameter_group *group = &program->groups[g];
    if (offset >= group->first && offset < group->first + group->count)
      return group->frozen ? -1 : group->weight_decay;
  }
  return 0;
}

/* Whether rows are drawn in an order of their own: a batch that holds all rows keeps the order of
 * the data, in every executor, so that a row has the same dropout mask in all of them. */
static inline bool ep_program_shuffles(const ep_program *program) {
  return program->shuffle && program->batch_size < program->train_rows;
}

/* Whether a program's training rows differ from its evaluation's. */
static inline bool ep_program_augments(const ep_augment *augment, ep_shape stored, ep_shape in) {
  return augment->shift != 0 || augment->flip || stored.height != in.height ||
         stored.width != in.width;
}

/* Whether all parameters are treated alike, and none of them is frozen. */
static inline bool ep_program_is_uniform(const ep_program *program) {
  for (int i = 0; i < program->groups_count; i++) {
    const ep_parameter_group *group = &program->groups[i];
    if (group->frozen || group->weight_decay != program->groups[0].weight_decay) return false;
  }
  return true;
}

/* Whether the training changes any of `count` parameters from `first` on. */
static inline bool ep_program_learns(const ep_program *program, int64_t first, int64_t count) {
  for (int i = 0; i < program->groups_count; i++) {
    const ep_parameter_group *group = &program->groups[i];
    if (!group->frozen && group->count > 0 && group->first < first + count &&
        first < group->first + group->count)
      return true;
  }
  return program->groups_count == 0 && count > 0;
}

/* Whether the training changes any parameter. */
static inline bool ep_program_trains(const ep_program *program) {
  return ep_program_learns(program, 0, program->parameters);
}

/* Whether rows enter the network as they are stored: numbers, not bytes, and none that change on
 * their way. */
static inline bool ep_program_takes_plain_rows(const ep_program *program) {
  return program->x_type == EP_X_FLOAT32 &&
         !ep_program_augments(&program->augment, program->stored, program->in);
}

/* Whether a device may hold the rows as the network takes them: plain rows, and bytes that become
 * numbers once, when they are loaded. */
static inline bool ep_program_takes_numbers(const ep_program *program) {
  return ep_program_takes_plain_rows(program) ||
         (program->x_type == EP_X_UINT8 &&
          !ep_program_augments(&program->augment, program->stored, program->in) &&
          program->train_rows <=
              EP_LIMIT_NUMBERS_BYTES / (program->in_features * (int64_t)sizeof(float)));
}

/* Whether the rows lie on the device, with no limit of memory, nothing is kept beside the
 * parameters, and no class counts more than another. */
static inline bool ep_program_is_resident(const ep_program *program) {
  return program->data_bytes_max == 0 && program->buffers == 0 && !program->class_weights;
}

static inline int ep_program_replicas(const ep_program *program) {
  return program->parallel.data > 1 ? program->parallel.data : 1;
}

static inline int ep_program_stages(const ep_program *program) {
  return program->parallel.model > 1 ? program->parallel.model : 1;
}

static inline int ep_program_ranks(const ep_program *program) {
  return ep_program_replicas(program) * ep_program_stages(program);
}

/* The first of `rows` rows that piece `number` of `pieces` has; that of `pieces` is `rows`. */
static inline int64_t ep_piece_first(int64_t rows, int number, int pieces) {
  return rows * number / pieces;
}

static inline int64_t ep_program_state_floats(const ep_program *program) {
  return program->parameters + program->buffers;
}

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
