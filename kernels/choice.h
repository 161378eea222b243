/* choice.h: which programs an executor is for, as far as the program alone says. A backend's
 * `accepts` is this and what its device must have; the plan, which has no device, foretells the
 * choice by the same rules. No compute. */
#ifndef EP_KERNELS_CHOICE_H
#define EP_KERNELS_CHOICE_H

#include "kernels/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EP_CHOICE_LAYER(type) (UINT64_C(1) << EP_LAYER_##type)
#define EP_CHOICE_DENSE                                                            \
  (EP_CHOICE_LAYER(LINEAR) | EP_CHOICE_LAYER(RELU) | EP_CHOICE_LAYER(LEAKY_RELU) | \
   EP_CHOICE_LAYER(TANH) | EP_CHOICE_LAYER(SIGMOID) | EP_CHOICE_LAYER(GELU) |      \
   EP_CHOICE_LAYER(SIN) | EP_CHOICE_LAYER(SILU) | EP_CHOICE_LAYER(FLATTEN))

/* One treatment for all parameters, none of them frozen. */
static inline bool ep_program_is_uniform(const ep_program *program) {
  for (int i = 0; i < program->groups_count; i++) {
    const ep_parameter_group *group = &program->groups[i];
    if (group->frozen || group->weight_decay != program->groups[0].weight_decay) return false;
  }
  return true;
}

/* Whether something is learnt at all. */
static inline bool ep_program_trains(const ep_program *program) {
  for (int i = 0; i < program->groups_count; i++)
    if (!program->groups[i].frozen && program->groups[i].count > 0) return true;
  return program->groups_count == 0 && program->parameters > 0;
}

/* Rows of numbers that come as they are stored. */
static inline bool ep_program_takes_plain_rows(const ep_program *program) {
  return program->x_type == EP_X_FLOAT32 &&
         !ep_program_augments(&program->augment, program->stored, program->in);
}

/* --- cpu/fused ----------------------------------------------------------------------------- */

#define EP_CHOICE_FUSED_LAYERS \
  (EP_CHOICE_DENSE | EP_CHOICE_LAYER(SOFTMAX) | EP_CHOICE_LAYER(LOG_SOFTMAX))

/* From here on a layer's products are worth the cutting into tiles for a matrix unit. */
enum {
  EP_CHOICE_TILED_IN_FEATURES = 64,
  EP_CHOICE_TILED_OUT_FEATURES = 32,
  EP_CHOICE_TILED_BATCH_SIZE = 32
};

static inline bool ep_choice_tiled(const ep_program *program, const ep_op *op) {
  return op->type == EP_LAYER_LINEAR && op->in_features >= EP_CHOICE_TILED_IN_FEATURES &&
         op->out_features >= EP_CHOICE_TILED_OUT_FEATURES &&
         program->batch_size >= EP_CHOICE_TILED_BATCH_SIZE;
}

/* On 16 cores a step of 11 million parameters took it 13 ms, and cpu/blocked 155; on one core
 * without AMX it is the other way round, 155 and 77, as weights are read for each chunk of rows. */
enum { EP_CHOICE_FUSED_PARAMETERS = 1 << 24, EP_CHOICE_FUSED_FEATURES = 1 << 14 };

/* Layers whose product, of so many rows, has so many multiply-adds, some 100 us of a core, are
 * shared among threads, which take so many outputs at a time. A matrix unit does twice as many in
 * that time, and the threads' meeting costs it the same: what one of them wrote is in its own
 * cache. (256 by 256 of 128 rows, two threads: 446 us instead of 504 by AVX-512, 424 instead of 340
 * by AMX.) */
enum {
  EP_CHOICE_SHARED_ROWS = 128,
  EP_CHOICE_SHARED_PRODUCTS = 1 << 23,
  EP_CHOICE_SHARED_TILED_PRODUCTS = 3 << 22,
  EP_CHOICE_SHARED_FEATURES = 64
};

