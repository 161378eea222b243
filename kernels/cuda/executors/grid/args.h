/* args.h: what a launch of cuda/grid's kernel is given, and how it cuts its work: the host's side
 * (plan.c) and the kernel's share it. All pointers are device memory. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_ARGS_H
#define EP_KERNELS_CUDA_EXECUTORS_GRID_ARGS_H

#include "kernels/formulas/optimizers.h"
#include "kernels/plans/gpu_traits.h"

enum {
  EP_GRID_THREADS = 256,
  EP_GRID_LAYERS_MAX = 24,
  EP_GRID_OUTPUTS_MAX = 32,                               /* of the last layer: one a lane */
  EP_GRID_SHARED_BYTES = EP_GPU_LARGE_BLOCK_BYTES - 2048, /* but for what the kernel declares */
  EP_GRID_NARROW = 64, /* features that a warp takes a row through by itself */
  EP_GRID_NARROW_LINE = EP_GRID_NARROW + 4,
  EP_GRID_LINE = 32, /* words of a cache line */
  EP_GRID_PHASES_MAX = 2 * EP_GRID_LAYERS_MAX + 2,
  EP_GRID_BARRIERS = (EP_GRID_PHASES_MAX + 5) * EP_GRID_LINE, /* words: a line a meeting */
  EP_GRID_GROUP = 8,        /* rows that a block takes through the front layers, or twice as many */
  EP_GRID_CHAIN_WIDTH = 64, /* features of layers that one block takes all rows through, and … */
  EP_GRID_CHAIN_ROWS = 128, /* … these rows at most: 16 a warp */
  EP_GRID_CHAIN_TABLES = 896, /* floats: what lies where, and the pieces of its update */
  /* Floats behind all: a piece of weights that nobody wants, and what a product reads in vain. */
  EP_GRID_CHAIN_SPARE = 16 * 40 + 16 + 32 * 24 + 128
};

/* What blocks arrive at and await: counters, each in a line of its own. */
typedef enum {
  EP_GRID_BARRIER, /* of all blocks that have wide layers, once a step; or of all blocks */
  EP_GRID_FRONT,   /* a chained front's outputs; or the barrier of the blocks that have the front */
  EP_GRID_GIVEN,   /* the gradient by a chained front's outputs */
  EP_GRID_MIDDLE,  /* of the blocks that have the middle layers, once a step */
  EP_GRID_NONE,
  EP_GRID_PHASE /* and what follows: of the blocks that have a task of that phase */
} ep_grid_meeting;

/* What the blocks that have wide layers do in a step, where they are all blocks or all but the one
 * that has the front: a row of phases. A block fetches weights, awaits, does its tasks, arrives if
 * it had one, and then updates layers, for which nobody waits in this step: least of all the phases
 * to come, which await those alone that have tasks.
 *
 * Where the last layers take long to update, the middle ones, behind a chained front, are of few
 * blocks: these are on their way back, and forward again in the next step, while the others update
 * what is behind. */
typedef enum {
  EP_GRID_ROWS,        /* takes the batch's rows */
  EP_GRID_FORWARD,     /* layer `layer`, from the layer before */
  EP_GRID_OUTPUT_LOSS, /* the last layer, the loss, and the gradient by its input */
  EP_GRID_BACKWARD,    /* the gradient by the input of `layer`, from that by its output */
  EP_GRID_UPDATES      /* nothing but updates, before it arrives */
} ep_grid_work;

typedef struct {
  uint8_t work, layer;
  uint8_t begins; /* ep_grid_meeting before the weights are fetched, … */
  uint8_t awaits; /* … and before all else is */
  uint8_t arrives;
  uint16_t tasks;                  /* blocks below this one have a task */
  uint16_t update_from, update_to; /* blocks from the one up to the other update … */
  uint32_t updates;                /* … layers, a bit each, from the last downward */
} ep_grid_phase;

/* Tiles of a product: outputs (or inputs) by rows by what is summed in one stage. The weights'
 * gradient: outputs by inputs by rows. */
