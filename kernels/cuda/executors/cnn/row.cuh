/* row.cuh: a row on its way through the network: who works on it, where its numbers lie, what the
 * layers that change numbers in place make of them, and how it is fetched. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_ROW_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CNN_ROW_CUH

#include "kernels/cuda/device/constants.cuh"
#include "kernels/cuda/device/cp_async.cuh"
#include "kernels/cuda/device/named_barrier.cuh"
#include "kernels/cuda/executors/cnn/args.h"
#include "kernels/formulas/augment.h"
#include "kernels/formulas/dropout.h"

typedef ep_cnn_args args;

constexpr int WARPS = THREADS / WARP, WORKERS = GROUPS * BLOCKS;
constexpr int IN_PIXELS = stage(0).in.height * stage(0).in.width;

/* A row of the batch, and where in the training set it is; -1: not known yet. */
struct row_place {
  int row;
  long long from;
};

/* A group of threads and its row. */
struct worker {
  const args &s;
  float *m;              /* the group's shared memory: [GROUP_FLOATS] */
  const float *staged;   /* weights and biases, of the block */
  ep_permutation *order; /* shared, of the group */
  row_place *ahead;      /* shared, of the group: of the next step */
  uint64_t *arrival;     /* shared, of the block: of the linear layers' weights */
  bool odd;              /* the step, counted from the start of the segment */
  int group, thread;     /* of the block; of the group */
  int index;             /* of all groups: 0 … WORKERS - 1 */
  long long step, epoch; /* of the row */
  int batch;             /* of the epoch */
  int rows, row;         /* of the batch */
  int slot;              /* the group's first row of the step: where its sums go */
  long long from;        /* the row's place in the training set; -1: not known yet */
  int label;             /* its class */
  bool adds;             /* not the first row of this group in this step */
  float scale;           /* of the loss, for a mean */
  double loss;
  int misses;
};

static __device__ __forceinline__ void group_wait(const worker &w) {
  if constexpr (GROUPS == 1)
    __syncthreads();
  else
    named_barrier_sync<THREADS>(w.group + 1);
}

static __device__ __forceinline__ float4 vector_at(const float *p) {
  return *(const float4 *)p;
}

/* VECTORS vectors from `from`, which begins one. */
template <int VECTORS>
static __device__ __forceinline__ void row_read(const float *from, float (&to)[4 * VECTORS]) {
#pragma unroll
  for (int i = 0; i < VECTORS; i++) {
    float4 four = vector_at(from + 4 * i);
    to[4 * i] = four.x, to[4 * i + 1] = four.y, to[4 * i + 2] = four.z, to[4 * i + 3] = four.w;
  }
}

/* --- places --------------------------------------------------------------------------------- */

static __device__ __forceinline__ int at_of(const cnn_place &place, int c, int y, int x) {
  return place.first + c * place.plane + (y + place.top) * place.pitch + place.left + x;
}

/* Of number f of a row of `shape`. */
static __device__ __forceinline__ int at_of(const cnn_place &place, const cnn_shape &shape, int f) {
  if (place.compact) return place.first + f;
  int pixels = shape.height * shape.width, c = f / pixels, pixel = f % pixels;
  return at_of(place, c, pixel / shape.width, pixel % shape.width);
}

/* --- layers in place ------------------------------------------------------------------------ */

static __device__ __forceinline__ const uint8_t *bytes_at(const worker &w, int at) {
  return (const uint8_t *)(w.m + at);
}

template <int I> static __device__ __forceinline__ ep_op activation_of() {
  return activation_of(op(I).type, op(I));
}

constexpr bool drops(ep_layer_type type) {
  return type == EP_LAYER_DROPOUT || type == EP_LAYER_DROPOUT2D;
}

template <int I> static __device__ __forceinline__ bool keeps(const worker &w, int f) {
  constexpr cnn_op OP = op(I);
  return bytes_at(w, OP.mask)[OP.type == EP_LAYER_DROPOUT ? f : f / OP.pixels] != 0;
}

/* What op I makes of number f. */
template <int I> static __device__ __forceinline__ float op_run(const worker &w, float x, int f) {
  constexpr cnn_op OP = op(I);
  if constexpr (drops(OP.type)) return keeps<I>(w, f) ? ep_dropout_scale(OP.p) * x : 0;
  const ep_op about = activation_of<I>();
  return ep_activation(&about, x);
}