/* tiles: whether the processor has a matrix unit. */
static inline bool ep_choice_shared(const ep_program *program, const ep_op *op, bool tiles) {
  bool tiled = tiles && ep_choice_tiled(program, op);
  int64_t least = tiled ? EP_CHOICE_SHARED_TILED_PRODUCTS : EP_CHOICE_SHARED_PRODUCTS;
  int64_t rows = program->batch_size;
  if (rows > EP_CHOICE_SHARED_ROWS) rows = EP_CHOICE_SHARED_ROWS;
  return op->type == EP_LAYER_LINEAR && op->in_features <= EP_CHOICE_FUSED_FEATURES &&
         op->out_features <= EP_CHOICE_FUSED_FEATURES &&
         op->in_features * op->out_features * rows >= least;
}

/* As many threads as there are pieces of the largest side of a shared layer: more would only be
 * waited for. */
static inline int ep_choice_fused_threads(const ep_program *program, bool tiles) {
  int64_t features = 0;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    if (!ep_choice_shared(program, op, tiles)) continue;
    if (op->in_features > features) features = op->in_features;
    if (op->out_features > features) features = op->out_features;
  }
  return 1 + (int)(features / EP_CHOICE_SHARED_FEATURES);
}

static inline bool ep_choice_fused(const ep_program *program) {
  const ep_optimizer *optimizer = &program->optimizer;
  bool loss = program->label_smoothing == 0 && !program->class_weights;
  bool clips = optimizer->clip_norm != 0 || optimizer->clip_value != 0;
  if ((ep_program_needs(program).layers & ~EP_CHOICE_FUSED_LAYERS) != 0 ||
      !ep_program_takes_plain_rows(program) || !loss || clips || !ep_program_is_uniform(program) ||
      program->buffers > 0 || program->parameters > EP_CHOICE_FUSED_PARAMETERS ||
      program->in_features > EP_CHOICE_FUSED_FEATURES)
    return false;
  for (int i = 0; i < program->ops_count; i++)
    if (program->ops[i].out_features > EP_CHOICE_FUSED_FEATURES) return false;
  return true;
}

/* --- CUDA's ---------------------------------------------------------------------------------- */

#define EP_CHOICE_RESIDENT_LAYERS \
  (EP_CHOICE_DENSE | EP_CHOICE_LAYER(ELU) | EP_CHOICE_LAYER(SOFTPLUS))
#define EP_CHOICE_GEMM_LAYERS \
  (EP_CHOICE_RESIDENT_LAYERS | EP_CHOICE_LAYER(SOFTMAX) | EP_CHOICE_LAYER(LOG_SOFTMAX))
#define EP_CHOICE_GRAPH_LAYERS                                                     \
  (EP_CHOICE_GEMM_LAYERS | EP_CHOICE_LAYER(CONV2D) | EP_CHOICE_LAYER(MAX_POOL2D) | \
   EP_CHOICE_LAYER(AVG_POOL2D) | EP_CHOICE_LAYER(DROPOUT) | EP_CHOICE_LAYER(DROPOUT2D))

enum {
  EP_CHOICE_RESIDENT_PARAMETERS = 96, /* weights and sums: 192 of a thread's 255 registers */
  EP_CHOICE_RESIDENT_WIDTHS = 96,     /* what a row holds on its way, in registers as well */
  EP_CHOICE_RESIDENT_ROWS = 32768,    /* the order of an epoch lies in shared memory … */
  EP_CHOICE_RESIDENT_BYTES = 14336    /* … beside what the warps exchange, at most so much */
};

/* The rows lie on the device, in memory that is asked for without a limit; nothing is kept beside
 * the parameters, and no class counts more than another. */
static inline bool ep_program_is_resident(const ep_program *program) {
  return program->data_bytes_max == 0 && program->buffers == 0 && !program->class_weights;
}

/* What cuda/cluster, cuda/crews and cuda/grid ask of a program before they make a plan. */
static inline bool ep_choice_grid_suits(const ep_program *program) {
  bool precise = program->precision == EP_PRECISION_FP32 || program->precision == EP_PRECISION_TF32;
  return precise && ep_program_is_resident(program) && ep_program_takes_plain_rows(program) &&
         program->optimizer.clip_norm == 0;
}

