/* plan.h: how cuda/persistent runs a program. A network is a line of stages: a core, which is a
 * linear layer, a norm or, at the beginning, an embedding, and its tail, the activations and
 * dropouts behind it. The plan says into how many groups a batch's rows are cut, and a group's into
 * micro-batches; into how many slices the features of wide values; what each block has of each
 * stage, what lies where in shared memory, and which words blocks exchange. Plain C, linked into
 * epochd. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_PLAN_H
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_PLAN_H

#include "kernels/cuda/executors/persistent/args.h"
#include "kernels/cuda/runtime/codegen.h"
#include "kernels/plans/profile.h"

extern const ep_executor_profile ep_cuda_persistent_profile;

enum { EP_PERSISTENT_TAILS_MAX = 8 };

/* How the blocks of a group of rows share a linear layer, after M. Shoeybi et al., "Megatron-LM"
 * (2019). The value that it makes is sliced with COLUMN and ROW_SLICED; the others leave it whole
 * in every block. ROW… take a sliced value, the others a whole one. */
typedef enum {
  EP_PERSISTENT_WHOLE,        /* every block computes all of it */
  EP_PERSISTENT_COLUMN,       /* a block has some outputs */
  EP_PERSISTENT_ROW_SLICED,   /* a block has some inputs; each sums up some outputs */
  EP_PERSISTENT_ROW_ALL,      /* each sums up all of them */
  EP_PERSISTENT_ROW_GATHERED, /* each sums up some, which all gather */
  EP_PERSISTENT_MODES
} ep_persistent_mode;

/* Tiles of 16 outputs by eight rows of a product: `fragments` a warp at a time, shared by `splits`
 * warps; for a gradient, `fragments` of eight outputs, by one. */
typedef struct {
  int fragments, splits;
} ep_persistent_tiling;

/* Places are words of shared memory, given_… words of the exchange; -1: none. Counts of features
 * are those that a block has room for. */
typedef struct {
  const ep_op *core; /* the program's, as those of the tail */
  const ep_op *tail[EP_PERSISTENT_TAILS_MAX];
  int tails, dropouts;
  int in, out;
  ep_persistent_mode mode; /* of a linear layer */
  bool sliced_in, sliced;  /* what it takes, what it makes */
  bool back_by_all;        /* a sum of its input's gradient is every block's */
  bool in_place;           /* its gradient takes the place of its value */
  int slice;               /* features of its value that a block has */
  int inputs, outputs;     /* of its weight that a block has */
  int line;                /* words from one input's weights to the next one's */
  int share, share_back;   /* outputs, inputs that a block sums up */
  ep_persistent_tiling forward, backward, gradient;
  int segment, bias_word, segment_words; /* its parameters */
  int state;                             /* the first of its words of a thread's state */
  int value, grad, full_value, full_grad, normal, inverse, running, masks;
  int scores;    /* float32, of classes: the last stage's, until their gradient is there */
  int grad_line; /* an embedding's: words from one row's gradient to the next one's */
  int given_sums, given_all, given_value, given_back, given_back_all, given_grad, given_statistics;
} ep_persistent_stage;

/* The blocks that have an embedding's table between them, where no other has it (shards.cuh). */
typedef struct {
  int blocks;               /* 0: each block has all of the table */
  int words;                /* that one has room for */
  int listed;               /* cells of a batch that a warp looks through */
  int cells, counts, order; /* places in one's shared memory, behind its words */
  int given_vectors, given_vector_grads;
  int ends_counter; /* place in the exchange */
} ep_persistent_shards;

/* How shared memory is saved, at some time each. */
typedef enum {
  EP_PERSISTENT_SPENDS,    /* not */
  EP_PERSISTENT_IN_PLACE,  /* where a gradient may take the place of a value, it does */
  EP_PERSISTENT_REGATHERS, /* besides, a whole value is gathered again for the backward pass */
  EP_PERSISTENT_THRIFTS
} ep_persistent_thrift;

typedef struct {
  int stages_count;
  int memory_words_max; /* of a block of the GPU */
  bool has_clusters;    /* the GPU, of blocks with as much memory */
  bool half;            /* values and gradients of rows are bfloat16, else float32 */
  int groups, slices, warps;
  int micro_batches;        /* of a group in a step, one after the other */
  int rows, row_line;       /* of one of them; words from a feature to the next */
  int row_words;            /* of a row of the training set, as args.h has it */
  int input_line, targets;  /* of a row of the input; where its targets begin */
  int input, input_buffers; /* buffers: 2 where the next rows are fetched early */
  int order, permutation, metrics, gradient, scratch, memory_words;
  int vector_words, chunk; /* of all segments; of what a group updates for the others */
  int given_gradients, given_words;
  bool clustered; /* groups are the blocks of a cluster, each with an exchange in shared memory */
  int exchange;   /* where it lies */
  int64_t rows_half, words_half; /* of it: of a micro-batch's parity, of a step's */
  int64_t exchange_words;        /* in device memory */
  int reporters;                 /* blocks that have a part of the loss */
  bool helper;                   /* a warp more prepares what the next micro-batches take */
  ep_persistent_shards shards;
  int idle_stage; /* that other work is done in the forward wait of; -1: none waits */
  int state_words;
  ep_persistent_thrift thrift;
  double cycles; /* expected of a step */
  ep_persistent_stage stages[EP_PERSISTENT_STAGES_MAX];
} ep_persistent_plan;