enum {
  EP_GRID_LARGE_M = 128, /* in float32, and of panels; else … */
  EP_GRID_WIDE_M = 64,   /* … with more terms, since exchanging sums costs more than they do */
  EP_GRID_LARGE_N = 104,
  EP_GRID_LARGE_K = 64,
  EP_GRID_SMALL_M = 32,
  EP_GRID_SMALL_N = 32,
  EP_GRID_SMALL_K = 128,
  EP_GRID_WEIGHTS_LARGE_M = 128,
  EP_GRID_WEIGHTS_LARGE_N = 128,
  EP_GRID_WEIGHTS_SMALL_M = 32,
  EP_GRID_WEIGHTS_SMALL_N = 64,
  EP_GRID_WEIGHTS_K = 32,
  EP_GRID_STAGES = 4,
  EP_GRID_LINE_STAGES = 9, /* of a product by warpgroups: lines on their way, or multiplied */
  EP_GRID_PANEL_SLOTS = 2, /* numbers that an optimizer may keep of a weight in panels.cuh */
  EP_GRID_PANEL_BARRIERS = 9,
  EP_GRID_STATE = 1792, /* floats of shared memory before all: arguments, and the step at hand */
  /* Floats of shared memory that any product takes, and that the small weights' one takes. */
  EP_GRID_AREA = 2 * (EP_GRID_LARGE_M + EP_GRID_LARGE_N) * (EP_GRID_LARGE_K + 16),
  EP_GRID_WIDE_AREA = EP_GRID_AREA + EP_GRID_LARGE_N * (EP_GRID_LARGE_M + 8) + 192,
  /* The half of a tile's sums that a block is sent by its neighbour (exchange.cuh). */
  EP_GRID_PAIR_ROWS = (EP_GRID_LARGE_N / 8 + 1) / 2 * 8,
  EP_GRID_PAIR_AREA = EP_GRID_PAIR_ROWS * EP_GRID_WIDE_M,
  /* Tiles that a block takes with all terms (whole.cuh): 32 or 64 outputs by rows, and lines of
   * terms that one copy brings of either. */
  EP_GRID_WHOLE_M = 32,
  EP_GRID_WHOLE_N = 32,
  EP_GRID_WHOLE_LINES = 8,
  EP_GRID_PARTS = 8, /* fours that a thread of the last layer asks for at once */
  EP_GRID_WEIGHTS_SMALL_AREA = EP_GRID_STAGES * EP_GRID_WEIGHTS_K *
                                   (EP_GRID_WEIGHTS_SMALL_M + EP_GRID_WEIGHTS_SMALL_N + 16) +
                               EP_GRID_WEIGHTS_SMALL_M * EP_GRID_WEIGHTS_SMALL_N
};

/* A product, cut into tasks of a block each: `down` by `across` tiles, and each sum into `splits`
 * parts of `chunk` terms, whose blocks meet at a counter of their own. */
typedef struct {
  uint16_t large, across, down, splits;
  uint16_t whole_m;        /* of a tile, where whole.cuh has the product, a task a block; or 0 */
  uint16_t left_in_parts;  /* no meeting, and no end: the last layer adds up a row's parts */
  int32_t chunk, counters; /* the first counter */
} ep_grid_cut;

/* A linear layer and the activation behind it. Activations and gradients have rows of `stride`
 * floats, a multiple of four, zero behind the last. */
typedef struct {
  int32_t in, out, stride;
  int32_t image, image_stride; /* front layers: in the image: weights [out, image_stride], biases */
  int64_t mirror; /* in the scratch: the same, where products cannot read the parameters; or -1 */
  int32_t slopes; /* front layers: in shared memory; chained, gradients take their place, and the
                     layer's input lies before them */
  int64_t weight, bias; /* bias: -1 for none */
  int64_t after;        /* in the scratch: outputs */
  int64_t grad;         /* in the scratch: the activation's slopes, then the gradients */
  int64_t partials;     /* in the scratch: the weights' */
  int32_t activation;   /* ep_layer_type, or -1 */
  float negative_slope, alpha, beta, threshold;
  float weight_decay, bias_decay; /* negative: frozen */
  ep_grid_cut forward, backward, update;
  int32_t forward_blocks, backward_blocks; /* that take its products: few, or all workers */
  ep_grid_cut panels; /* of an update as panels.cuh does it; no splits: it does not */
  int64_t turned;     /* in the scratch: its inputs as panels have them (offsets.h); or -1, and each
                         panel turns its own */
  int32_t turned_by;  /* the first of the blocks that turn one each, beside the last layer */
} ep_grid_layer;

