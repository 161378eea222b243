/* fused.h: what the parts of cpu/fused share: the network as the kernels see it, and the variants,
 * one an instruction set. Private to kernels/cpu/fused.
 *
 * Samples lie across SIMD lanes: a "vector" is `lanes` rows of one feature. A batch is cut into
 * chunks of up to chunk_vectors vectors that pass through the whole network, forward and back,
 * while their activations are in cache; gradients add up over the chunks, in order, and the weights
 * change once, at the end of the batch. With a batch_norm, a batch is one chunk. Every matrix of a
 * chunk is [features, stride], stride = chunk_vectors * lanes rows. The last vector of a batch is
 * filled up with copies of its last row, whose gradient and loss are set to zero.
 *
 * Threads share a step in one of two ways. Either each takes parts of the batch, runs of chunks, on
 * an ep_fused_net of the part's own, whose sums are then added up in the order of the parts. Or, in
 * networks so large that there is more to share, all take pieces of the products of a layer. A
 * number of a result is summed up by one thread in one order, and the cuts depend on the program
 * alone: the number of threads changes no bit. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_FUSED_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_FUSED_H

#include "kernels/cpu/runtime/cpu.h"
#include "kernels/cpu/runtime/crew.h"
#include "kernels/random.h"

/* Floats of the widest vector and bytes of a cache line: what all arrays are aligned and padded to,
 * in every variant. */
enum { EP_FUSED_ALIGN_BYTES = 64, EP_FUSED_PAD = 16 };

/* The gradient of a weight is either "summed": a vector a parameter, [out, in, lanes], whose lanes
 * are added up when the batch is done; or, where the layer is wide, a product of matrices with the
 * layer's inputs (not the samples) across the lanes: then W and its gradient are [out,
 * weight_stride], rows padded with zeros. */
typedef struct {
  ep_layer_type type;
  int64_t in_features, out_features;
  int64_t weight, bias;  /* offsets in the net's parameters; -1 = none */
  int64_t weight_rows;   /* of W: outputs of a linear layer, one of a norm */
  int64_t weight_stride; /* floats from row to row of W */
  bool wide;
  bool tiled;           /* its products are the matrix unit's (tiles.h) */
  int64_t tiles;        /* offset of its input in input_tiles */
  bool shared;          /* so large that all threads take rows of its products */
  bool relu;            /* linear: output = max(0, x W^T + b) */
  bool in_place;        /* output is input */
  const ep_op *op;      /* lent: the layer */
  float *input;         /* [in_features, stride]; NULL: the chunk's x */
  float *output;        /* [out_features, stride] */
  float *mean, *factor; /* of a norm, for its way back: [stride], or of batch_norm [out_features] */
} ep_fused_stage;

typedef struct ep_fused_variant ep_fused_variant;

typedef struct {
  const ep_program *program;
  const ep_fused_variant *variant;
  ep_fused_stage *stages; /* [stages_count] */
  int stages_count;
  int first_trained; /* the gradient goes no further back; stages_count when there is none */
  int64_t lanes, chunk_vectors, stride;
  int parts;          /* of a batch; ep_fused_parts */
  bool tiled, shared; /* some layer is */
  ep_crew *crew;      /* the executor's; NULL: the caller is alone */

  /* First the summed parameters, [0, summed), then wide weights, up to `floats`; both are multiples
   * of EP_FUSED_PAD. */
  int64_t summed, floats;
  float *parameters; /* [floats] */
  int64_t slots;     /* of the optimizer's state */
  float *state;      /* [slots, floats]; NULL without any */
  float *buffers;    /* [program->buffers]: running statistics */
  float *saved;      /* the snapshot: [1 + slots, floats] parameters and state, then the buffers */
  float *gradients;  /* [floats]; sgd uses it from `summed` on */
  float *sums;       /* [summed, lanes] */

  float *activations;
  float *output;   /* the last stage's, [out_features, stride]; NULL: the chunk's x */
  float *gradient; /* [widest, stride]: of the stage at hand */
  float *spare;    /* [widest, stride]: of the one before */
  float *input_tiles, *right_tiles; /* tiled layers: right operands, cut; see tiles.h */
  float *transposed; /* wide layers: x, [panels, stride rows, EP_FUSED_PANEL floats] */
  float *gathered;   /* one chunk, [in_features + target_columns, stride], if not packed before */
  void *arena;       /* what holds all of these */
  int64_t arena_bytes;
} ep_fused_net;