/* The plan that is expected to be the fastest. false: not a program for this executor. */
bool ep_persistent_plan_make(const ep_program *program, const ep_gpu_traits *gpu,
                             ep_persistent_plan *out);

/* The same without a cluster: for a GPU that has no room for one. */
bool ep_persistent_plan_apart(const ep_program *program, const ep_gpu_traits *gpu,
                              ep_persistent_plan *out);

/* The parts of a batch and of a block. shards: of an embedding's table, for one micro-batch alone;
 * 0: each block has all of it. */
typedef struct {
  int groups, micro_batches, slices, warps, shards;
} ep_persistent_shape;

/* The best of a shape, which has as many groups as there are rows for. variant: 0, or the number of
 * one whose modes are taken by chance, for tests. */
bool ep_persistent_plan_shape(const ep_program *program, const ep_gpu_traits *gpu,
                              const ep_persistent_shape *shape, unsigned variant,
                              ep_persistent_plan *out);

/* --- what follows from the modes ------------------------------------------------------------- */

static inline bool ep_persistent_is_linear(const ep_persistent_stage *stage) {
  return stage->core->type == EP_LAYER_LINEAR;
}
static inline bool ep_persistent_is_embedding(const ep_persistent_stage *stage) {
  return stage->core->type == EP_LAYER_EMBEDDING;
}
static inline bool ep_persistent_normalizes(ep_layer_type type) {
  return type == EP_LAYER_BATCH_NORM || type == EP_LAYER_LAYER_NORM;
}
static inline bool ep_persistent_is_norm(const ep_persistent_stage *stage) {
  return ep_persistent_normalizes(stage->core->type);
}

/* Whether other blocks have its table. */
static inline bool ep_persistent_is_sharded(const ep_persistent_plan *plan, int i) {
  return plan->shards.blocks > 0 && ep_persistent_is_embedding(&plan->stages[i]);
}

/* What the kernel computes of the last stage's value: a log_softmax in front of nll belongs to it.
 */
static inline ep_loss_type ep_persistent_loss(const ep_program *program) {
  const bool normalizes = program->ops[program->ops_count - 1].type == EP_LAYER_LOG_SOFTMAX;
  return normalizes && program->loss == EP_LOSS_NLL ? EP_LOSS_CROSS_ENTROPY : program->loss;
}

/* Words that a block of rows has of its weight. */
static inline int64_t ep_persistent_weight_words(const ep_persistent_plan *plan,
                                                 const ep_persistent_stage *stage) {
  if (ep_persistent_is_embedding(stage))
    return plan->shards.blocks > 0 ? 0 : stage->core->embeddings * ep_op_dimension(stage->core);
  return ep_persistent_is_linear(stage) ? (int64_t)stage->inputs * stage->line : stage->slice;
}

/* Of the launch. */
static inline int ep_persistent_blocks(const ep_persistent_plan *plan) {
  return plan->groups * plan->slices + plan->shards.blocks;
}

/* Vectors of an embedding are exchanged in so many pieces. */
static inline int ep_persistent_pieces(const ep_persistent_stage *stage) {
  return ((int)ep_op_dimension(stage->core) + EP_PERSISTENT_PIECE - 1) / EP_PERSISTENT_PIECE;
}

/* Warps of a block, with that of a helper. */
static inline int ep_persistent_warps(const ep_persistent_plan *plan) {
  return plan->warps + plan->helper;
}

/* Whether each micro-batch has the same rows. */
static inline bool ep_persistent_rows_stay(const ep_program *program,
                                           const ep_persistent_plan *plan) {
  return program->batch_size == program->train_rows && plan->micro_batches == 1;
}

/* A row mode. */
static inline bool ep_persistent_takes_slice(const ep_persistent_stage *stage) {
  return ep_persistent_is_linear(stage) && stage->mode >= EP_PERSISTENT_ROW_SLICED;
}

/* Whether its value, its gradient is gathered from all slices. */
static inline bool ep_persistent_gathers_value(const ep_persistent_plan *plan, int i) {
  if (i + 1 >= plan->stages_count || !plan->stages[i].sliced) return false;
  const ep_persistent_stage *next = &plan->stages[i + 1];
  return ep_persistent_is_linear(next) && !ep_persistent_takes_slice(next);
}

static inline bool ep_persistent_gathers_grad(const ep_persistent_plan *plan, int i) {
  return ep_persistent_is_linear(&plan->stages[i]) &&
         plan->stages[i].mode == EP_PERSISTENT_ROW_SLICED;
}

/* Whether what stage i takes is gathered again in the backward pass: the last that was gathered is
 * there. */
