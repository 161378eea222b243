/* layers.cuh: the wide layers of cuda/grid, by all blocks: forward and backward. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_LAYERS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_LAYERS_CUH

#include "kernels/cuda/executors/grid/exchange.cuh"
#include "kernels/formulas/losses.h"

typedef ep_grid_args args;
typedef ep_grid_layer layer;

/* The step at hand. */
struct now {
  const int *order;    /* of the batch's rows in the training set; NULL: they lie … */
  long long first_row; /* … from here on */
  int rows;            /* of the batch */
  unsigned turn;
  float scale;
  float *scratch;
};

/* Of products that are brought whole (whole.cuh): what has come, and how often since the launch. */
struct whole_slots {
  unsigned long long held, full[2]; /* barriers: the weights; rows, in two places by turns */
  unsigned tasks, parts;
};

/* The block's shared memory begins with this; what plan.c places follows. All that a
 * kernel asks again and again lies here: a barrier empties the cache of all other memory. */
struct block_state {
  args s;
  now n;
  ep_optimizer_step update;      /* on its way until a worker's first barrier of a step */
  unsigned target, front_target; /* of the barriers */
  unsigned panel_stages[2];      /* that each warpgroup took since the launch in panels.cuh, … */
  unsigned panel_copies;         /* … panels that were copied there, and its … */
  unsigned long long panel_barriers[EP_GRID_PANEL_BARRIERS];
  line_slots lines;
  pair_slot pair;
  whole_slots whole;
};
static_assert(sizeof(block_state) <= EP_GRID_STATE * sizeof(float), "what plan.c reserves");

extern __shared__ __align__(128) float block_memory[];

static __device__ __forceinline__ block_state &state_of() {
  return *(block_state *)block_memory;
}
static __device__ __forceinline__ const args &args_of() {
  return state_of().s;
}
/* By value, as layers are taken: what is in registers, no store makes the compiler read again. */
static __device__ __forceinline__ now now_of() {
  return state_of().n;
}
static __device__ __forceinline__ long long row_of(const now &n, int row) {
  return n.order ? n.order[row] : n.first_row + row;
}

static __device__ __forceinline__ unsigned *counters_of() {
  return args_of().barrier + EP_GRID_BARRIERS;
}

/* --- barriers -------------------------------------------------------------------------------- */

/* All blocks meet: each arrives, and awaits the others before it needs what they wrote. */
static __device__ __noinline__ void blocks_arrive() {
  const args &s = args_of();
  if (s.cluster) {
    __syncthreads(); /* a warp that arrives may begin with the next step, while others read this */
    cluster_arrive();
  } else {
    grid_arrive(s.barrier);
    if (threadIdx.x == AWAITS) state_of().target += s.workers;
  }
}

static __device__ __forceinline__ unsigned *meeting_of(int meeting) {
  return args_of().barrier + meeting * EP_GRID_LINE;
}

/* The thread AWAITS: waits for a meeting. */
static __device__ __forceinline__ void meeting_see(int meeting) {
  const args &s = args_of();
  if (meeting == EP_GRID_NONE) return;
  int blocks = meeting >= EP_GRID_PHASE    ? s.phases[meeting - EP_GRID_PHASE].tasks
               : meeting == EP_GRID_GIVEN  ? s.given
               : meeting == EP_GRID_MIDDLE ? s.middle_blocks
                                           : 1;
  unsigned target = (state_of().n.turn - (meeting == EP_GRID_MIDDLE)) * (unsigned)blocks;
  if (meeting == EP_GRID_BARRIER) target = state_of().target; /* its own */
  counter_wait(meeting_of(meeting), target);
}

/* In line, so that what a thread has asked for may be under way meanwhile: no call has to wait for
 * registers. meeting: becomes none. */
static __device__ __forceinline__ void meeting_await(int &meeting) {
  if (meeting == EP_GRID_NONE) return;
  if (threadIdx.x == AWAITS) meeting_see(meeting);
  __syncthreads();
  meeting = EP_GRID_NONE;
}

static __device__ __noinline__ void blocks_await() {
  int meeting = EP_GRID_BARRIER;
  if (args_of().cluster)
    cluster_wait();
  else
    meeting_await(meeting);
}

/* The blocks that have the front meet. */
static __device__ void front_wait() {
  const args &s = args_of();
  async_fence();
  if (threadIdx.x == AWAITS) state_of().front_target += s.front_blocks;
  counter_meet(meeting_of(EP_GRID_FRONT), state_of().front_target);
}