/* Of a number in a tile: its upper, middle and lower bits. */
enum { EP_FUSED_TILE_PARTS = 3 };
enum { EP_FUSED_PANEL = 64 }; /* floats of a row of `transposed`: 4 vectors of AVX-512 */

/* One chunk of a batch: x: [in_features, stride], y: [target_columns, stride] float32, or int32
 * [stride]. */
typedef struct {
  const float *x;
  const void *y;
  int64_t rows, vectors;
  bool training; /* then batch_norm takes the chunk's statistics, and a dropout draws … */
  int64_t first_row, step; /* … its mask by the rows' numbers in the batch and the step's */
} ep_fused_chunk;

struct ep_fused_variant {
  const char *name;
  int lanes;
  bool tiles; /* it has a matrix unit */

  /* to: [features, stride] from from: [rows, features]; vector j lane l is row rows_from[j * lanes
   * + l] of `from`. */
  void (*pack)(float *to, int64_t stride, const float *from, int64_t features,
               const uint32_t *rows_from, int64_t vectors);

  void (*forward)(const ep_fused_net *net, const ep_fused_chunk *chunk);

  /* Adds up the loss of the chunk's rows and columns (not yet divided) and its errors, and writes
   * net->gradient, that of the output, times `scale`. */
  void (*loss)(const ep_fused_net *net, const ep_fused_chunk *chunk, float scale, double *loss,
               int64_t *errors);

  /* From net->gradient to the gradients of all parameters: added to those of the batch's chunks
   * before, or written when `first`. Spends net->gradient, net->spare and net->activations. */
  void (*backward)(const ep_fused_net *net, const ep_fused_chunk *chunk, bool first);

  /* Adds a part's gradients, as its backward left them, to net's: numbers first … end - 1 of the
   * sums by lane, [0, summed * lanes), and of the gradients from there on, up to
   * ep_fused_net_sums(net). first and end are multiples of EP_FUSED_PAD. */
  void (*add)(const ep_fused_net *net, const ep_fused_net *part, int64_t first, int64_t end);

  /* Step number `step`, counted from 0, of the optimizer. */
  void (*update)(const ep_fused_net *net, int64_t step, float lr);

  /* to[i] = ep_permutation_at(permutation, i), 0 <= i < n; `to` has room for n rounded up to
   * EP_FUSED_PAD. */
  void (*permute)(const ep_permutation *permutation, uint32_t *to, uint32_t n);
};

extern const ep_fused_variant ep_fused_baseline;
extern const ep_fused_variant ep_fused_avx2, ep_fused_avx512, ep_fused_amx; /* x86-64 alone */

/* Numbers that a part's gradients are. */
static inline int64_t ep_fused_net_sums(const ep_fused_net *net) {
  return net->summed * net->lanes + net->floats - net->summed;
}

/* The best that this instruction set allows, and the compiler could build. */
const ep_fused_variant *ep_fused_variant_of(ep_instruction_set instruction_set);

/* Lays the program out for a variant. All arrays are zero. The program is lent
 * until deinit. EP_NO_MEMORY. */
ep_status ep_fused_net_init(ep_fused_net *net, const ep_program *program,
                            const ep_fused_variant *variant, ep_error *error);
void ep_fused_net_deinit(ep_fused_net *net);

/* Another part's: parameters and state are those of `whole`, which it needs until deinit; all else
 * is its own. EP_NO_MEMORY. */
ep_status ep_fused_net_init_part(ep_fused_net *net, const ep_fused_net *whole, ep_error *error);

/* Between the program's order of parameters (flat: [parameters]) and the net's (own: [floats]).
 * Padding is written with zeros. */
void ep_fused_net_put(const ep_fused_net *net, const float *flat, float *own);
void ep_fused_net_get(const ep_fused_net *net, const float *own, float *flat);

#endif