static inline bool ep_choice_cluster_suits(const ep_program *program) {
  return ep_choice_grid_suits(program) && ep_program_trains(program) &&
         (ep_program_needs(program).layers & ~EP_CHOICE_RESIDENT_LAYERS) == 0;
}

/* A GPU, as far as a choice depends on it. */
typedef struct {
  int capability; /* 90 for 9.0 */
  int multiprocessors;
} ep_choice_gpu;

/* How cuda/cluster would go about a step (kernels/cuda/executors/cluster/plan.h): its layers, and
 * cycles that it expects. */
typedef struct {
  double cycles; /* of all; the others are parts of it */
  double layers;
  double products;                 /* with the sums and the update of the weights */
  double slices_given, rows_given; /* what the blocks of a row, and those of all rows, exchange */
} ep_choice_cluster_work;

/* work: written where it takes the program; or NULL. */
bool ep_choice_cluster(const ep_program *program, const ep_choice_gpu *gpu,
                       ep_choice_cluster_work *work);

/* How cuda/crews would go about a step (kernels/cuda/executors/crews/plan.h). */
typedef struct {
  double front, shared; /* layers that each block has whole, and that a crew's blocks share out */
  double weights;       /* floats of weights that a block fetches */
  double state;         /* floats of the optimizer's state beside them */
  double precise;       /* those weights whose products are three */
} ep_choice_crews_work;

/* work: written where it takes the program; or NULL. */
bool ep_choice_crews(const ep_program *program, const ep_choice_gpu *gpu,
                     ep_choice_crews_work *work);

/* How cuda/grid would go about a step (kernels/cuda/executors/grid/plan.h). */
typedef struct {
  bool cluster;      /* few blocks that share their barrier, or all multiprocessors */
  double layers;     /* phases, each with a barrier at its end */
  double front;      /* multiply-adds of a block, one after the other, in the layers at the front */
  double turns;      /* of rows through a layer at the front, one after the other */
  double rounds;     /* of tasks of products, one after the other */
  double moved;      /* floats that a block moves for its tasks */
  double multiplied; /* multiply-adds of a block's tasks */
} ep_choice_grid_work;

/* How cuda/fused would go about a step (kernels/cuda/executors/fused/plan.h). */
typedef struct {
  double cycles;   /* that a step is expected to take */
  double turns;    /* of tiles of rows through a layer, one after the other */
  double products; /* multiply-adds of a block, as dear as the precision makes them */
  double rows;     /* that a block takes, one tile after the other */
} ep_choice_narrow_work;

/* Clusters of blocks that have 227 KiB of shared memory each: what capability 12 lacks again. */
static inline bool ep_choice_has_large_blocks(int capability) {
  return capability >= 90 && capability < 120;
}

/* Bytes of shared memory that a block may ask for, but for what a kernel has besides. */
int64_t ep_choice_shared_bytes(int capability);

/* kernels/cuda/choice.c. */
bool ep_choice_resident(const ep_program *program, const ep_choice_gpu *gpu);
/* work: written where it takes the program. */
bool ep_choice_grid(const ep_program *program, const ep_choice_gpu *gpu, ep_choice_grid_work *work);
/* cuda/fused. work: written, zero where there is no way to run the program. */
bool ep_choice_narrow(const ep_program *program, const ep_choice_gpu *gpu,
                      ep_choice_narrow_work *work);
/* cuda/graph. */
bool ep_choice_graph(const ep_program *program, const ep_choice_gpu *gpu);
/* cuda/images, where cuDNN is installed. */
bool ep_choice_images(const ep_program *program, const ep_choice_gpu *gpu);
/* cuda/gemm. */
bool ep_choice_gemm(const ep_program *program, const ep_choice_gpu *gpu);

#ifdef __cplusplus
}
#endif
#endif