/* --- activations ----------------------------------------------------------------------------- */

struct activated {
  float y, slope;
};

static __device__ __noinline__ activated activate_any(int type, float negative_slope, float alpha,
                                                      float beta, float threshold, float z) {
  ep_op op = {};
  op.type = (ep_layer_type)type;
  op.negative_slope = negative_slope;
  op.alpha = alpha;
  op.beta = beta;
  op.threshold = threshold;
  float y = ep_activation(&op, z);
  return {y, ep_activation_derivative(&op, z, y)};
}

static __device__ __forceinline__ activated activate(const layer &of, float z) {
  if (of.activation == EP_LAYER_RELU) return {ep_relu(z), ep_relu_derivative(z)};
  if (of.activation < 0) return {z, 1};
  return activate_any(of.activation, of.negative_slope, of.alpha, of.beta, of.threshold, z);
}

struct activated_four {
  four y, slope;
};

static __device__ __noinline__ activated_four activate_four_any(int type, float negative_slope,
                                                                float alpha, float beta,
                                                                float threshold, four z) {
  activated_four to;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    activated a = activate_any(type, negative_slope, alpha, beta, threshold, z.of[i]);
    to.y.of[i] = a.y, to.slope.of[i] = a.slope;
  }
  return to;
}

static __device__ __forceinline__ activated_four activate_four(const layer &of, const four &z) {
  if (of.activation != EP_LAYER_RELU && of.activation >= 0)
    return activate_four_any(of.activation, of.negative_slope, of.alpha, of.beta, of.threshold, z);
  activated_four to;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    bool relu = of.activation == EP_LAYER_RELU;
    to.y.of[i] = relu ? ep_relu(z.of[i]) : z.of[i];
    to.slope.of[i] = relu ? ep_relu_derivative(z.of[i]) : 1;
  }
  return to;
}

/* --- matrices -------------------------------------------------------------------------------- */

static __device__ __forceinline__ matrix weights_of(const layer &of) {
  const args &s = args_of();
  if (of.mirror >= 0) return {s.scratch + of.mirror, of.image_stride, of.out, of.in};
  return {s.parameters + of.weight, of.in, of.out, of.in};
}

/* Where a layer's outputs are. Those of a chained front lie in two places, by turns: it may be on
 * its next rows while others still read these. */
static __device__ __forceinline__ float *after_of(const now &n, int l) {
  const args &s = args_of();
  return n.scratch + s.layers[l].after + (l == s.front - 1 ? n.turn % 2 * s.front_turn : 0);
}

static __device__ __forceinline__ matrix input_of(const now &n, int l) {
  const args &s = args_of();
  if (l == 0) return {n.scratch + s.inputs, s.inputs_stride, n.rows, s.inputs_stride};
  const layer &before = s.layers[l - 1];
  return {after_of(n, l - 1), before.stride, n.rows, before.stride};
}

static __device__ __forceinline__ matrix grad_of(const now &n, const layer &of) {
  return {n.scratch + of.grad, of.stride, n.rows, of.stride};
}

/* --- forward, backward ----------------------------------------------------------------------- */

/* Rows are rows, columns outputs. */
struct forward_use {
  static constexpr bool BY_ROWS = false; /* what is loaded */
  const now &n;
  const layer &of;
  const float *parameters;
  int row, output;
  struct loaded {
    four bias;
  };
  __device__ __forceinline__ void load(int, int column, loaded &to) const {
    int o = output + column;
    const float *bias = parameters + of.bias;
#pragma unroll
    for (int i = 0; i < 4; i++) to.bias.of[i] = of.bias >= 0 && o + i < of.out ? bias[o + i] : 0;
  }
  /* The same to shared memory, by copies that the thread awaits. */
  __device__ __forceinline__ void fetch(int, int column, float *to) const {
    const float *bias = parameters + of.bias;
    for (int i = 0, o = output + column; i < 4; i++, o++)
      if (of.bias >= 0 && o < of.out)
        cp_async<4>(to + i, bias + o);
      else
        to[i] = 0;
  }
  __device__ __forceinline__ void store(int line, int column, const four &sum,
                                        const loaded &with) const {
    int r = row + line, o = output + column;
    if (r >= n.rows || o >= of.stride) return;
    four z;
#pragma unroll
    for (int i = 0; i < 4; i++) z.of[i] = sum.of[i] + with.bias.of[i];
    activated_four a = activate_four(of, z);
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (o + i >= of.out) a.y.of[i] = a.slope.of[i] = 0;
    four_store(n.scratch + of.after + (long long)r * of.stride + o, a.y);
    four_store(n.scratch + of.grad + (long long)r * of.stride + o, a.slope);
  }
};