/* The gradient by its input; x, y: its input and output, or what is known of their sign. */
template <int I>
static __device__ __forceinline__ float op_back(const worker &w, float grad, float x, float y,
                                                int f) {
  constexpr cnn_op OP = op(I);
  if constexpr (drops(OP.type)) return keeps<I>(w, f) ? ep_dropout_scale(OP.p) * grad : 0;
  if constexpr (OP.type == EP_LAYER_FLATTEN) return grad;
  const ep_op about = activation_of<I>();
  return grad * ep_activation_derivative(&about, x, y);
}

template <int I, int LEFT>
static __device__ __forceinline__ float chain_run(const worker &w, float x, int f) {
  if constexpr (LEFT == 0)
    return x;
  else
    return chain_run<I + 1, LEFT - 1>(w, op_run<I>(w, x, f), f);
}

/* y: what the whole chain left. */
template <int I, int LEFT>
static __device__ __forceinline__ float chain_back(const worker &w, float grad, float y, int f) {
  if constexpr (LEFT == 0)
    return grad;
  else
    return op_back<I>(w, chain_back<I + 1, LEFT - 1>(w, grad, y, f), y, y, f);
}

constexpr bool chain_activates(int first, int count) {
  for (int i = first; i < first + count; i++)
    if (!drops(op(i).type) && op(i).type != EP_LAYER_FLATTEN) return true;
  return false;
}

/* What the layers behind stage S's own make of its number f. */
template <int S>
static __device__ __forceinline__ float value_of(const worker &w, int f, float value) {
  constexpr cnn_stage A = stage(S);
  return chain_run<A.chain_first, A.chain_count>(w, value, f);
}

/* The gradient by number f of what stage S's own layer gave, from that by what those behind it left
 * at value_at. */
template <int S>
static __device__ __forceinline__ float grad_of(const worker &w, int value_at, int f, float grad) {
  constexpr cnn_stage A = stage(S);
  float y = chain_activates(A.chain_first, A.chain_count) ? w.m[value_at] : 0;
  return chain_back<A.chain_first, A.chain_count>(w, grad, y, f);
}

/* The same, where it belongs. */
template <int S>
static __device__ __forceinline__ void grad_put(const worker &w, int f, float grad) {
  constexpr cnn_stage A = stage(S);
  w.m[at_of(A.grad, A.out, f)] = grad_of<S>(w, at_of(A.value, A.out, f), f, grad);
}

/* A thread's share of COUNT things: makes several before it puts them away, so that their loads
 * are under way together. */
template <int COUNT, typename MAKE, typename PUT>
static __device__ __forceinline__ void share_run(const worker &w, const MAKE &make,
                                                 const PUT &put) {
  constexpr int TURNS = parts_of(COUNT, THREADS), AT_ONCE = TURNS < 2 ? TURNS : 2;
#pragma unroll 1
  for (int first = w.thread; first < COUNT; first += AT_ONCE * THREADS) {
    decltype(make(0)) made[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
      if (first + i * THREADS < COUNT) made[i] = make(first + i * THREADS);
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
      if (first + i * THREADS < COUNT) put(first + i * THREADS, made[i]);
  }
}

/* --- masks and the row itself ---------------------------------------------------------------- */

/* The mask of op I for the row, four elements a thread. */
template <int I> static __device__ __forceinline__ void mask_make(const worker &w) {
  constexpr cnn_op OP = op(I);
  if constexpr (drops(OP.type)) {
    constexpr int COUNT = OP.type == EP_LAYER_DROPOUT ? OP.channels * OP.pixels : OP.channels;
    long long first = (long long)w.row * COUNT, quad = first / 4;
    int quads = (int)((first + COUNT - 1) / 4 - quad) + 1;
    uint8_t *mask = (uint8_t *)(w.m + OP.mask);
#pragma unroll 1
    for (int q = w.thread; q < quads; q += THREADS) {
      ep_random4 words = ep_dropout_words(w.s.seed, w.step, OP.layer, quad + q);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        long long f = (quad + q) * 4 + i - first;
        if (f >= 0 && f < COUNT) mask[f] = ep_dropout_word_keeps(words.word[i], OP.p);
      }
    }
  }
}

template <int I> static __device__ __forceinline__ void masks_make(const worker &w) {
  if constexpr (I < OPS) {
    mask_make<I>(w);
    masks_make<I + 1>(w);
  }
}