typedef struct ep_grid_tensor_maps ep_grid_tensor_maps; /* tensor_maps.h */

typedef struct {
  int64_t first_step, steps;
  const float *x;    /* [train_rows, in_features] */
  const float *y;    /* [train_rows, target_columns]; int32 [train_rows] of classes */
  float *parameters; /* [parameters] */
  float *state;      /* [slots, state_stride] */
  float *scratch;    /* zero when the executor was made */
  unsigned *barrier; /* [EP_GRID_BARRIERS], zero at the launch, as the counters behind it */
  /* [layers], of those whose products warpgroups take; NULL: of none */
  const ep_grid_tensor_maps *tensor_maps;
  const float *lr; /* [lr_count]: 1 or steps */
  int64_t lr_count;
  const ep_optimizer_step *update; /* [steps]; NULL where a step's rates are its lr alone */
  float *loss;                     /* [steps], written */
  int32_t *errors;                 /* [steps], written */
  uint64_t seed;
  ep_optimizer optimizer;
  ep_optimizer_step first_update; /* of step 1, but for its lr: what plain rates have in all */
  float loss_parameter, label_smoothing;
  int32_t loss_type;
  /* What plan.c decides. */
  int64_t train_rows, batch_rows, steps_per_epoch;
  int64_t state_stride; /* floats from one slot to the next: fours of each begin on 16 bytes */
  int32_t targets, slots;
  bool shuffles, takes_classes, plain_rate;
  bool cluster;       /* the blocks are one cluster; else they meet at the barrier in memory */
  bool precise;       /* three TF32 products instead of one */
  bool paired;        /* the blocks are clusters of two, which add up sums between them */
  bool chained;       /* the last block has the front, with all rows; the others have the rest */
  int32_t workers;    /* blocks that have wide layers: all, or all but that one */
  int32_t given;      /* chained: blocks that arrive at EP_GRID_GIVEN */
  int32_t chain_rows; /* chained: of a batch, in sixteens */
  int32_t chain_room; /* chained: that there is room for: of a warp that has no rows, 16 more */
  int32_t chain_end;  /* chained: floats of shared memory */
  int64_t front_turn; /* chained: from the front's outputs to where those of the next step lie */
  int64_t front_sums; /* chained, in the scratch: the gradient by the front's parameters, where
                         they lie among all */
  int64_t front_grad; /* chained, in the scratch: the gradient by them, as the front has it, in
                         blocks of eight rows by eight features */
  int32_t tiles;      /* groups of eight rows that a block takes through the front layers at once */
  int32_t layers_count;
  int32_t front;         /* layers at the front: all, or not the last */
  int32_t middle;        /* the layers from there up to this one are the middle ones; 0: none are */
  int32_t middle_blocks; /* the first workers, who have them; or 0 */
  int32_t narrow;        /* of these, the first, that are narrow, but for the last layer */
  int32_t front_blocks;  /* that have them, where there are others; all, or less than half */
  int32_t image_floats;  /* of the front layers' weights as they lie in shared memory */
  int64_t image, rows, partials; /* in the scratch; rows: loss and errors, [2, batch rows] */
  int64_t order;  /* in the scratch: rows of the training set, int32 [2, train rows], if shuffled */
  int64_t inputs; /* in the scratch: the batch's rows [batch rows, inputs_stride] */
  int32_t inputs_stride;
  /* In shared memory, in floats: the image, activations of a group [2, …], narrow ones
   * [rows, 2, EP_GRID_NARROW_LINE], sums, products. */
  int32_t image_at, narrow_at, rows_at, rows_floats, sums_at, area_at, pair_at;
  int32_t phases_count; /* none where blocks share out the front */
  ep_grid_phase phases[EP_GRID_PHASES_MAX];
  ep_grid_layer layers[EP_GRID_LAYERS_MAX];
} ep_grid_args;

#endif