/* c: as product() of products.cuh; of_a, of_b: tensor maps of a and b. */
template <class S, bool PRECISE>
static __device__ __forceinline__ void
tile_product(float (&c)[S::MF][S::T][4], float *area, const matrix &a, const matrix &b,
             const ep_cuda_tensor_map *of_a, const ep_cuda_tensor_map *of_b, const task &of,
             int &awaits) {
  if constexpr (S::BY_WARPGROUPS)
    lines_product<S::A_BY_K>(c, area, state_of().lines, of_a, of_b, of, awaits);
  else
    product<S, PRECISE>(c, area, a, b, of, awaits);
}

/* As task_end() of products.cuh, for a task of a layer's that `blocks` share out. */
template <class S, class Use>
static __device__ __forceinline__ void tile_end(const float (&c)[S::MF][S::T][4], float *area,
                                                const ep_grid_cut &cut, int blocks, const task &of,
                                                const now &n, const Use &use, early<S, Use> &with) {
  float *partials = n.scratch + args_of().partials;
  if constexpr (S::BY_WARPGROUPS)
    if (cut.splits > 1) {
      const bool paired = args_of().paired && ep_grid_cut_pairs(&cut, blocks);
      return parts_end<S>(c, area, cut, of, partials, counters_of(), n.turn, use, paired,
                          block_memory + args_of().pair_at, state_of().pair);
    }
  task_end(c, area, cut, of, partials, counters_of(), n.turn, use, with);
}

/* The block's first task of a layer's products; the others follow, each `blocks` after the last. */
static __device__ __forceinline__ int first_of(int blocks, int tasks) {
  return (int)blockIdx.x < blocks ? (int)blockIdx.x : tasks;
}

/* awaits: an ep_grid_meeting, before what the layer takes is read. */
template <class S, bool PRECISE>
static __device__ __noinline__ void forward_run(int l, int awaits) {
  const now n = now_of();
  const layer of = args_of().layers[l];
  const ep_grid_cut cut = of.forward;
  float *area = block_memory + args_of().area_at;
  matrix weights = weights_of(of), x = input_of(n, l);
  const ep_grid_tensor_maps *tensor_maps = args_of().tensor_maps + l;
  int tasks = cut.across * cut.down * cut.splits;
  const int blocks = of.forward_blocks;
  for (int number = first_of(blocks, tasks); number < tasks; number += blocks) {
    task at = task_of<S>(cut, number, of.in);
    const forward_use use{n, of, args_of().parameters, at.n, at.m};
    early<S, forward_use> with;
    task_begin(use, cut.splits, with);
    float c[S::MF][S::T][4];
    tile_product<S, PRECISE>(c, area, weights, x, &tensor_maps->factors,
                             &tensor_maps->input[n.turn % 2], at, awaits);
    tile_end(c, area, cut, blocks, at, n, use, with);
  }
  meeting_await(awaits);
}

/* The same, where parts of sums are left to the last layer (output_loss.cuh). */
template <class S> static __device__ __noinline__ void forward_leave(int l, int awaits) {
  const now n = now_of();
  const layer of = args_of().layers[l];
  float *area = block_memory + args_of().area_at;
  const ep_grid_tensor_maps *tensor_maps = args_of().tensor_maps + l;
  const int tasks = of.forward.across * of.forward.splits, blocks = of.forward_blocks;
#pragma unroll 1
  for (int number = first_of(blocks, tasks); number < tasks; number += blocks) {
    task at = task_of<S>(of.forward, number, of.in);
    float c[S::MF][S::T][4];
    lines_product<S::A_BY_K>(c, area, state_of().lines, &tensor_maps->factors,
                             &tensor_maps->input[n.turn % 2], at, awaits);
    parts_leave<S>(c, area, n.scratch + args_of().partials + (long long)number * S::QUADS * 4);
  }
  meeting_await(awaits);
}

template <bool PRECISE> static __device__ __forceinline__ void forward_cut(int l, int awaits) {
  if constexpr (!PRECISE && WARPGROUPS)
    if (args_of().layers[l].forward.left_in_parts) return forward_leave<wide<false>>(l, awaits);
  if (!args_of().layers[l].forward.large)
    forward_run<small<false>, PRECISE>(l, awaits);
  else if constexpr (PRECISE || !WARPGROUPS)
    forward_run<large<false, PRECISE>, PRECISE>(l, awaits);
  else
    forward_run<wide<false>, PRECISE>(l, awaits);
}