/* The channels of stage S that are kept, then the others; by one warp. */
template <int S> static __device__ __forceinline__ void lists_make(const worker &w) {
  if constexpr (S < STAGES) {
    constexpr cnn_stage A = stage(S);
    if constexpr (A.list >= 0) {
      constexpr int CHANNELS = A.out.channels;
      if (w.thread / WARP == S % WARPS) {
        int *list = (int *)(w.m + A.list), lane = w.thread % WARP;
        const uint8_t *mask = bytes_at(w, op(A.dropout).mask);
        int kept = 0, others = 0;
#pragma unroll 1
        for (int c = lane; c < vectors_of(CHANNELS) + WARP; c += WARP) {
          bool is = c < CHANNELS, keep = is && mask[c];
          unsigned keeping = __ballot_sync(ALL_LANES, keep), there = __ballot_sync(ALL_LANES, is);
          unsigned before = (1u << lane) - 1;
          if (keep)
            list[kept + __popc(keeping & before)] = c;
          else if (is)
            list[CHANNELS - 1 - (others + __popc(there & ~keeping & before))] = c;
          kept += __popc(keeping);
          others += __popc(there & ~keeping);
          if (c - lane + WARP >= CHANNELS) break;
        }
        if (lane == 0) list[CHANNELS] = kept;
      }
    }
    lists_make<S + 1>(w);
  }
}

/* A number of the row as it is stored; outside the image: zero. */
struct stored {
  float number;
  uint8_t byte;
};

static __device__ __forceinline__ stored stored_of(const worker &w, const ep_augmentation &drawn,
                                                   int f) {
  constexpr ep_shape STORED = {STORED_CHANNELS, STORED_HEIGHT, STORED_WIDTH};
  constexpr int WIDTH = stage(0).in.width;
  int channel = f / IN_PIXELS, pixel = f % IN_PIXELS;
  long long source = f;
  if constexpr (AUGMENTS)
    source = ep_augment_source(&drawn, STORED, channel, pixel / WIDTH, pixel % WIDTH);
  long long at = w.from * (STORED_CHANNELS * STORED_HEIGHT * STORED_WIDTH) + source;
  stored of = {0, 0};
  if (source < 0) return of;
  if constexpr (BYTES)
    of.byte = __ldg((const uint8_t *)w.s.x + at);
  else
    of.number = __ldg((const float *)w.s.x + at);
  return of;
}

static __device__ __forceinline__ float number_of(const worker &w, const stored &of, int f) {
  if constexpr (!BYTES) return of.number;
  int channel = f / IN_PIXELS;
  return ep_byte_value(of.byte, __ldg(w.s.x_scale + channel), __ldg(w.s.x_shift + channel));
}

/* Where row `row` of a batch of this epoch is in the training set. */
static __device__ __forceinline__ long long row_from(const worker &w, int batch, int row) {
  long long from = (long long)batch * BATCH_ROWS + row;
  return SHUFFLES ? ep_permutation_at(w.order, (uint32_t)from) : from;
}

/* Everything about row w.row that does not ask the weights: the masks are made while the first
 * numbers are on their way. */
static __device__ __forceinline__ void row_fetch(worker &w) {
  constexpr cnn_stage A = stage(0);
  constexpr int COUNT = count_of(A.in), TURNS = parts_of(COUNT, THREADS);
  constexpr int AT_ONCE = TURNS < 4 ? TURNS : 4;
  if (w.from < 0) w.from = row_from(w, w.batch, w.row);
  if constexpr (TAKES_CLASSES) w.label = __ldg((const int *)w.s.y + w.from);
  ep_augmentation drawn = {};
  if constexpr (AUGMENTS) {
    constexpr ep_shape STORED = {STORED_CHANNELS, STORED_HEIGHT, STORED_WIDTH};
    constexpr ep_shape TAKEN = {A.in.channels, A.in.height, A.in.width};
    drawn = ep_augment_draw(&w.s.augment, STORED, TAKEN, w.s.seed, w.epoch, w.from);
  }
#pragma unroll 1
  for (int first = w.thread; first - w.thread < COUNT; first += AT_ONCE * THREADS) {
    stored of[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
      if (first + i * THREADS < COUNT) of[i] = stored_of(w, drawn, first + i * THREADS);
    if (first == w.thread) {
      masks_make<0>(w);
      group_wait(w);
      lists_make<1>(w);
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      int f = first + i * THREADS;
      if (f < COUNT) w.m[at_of(A.value, A.in, f)] = value_of<0>(w, f, number_of(w, of[i], f));
    }
  }
  group_wait(w);
}

/* The order of the epoch. */
static __device__ __forceinline__ void order_make(const worker &w) {
  if constexpr (SHUFFLES) {
    group_wait(w);
    if (w.thread == 0)
      *w.order = ep_permutation_make(w.s.seed, EP_RANDOM_SHUFFLE, w.epoch, TRAIN_ROWS);
    group_wait(w);
  }
}

#endif