static inline bool ep_persistent_regathers(const ep_persistent_plan *plan, int i) {
  if (plan->thrift != EP_PERSISTENT_REGATHERS || i == 0 ||
      !ep_persistent_gathers_value(plan, i - 1))
    return false;
  for (int later = i; later < plan->stages_count; later++)
    if (ep_persistent_gathers_value(plan, later)) return true;
  return false;
}

/* Words of the two numbers that blocks exchange for a norm, in each direction: of a feature,
 * between groups; of a row, between slices. 0: none. */
static inline int64_t ep_persistent_norm_words(const ep_persistent_plan *plan,
                                               const ep_persistent_stage *stage) {
  const int64_t groups = plan->groups, slices = plan->slices;
  if (!ep_persistent_is_norm(stage)) return 0;
  if (stage->core->type == EP_LAYER_LAYER_NORM)
    return stage->sliced ? groups * slices * plan->rows * 2 : 0;
  return groups > 1 ? slices * stage->slice * groups * 2 : 0;
}

/* Whether groups can be the blocks of a cluster. */
static inline bool ep_persistent_fits_cluster(const ep_persistent_plan *plan) {
  return plan->has_clusters && plan->slices == 1 && plan->groups > 1 && plan->shards.blocks == 0 &&
         plan->groups <= EP_GPU_CLUSTER_BLOCKS_MAX;
}

/* Whether the gradient by its input is summed over slices. */
static inline bool ep_persistent_sums_back(const ep_persistent_plan *plan, int i) {
  return i > 0 && plan->slices > 1 && ep_persistent_is_linear(&plan->stages[i]) &&
         plan->stages[i].mode == EP_PERSISTENT_COLUMN;
}

/* The weight decays of each stage's weight and bias, as args.h has them. decay: written. */
void ep_persistent_decays(const ep_program *program, const ep_persistent_plan *plan,
                          float decay[][2]);

/* args.h's table of what words are. out: [slices, vector_words], written. */
void ep_persistent_places(const ep_program *program, const ep_persistent_plan *plan, int32_t *out);

/* --- parts of it ----------------------------------------------------------------------------- */

/* The program's ops as stages, into `plan`, whole. */
bool ep_persistent_stages_make(const ep_program *program, ep_persistent_plan *plan);

/* Chooses the modes for the plan's groups, slices and warps, and the cycles that they take. price:
 * cycles that a word of shared memory counts as; variant: of
 * ep_persistent_plan_shape. false: there are none. */
bool ep_persistent_modes_choose(const ep_program *program, ep_persistent_plan *plan, double price,
                                unsigned variant);

/* Places everything in shared memory, registers and the exchange. false: it does not fit. */
bool ep_persistent_memory_place(const ep_program *program, ep_persistent_plan *plan,
                                ep_persistent_thrift thrift);

/* What a block has of stage i with its modes, and how its products are tiled. */
void ep_persistent_stage_cut(ep_persistent_plan *plan, int i);

/* Cycles of the products, updates and exchanges of a stage, in a step. */
double ep_persistent_stage_cycles(const ep_program *program, const ep_persistent_plan *plan, int i);
/* Those of a step beside its stages. */
double ep_persistent_step_cycles(const ep_program *program, const ep_persistent_plan *plan);
/* What saving memory costs, once everything has its place, and an exchange beyond the L2 cache. */
double ep_persistent_thrift_cycles(const ep_program *program, const ep_persistent_plan *plan);
/* The fastest tilings of a product [outputs, inputs] x [inputs, rows], of a gradient. */
ep_persistent_tiling ep_persistent_tile(const ep_persistent_plan *plan, int outputs, int inputs);
ep_persistent_tiling ep_persistent_tile_gradient(const ep_persistent_plan *plan, int inputs,
                                                 int outputs);

static inline int ep_persistent_up(int count, int multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

/* Terms of a product by tensor cores: what is behind the last one is zero. */
static inline int ep_persistent_terms(const ep_persistent_plan *plan) {
  return plan->half ? 16 : 8;
}
static inline int ep_persistent_parts(int count, int each) {
  return (count + each - 1) / each;
}

/* A part of the exchange, and the byte that it is filled with before a launch: its words have not
 * arrived (tagged.cuh). */
typedef struct {
  int64_t at, words;
  int byte;
} ep_persistent_fill;

enum { EP_PERSISTENT_FILLS = 5 };
void ep_persistent_fills(const ep_persistent_plan *plan, int64_t first_step,
                         ep_persistent_fill out[EP_PERSISTENT_FILLS]);

enum { EP_PERSISTENT_SCRATCH_WORDS = 10240 }; /* for the splits of a product */

/* --- the kernel's source --------------------------------------------------------------------- */

/* As codegen.h says: the caller's to free; NULL when memory is short. */
char *ep_persistent_codegen(const ep_program *program, const ep_persistent_plan *plan);

/* The same for the plan that a GPU has; NULL as well when the program is none for it. */
char *ep_cuda_persistent_source(const ep_program *program, const ep_gpu_traits *gpu);

#endif