/* What the gradient by the input of layer l is multiplied by, [rows, stride of the layer before]:
 * slopes, or outputs that tell a ReLU's; and where it goes: into the slopes' place, or, where there
 * are `features`, to a chained front as it has them (offsets.h). */
struct backward_way {
  const float *slopes;
  bool relu;
  float *to;
  int features;
};

static __device__ __forceinline__ backward_way backward_way_of(const now &n, int l) {
  const args &s = args_of();
  const layer &before = s.layers[l - 1];
  float *grad = n.scratch + before.grad;
  if (!s.chained || l != s.front) return {grad, false, grad, 0};
  bool relu = before.activation == EP_LAYER_RELU;
  return {relu ? after_of(n, l - 1) : grad, relu, n.scratch + s.front_grad,
          (before.out + 7) / 8 * 8};
}

/* The gradient by a layer's input, times the slopes of the activation before it. */
template <bool PRECISE> struct backward_use {
  static constexpr bool BY_ROWS = true;
  const now &n;
  const layer &before;
  int row, input;
  const backward_way way;
  struct loaded {
    four slope;
  };
  __device__ __forceinline__ long long at(int line, int column) const {
    return (long long)(row + line) * before.stride + input + column;
  }
  __device__ __forceinline__ bool there(int line, int column) const {
    return row + line < n.rows && input + column < before.stride;
  }
  __device__ __forceinline__ void load(int line, int column, loaded &to) const {
    to.slope = four_of(way.slopes + (there(line, column) ? at(line, column) : 0));
  }
  __device__ __forceinline__ void fetch(int line, int column, float *to) const {
    bool is_there = there(line, column);
    cp_async_16(to, way.slopes + (is_there ? at(line, column) : 0), is_there);
  }
  __device__ __forceinline__ void store(int line, int column, const four &sum,
                                        const loaded &with) const {
    bool is_there = there(line, column);
    four grad;
#pragma unroll
    for (int i = 0; i < 4; i++)
      grad.of[i] = sum.of[i] * (way.relu ? ep_relu_derivative(with.slope.of[i]) : with.slope.of[i]);
    int r = row + line, o = input + column;
    if (way.features == 0) {
      if (is_there) four_store(way.to + at(line, column), grad);
      return;
    }
    if (r >= args_of().chain_rows || o >= before.stride) return;
    float *to = way.to + ep_grid_chain_offset(r, o, way.features);
#pragma unroll
    for (int i = 0; i < 4; i++) to[i * 8] = is_there ? operand_of<PRECISE>(grad.of[i]) : 0;
  }
};

template <class S, bool PRECISE>
static __device__ __noinline__ void backward_run(int l, int awaits) {
  const now n = now_of();
  const layer of = args_of().layers[l];
  const ep_grid_cut cut = of.backward;
  float *area = block_memory + args_of().area_at;
  const layer before = args_of().layers[l - 1];
  matrix weights = weights_of(of), grad = grad_of(n, of);
  const ep_grid_tensor_maps *tensor_maps = args_of().tensor_maps + l;
  int tasks = cut.across * cut.down * cut.splits;
  const int blocks = of.backward_blocks;
  for (int number = first_of(blocks, tasks); number < tasks; number += blocks) {
    task at = task_of<S>(cut, number, of.out);
    const backward_use<PRECISE> use{n, before, at.n, at.m, backward_way_of(n, l)};
    early<S, backward_use<PRECISE>> with;
    task_begin(use, cut.splits, with);
    float c[S::MF][S::T][4];
    tile_product<S, PRECISE>(c, area, weights, grad, &tensor_maps->factors, &tensor_maps->grad, at,
                             awaits);
    tile_end(c, area, cut, blocks, at, n, use, with);
  }
  meeting_await(awaits);
}

template <bool PRECISE> static __device__ __forceinline__ void backward_cut(int l, int awaits) {
  if (!args_of().layers[l].backward.large)
    backward_run<small<true>, PRECISE>(l, awaits);
  else if constexpr (PRECISE || !WARPGROUPS)
    backward_run<large<true, PRECISE>, PRECISE>(l, awaits);
  else
    backward_run<wide<true>, PRECISE>(l, awaits);
}

#endif
