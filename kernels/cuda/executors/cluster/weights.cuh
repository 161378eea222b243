/* weights.cuh: the weights of cuda/cluster: their gradients, sums over all rows, in groups of tiles
 * that are shared out over the block's warps; and their update. Parameters and the optimizer's
 * state stay in registers for the whole segment; shared memory has what the products take. Blocks
 * with different rows add up their sums through memory: two exchange all of them, more take a share
 * each. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CLUSTER_WEIGHTS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CLUSTER_WEIGHTS_CUH

#include "kernels/cuda/executors/cluster/chain.cuh"

/* A group is 16 outputs by 32 inputs of a layer: four tiles, and one of the outputs' biases, which
 * the first group of each 16 outputs has. */
constexpr int BIASES = GROUP_TILES, GROUP = GROUP_TILES + 1;
constexpr int GROUPS_EACH = (GROUPS + WARPS - 1) / WARPS;
constexpr bool SHARES_UPDATE = ROW_BLOCKS > 2;
constexpr int TILES_OWNED =
    SHARES_UPDATE ? ((GROUPS * GROUP + ROW_BLOCKS - 1) / ROW_BLOCKS + WARPS - 1) / WARPS
                  : GROUPS_EACH * GROUP;

/* The front's groups come first, and all slices have them alike. Where two blocks' sums go through
 * memory anyway, each slice sums up a share of them for all: of as many as are whole turns of the
 * warps, by warps that have a group less than others. plan.c's. */
constexpr int shared_turns() {
  int turns = SLICES > 1 && ROW_BLOCKS == 2 ? groups_before(FRONT) / WARPS : 0;
  return (turns * WARPS + SLICES - 1) / SLICES <= GROUPS_EACH * WARPS - GROUPS ? turns : 0;
}
constexpr int SHARED_TURNS = shared_turns(), SHARED_GROUPS = SHARED_TURNS * WARPS;

/* A tile as a lane has it: its four numbers are those of outputs g and g + 8 by inputs 2t and
 * 2t + 1. Offsets are floats of shared memory. */
struct tile {
  bool exists;
  int grad, x;                   /* the factors of its gradient, as the lane loads them */
  int to, down;                  /* the numbers: at to, to + 4, to + down, to + down + 4 */
  int parameter, parameter_down; /* the same, of the parameters: each next is the input's */
  unsigned there, trained;       /* bit q: number q is a parameter; it is trained */
  float decay;
};

/* 16 parameters of a norm, as those of biases: the sums over the rows of what lies in shared
 * memory. The first groups are the weights'. */
static __device__ __forceinline__ tile norm_tile_make(const args &s, int l, int group) {
  const cluster_layer of = layer(l);
  const int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
  const bool of_offset = group >= tiles_down(l);
  const int m = (of_offset ? group - tiles_down(l) : group) * 16;
  const int first = of_offset ? of.norm_bias : of.norm_weight;
  const int row = m + lane % 16 < of.outputs ? m + lane % 16 : m + lane % 16 - 8;
  tile made = {};
  if (first < 0) return made;
  made.exists = true;
  made.grad = (of_offset ? of.shifts : of.normal) + row * STRIDE + lane / 16 * 4;
  made.x = made.grad; /* nobody's factor */
  made.to = (of_offset ? of.offsets : of.scales) + m + g;
  made.down = made.parameter_down = 8;
  made.parameter = first + m + g;
  made.decay = of_offset ? s.norm_bias_decay[l] : s.norm_weight_decay[l];
  for (int q = 0; q < 4; q += 2)
    if (t == 0 && m + g + q / 2 * 8 < of.out) made.there |= 1u << q;
  if (made.decay >= 0) made.trained = made.there;
  return made;
}

static __device__ __noinline__ tile tile_make(const args &s, int number, int slice) {
  int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, group = number / GROUP;
  bool of_bias = number % GROUP == BIASES;
  tile made = {};
#pragma unroll
  for (int l = 0; l < LAYERS; l++) {
    const cluster_layer of = layer(l);
    int e = group, across = (of.inputs / 8 + GROUP_TILES - 1) / GROUP_TILES;
    group -= groups_count(l);
    if (e < 0 || group >= 0) continue;
    if (has_norm(l) && e >= weight_groups_count(l)) {
      if (of_bias) made = norm_tile_make(s, l, e - weight_groups_count(l));
      continue;
    }
    int m = e / across * 16, n = (e % across * GROUP_TILES + number % GROUP) * 8;
    if (of_bias) n = e % across * GROUP_TILES * 8;
    int out = m + g + (is_sliced(l) ? slice * of.outputs : 0);
    int in = n + 2 * t + (takes_slice(l) ? slice * of.inputs : 0);
    int row = m + lane % 16 < of.outputs ? m + lane % 16 : m + lane % 16 - 8;
    made.exists = of_bias ? n == 0 && of.bias >= 0 : n < of.inputs;
    made.grad = of.grad + row * STRIDE + lane / 16 * 4;
    made.x = of.x + (n + lane % 8) * STRIDE + lane / 8 * 4;
    made.to = of_bias ? of.biases + m + g : of.weights + (m + g) * (of.inputs + 4) + n + t;
    made.down = of_bias ? 8 : 8 * (of.inputs + 4);
    made.parameter = of_bias ? of.bias + out : of.weight + out * of.in + in;
    made.parameter_down = of_bias ? 8 : 8 * of.in;
    made.decay = of_bias ? s.bias_decay[l] : s.weight_decay[l];
    for (int q = 0; q < 4 && made.exists; q++) {
      bool is_out = m + g + q / 2 * 8 < of.outputs && out + q / 2 * 8 < of.out;
      bool is_in = of_bias ? t == 0 && q % 2 == 0 : in + q % 2 < of.in;
      if (is_out && is_in) made.there |= 1u << q;
    }
    if (made.decay >= 0) made.trained = made.there;
  }
  return made;
}

static __device__ __forceinline__ int parameter_at(const tile &of, int q) {
  return of.parameter + q / 2 * of.parameter_down + q % 2;
}

/* Shared memory's weights, at the start of a launch. */
static __device__ __forceinline__ void weights_load(const args &s, int slice) {
#pragma unroll 1
  for (int number = threadIdx.x / WARP; number < GROUPS * GROUP; number += WARPS) {
    const tile of = tile_make(s, number, slice);
#pragma unroll
    for (int q = 0; q < 4; q++) {
      if (!(of.there >> q & 1)) continue;
      float value = s.parameters[parameter_at(of, q)];
      memory[of.to + q / 2 * of.down + q % 2 * 4] =
          number % GROUP == BIASES ? value : operand_of<PRECISE>(value);
    }
  }
}

/* --- gradients ------------------------------------------------------------------------------- */

/* What a warp keeps of a group that it sums up, or that another slice sums up for it. */
struct group_offsets {
  int count; /* tiles but for the biases' */
  bool has_biases;
  unsigned factors; /* tile::grad, and x above it */
  unsigned numbers; /* tile::to of the first tile, and down above it */
  unsigned biases;  /* tile::to of the biases; above it four bits `trained` of each tile */
  unsigned trained;
};

/* The number of a warp's i-th group; GROUPS or more: none. */
static __device__ __forceinline__ int group_owned(int i) {
  return threadIdx.x / WARP + i * WARPS;
}

/* The number of the one that it sums up, after the shared turns: its own, or one of the share. */
static __device__ __forceinline__ int group_summed(int i, int slice) {
  int group = group_owned(i), share = slice + (group - GROUPS) * SLICES;
  return group >= GROUPS && share < SHARED_GROUPS ? share : group;
}

static __device__ __forceinline__ group_offsets group_offsets_make(const args &s, int i,
                                                                   int slice) {
  int group = i < SHARED_TURNS ? group_owned(i) : group_summed(i, slice);
  bool owns = group == group_owned(i);
  int lane = threadIdx.x % WARP;
  group_offsets at = {};
  if (group >= GROUPS) { /* sums that nobody wants, from where no two loads meet in a bank */
    at.factors = (unsigned)(lane % 16 * STRIDE + lane / 16 * 4);
    at.factors |= (unsigned)(lane % 8 * STRIDE + lane / 8 * 4) << 16;
    return at;
  }
#pragma unroll 1
  for (int j = 0; j < GROUP; j++) {
    const tile of = tile_make(s, group * GROUP + j, slice);
    if (!of.exists) continue;
    if (owns) at.trained |= of.trained << 4 * j;
    if (j == BIASES) {
      at.has_biases = true;
      at.biases = (unsigned)of.to;
      if (at.count == 0) at.factors = (unsigned)of.grad | (unsigned)of.x << 16; /* a norm's */
    } else {
      at.count++;
      if (j > 0) continue;
      at.factors = (unsigned)of.grad | (unsigned)of.x << 16;
      at.numbers = (unsigned)of.to | (unsigned)of.down << 16;
    }
  }
  return at;
}

/* c += the group's sums over eight rows, or sixteen, from row k on; tiles that are not there get
 * sums that nobody wants: a branch would keep one's loads from another's products. */
template <bool PAIR>
static __device__ __forceinline__ void gradients_add(const group_offsets &at, int k,
                                                     float (&c)[GROUP][4]) {
  const float *grad = memory + (at.factors & 0xffff) + k, *x = memory + (at.factors >> 16) + k;
  hi_lo a[2][4], b[GROUP][4];
  hi_lo_load<PRECISE>(a[0], grad);
  if (PAIR) hi_lo_load<PRECISE>(a[1], grad + 8);
#pragma unroll
  for (int i = 0; i < GROUP_TILES; i++)
    hi_lo_load<PRECISE>(b[i], x + (i < at.count ? i * 8 * STRIDE : 0));
#pragma unroll
  for (int q = 0; q < 4; q++) b[BIASES][q] = hi_lo_of<PRECISE>(1.0f);
#pragma unroll
  for (int i = 0; i < GROUP; i++) multiply<PRECISE>(c[i], a[0], b[i][0], b[i][1]);
#pragma unroll
  for (int i = 0; i < GROUP; i++)
    if (PAIR) multiply<PRECISE>(c[i], a[1], b[i][2], b[i][3]);
}

/* c: the group's sums over the block's rows. */
static __device__ __forceinline__ void gradients_sum(const group_offsets &at,
                                                     float (&c)[GROUP][4]) {
#pragma unroll
  for (int i = 0; i < GROUP; i++)
#pragma unroll
    for (int q = 0; q < 4; q++) c[i][q] = 0;
  int end = ROWS / 16 * 16;
  if constexpr (SHARED_TURNS > 0) end = at.count > 0 || at.has_biases ? end : 0; /* nobody's sums */
#pragma unroll 2
  for (int k = 0; k < end; k += 16) gradients_add<true>(at, k, c);
  if (ROWS % 16 != 0) gradients_add<false>(at, ROWS - 8, c);
}

/* --- the update ------------------------------------------------------------------------------ */

/* Tiles that a warp updates. */
struct owned_tiles {
  float parameter[TILES_OWNED][4], state[TILES_OWNED][SLOTS > 0 ? SLOTS : 1][4];
  float decay[TILES_OWNED];
  unsigned trained[TILES_OWNED];
};

/* The number of a warp's i-th tile to update; GROUPS * GROUP or more: none. */
static __device__ __forceinline__ int tile_owned(int i, int row_block) {
  if (SHARES_UPDATE) return row_block + ROW_BLOCKS * (threadIdx.x / WARP + i * WARPS);
  return group_owned(i / GROUP) * GROUP + i % GROUP;
}

/* A lane's numbers of a tile in [PARAMETERS], as far as they are trained. */
static __device__ __noinline__ float4 tile_read(const args &s, int number, int slice,
                                                const float *from) {
  const tile of = tile_make(s, number, slice);
  float value[4];
#pragma unroll
  for (int q = 0; q < 4; q++) value[q] = of.trained >> q & 1 ? from[parameter_at(of, q)] : 0;
  return make_float4(value[0], value[1], value[2], value[3]);
}
static __device__ __noinline__ void tile_write(const args &s, int number, int slice, float *to,
                                               float4 value) {
  const tile of = tile_make(s, number, slice);
  const float all[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
  for (int q = 0; q < 4; q++)
    if (of.trained >> q & 1) to[parameter_at(of, q)] = all[q];
}

static __device__ __forceinline__ void owned_load(const args &s, const row_set &rows,
                                                  owned_tiles &own) {
#pragma unroll
  for (int i = 0; i < TILES_OWNED; i++) {
    int number = tile_owned(i, (int)rows.row_block);
#pragma unroll
    for (int slot = -1; slot < SLOTS; slot++) {
      const float *from = slot < 0 ? s.parameters : s.state + slot * PARAMETERS;
      float(&to)[4] = slot < 0 ? own.parameter[i] : own.state[i][slot < 0 ? 0 : slot];
      float4 value = tile_read(s, number, (int)rows.slice, from);
      to[0] = value.x, to[1] = value.y, to[2] = value.z, to[3] = value.w;
    }
    if (DECAYS) own.decay[i] = tile_make(s, number, (int)rows.slice).decay;
    if (SHARES_UPDATE) own.trained[i] = tile_make(s, number, (int)rows.slice).trained;
  }
}

/* What was trained goes back to memory, from one of those that have it. */
static __device__ __forceinline__ void owned_store(const args &s, const row_set &rows,
                                                   const owned_tiles &own) {
  if (!SHARES_UPDATE && rows.row_block > 0) return;
#pragma unroll
  for (int i = 0; i < TILES_OWNED; i++) {
#pragma unroll
    for (int slot = -1; slot < SLOTS; slot++) {
      float *to = slot < 0 ? s.parameters : s.state + slot * PARAMETERS;
      const float(&from)[4] = slot < 0 ? own.parameter[i] : own.state[i][slot < 0 ? 0 : slot];
      tile_write(s, tile_owned(i, (int)rows.row_block), (int)rows.slice, to,
                 make_float4(from[0], from[1], from[2], from[3]));
    }
  }
}

static __device__ __forceinline__ void tile_update(const ep_optimizer &optimizer,
                                                   const ep_optimizer_step &update,
                                                   const float (&grad)[4], owned_tiles &own, int i,
                                                   unsigned trained) {
#pragma unroll
  for (int q = 0; q < 4; q++) {
    bool trains = trained >> q & 1;
    float state[SLOTS > 0 ? SLOTS : 1];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++) state[slot] = own.state[i][slot][q];
    float next =
        ep_optimizer_update(&optimizer, &update, DECAYS ? own.decay[i] : 0, own.parameter[i][q],
                            ep_clip(&optimizer, 1, grad[q]), state, 1);
    own.parameter[i][q] = trains ? next : own.parameter[i][q];
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++)
      own.state[i][slot][q] = trains ? state[slot] : own.state[i][slot][q];
  }
}

/* Tile i of a group goes to shared memory. */
static __device__ __forceinline__ void tile_store(const group_offsets &at, int i,
                                                  const float (&value)[4]) {
  unsigned trained = at.trained >> 4 * i;
  float *to = memory + (i == BIASES ? at.biases : (at.numbers & 0xffff) + i * 8);
  unsigned down = i == BIASES ? 8 : at.numbers >> 16;
#pragma unroll
  for (int q = 0; q < 4; q++)
    if (trained >> q & 1)
      to[q / 2 * down + q % 2 * 4] = i == BIASES ? value[q] : operand_of<PRECISE>(value[q]);
}

static __device__ __forceinline__ bool tile_exists(const group_offsets &at, int i) {
  return i == BIASES ? at.has_biases : i < at.count;
}

/* Scratch: sums [2, ROW_BLOCKS, SLICES, GROUPS, GROUP, 32, 4], then weights, for one. */
static __device__ __forceinline__ float4 *scratch_at(const args &s, int part, int slice,
                                                     int number) {
  return (float4 *)s.scratch +
         ((long long)(part * SLICES + slice) * GROUPS * GROUP + number) * WARP + threadIdx.x % WARP;
}

/* Of a group: a part of the scratch, as far as there are tiles. */
static __device__ __forceinline__ void group_fetch(const args &s, const group_offsets &at, int part,
                                                   int slice, int group, float4 (&to)[GROUP]) {
#pragma unroll
  for (int i = 0; i < GROUP; i++)
    if (tile_exists(at, i)) to[i] = __ldcg(scratch_at(s, part, slice, group * GROUP + i));
}

/* What a warp's i-th group still lacks: the other block's sums, and of the shared ones this
 * block's. */
static __device__ __forceinline__ void sums_fetch(const args &s, const row_set &rows,
                                                  const group_offsets &at, int i,
                                                  float (&sum)[GROUP][4], float4 (&other)[GROUP]) {
  int base = (int)rows.parity * ROW_BLOCKS, mine = (int)rows.row_block;
  int slice = i < SHARED_TURNS ? 0 : (int)rows.slice, group = group_owned(i);
  if (SHARED_TURNS > 0) group = min(group, GROUPS - 1); /* one of the share: nothing is trained */
  group_fetch(s, at, base + 1 - mine, slice, group, other);
  if (i >= SHARED_TURNS) return;
  float4 own[GROUP];
  group_fetch(s, at, base + mine, slice, group, own);
#pragma unroll
  for (int j = 0; j < GROUP; j++)
    sum[j][0] = own[j].x, sum[j][1] = own[j].y, sum[j][2] = own[j].z, sum[j][3] = own[j].w;
}

/* The sums of all rows, two blocks' or this block's own, become weights. */
static __device__ __forceinline__ void
groups_update(const args &s, const row_set &rows, const ep_optimizer &optimizer,
              const ep_optimizer_step &update, const group_offsets (&offsets)[GROUPS_EACH],
              float (&sum)[GROUPS_EACH][GROUP][4], owned_tiles &own) {
  /* Groups on their way: as many as leave all numbers in registers. */
  constexpr int MOST = SHARED_TURNS > 0 ? 2 : 3, AHEAD = GROUPS_EACH < MOST ? GROUPS_EACH : MOST;
  float4 other[AHEAD][GROUP];
#pragma unroll
  for (int i = 0; i < AHEAD; i++)
    if (ROW_BLOCKS > 1) sums_fetch(s, rows, offsets[i], i, sum[i], other[i]);
#pragma unroll
  for (int i = 0; i < GROUPS_EACH; i++) {
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      if constexpr (ROW_BLOCKS > 1) {
        const float4 &more = other[i % AHEAD][j];
        sum[i][j][0] += more.x, sum[i][j][1] += more.y;
        sum[i][j][2] += more.z, sum[i][j][3] += more.w;
      }
      tile_update(optimizer, update, sum[i][j], own, i * GROUP + j, offsets[i].trained >> 4 * j);
      tile_store(offsets[i], j, own.parameter[i * GROUP + j]);
    }
    if (ROW_BLOCKS > 1 && i + AHEAD < GROUPS_EACH)
      sums_fetch(s, rows, offsets[i + AHEAD], i + AHEAD, sum[i + AHEAD], other[i % AHEAD]);
  }
}

/* Each block's share of the sums of all become weights, which all fetch. */
static __device__ __forceinline__ void shares_update(const args &s, const row_set &rows,
                                                     const ep_optimizer &optimizer,
                                                     const ep_optimizer_step &update,
                                                     const group_offsets (&offsets)[GROUPS_EACH],
                                                     owned_tiles &own) {
  const int weights = 2 * ROW_BLOCKS, base = (int)rows.parity * ROW_BLOCKS;
#pragma unroll
  for (int i = 0; i < TILES_OWNED; i++) {
    int number = tile_owned(i, (int)rows.row_block);
    if (__ballot_sync(ALL_LANES, own.trained[i]) == 0) continue;
    float4 part[ROW_BLOCKS];
#pragma unroll
    for (int r = 0; r < ROW_BLOCKS; r++)
      part[r] = __ldcg(scratch_at(s, base + r, rows.slice, number));
    float all[4] = {};
#pragma unroll
    for (int r = 0; r < ROW_BLOCKS; r++)
      all[0] += part[r].x, all[1] += part[r].y, all[2] += part[r].z, all[3] += part[r].w;
    tile_update(optimizer, update, all, own, i, own.trained[i]);
    __stcg(scratch_at(s, weights, rows.slice, number),
           make_float4(own.parameter[i][0], own.parameter[i][1], own.parameter[i][2],
                       own.parameter[i][3]));
  }
  blocks_arrive();
  blocks_wait();
#pragma unroll
  for (int i = 0; i < GROUPS_EACH; i++) {
    float4 value[GROUP];
    group_fetch(s, offsets[i], weights, rows.slice, group_owned(i), value);
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      const float of[4] = {value[j].x, value[j].y, value[j].z, value[j].w};
      if (tile_exists(offsets[i], j)) tile_store(offsets[i], j, of);
    }
  }
}

/* From the gradients by all layers' outputs to the weights in shared memory. */
static __device__ __forceinline__ void weights_update(const args &s, const row_set &rows,
                                                      const ep_optimizer &optimizer,
                                                      const ep_optimizer_step &update,
                                                      const group_offsets (&offsets)[GROUPS_EACH],
                                                      owned_tiles &own) {
  float sum[GROUPS_EACH][GROUP][4];
#pragma unroll
  for (int i = SHARED_TURNS; i < GROUPS_EACH; i++) {
    if (GROUPS < WARPS && group_owned(i) >= GROUPS) continue;
    gradients_sum(offsets[i], sum[i]);
    int group = group_summed(i, (int)rows.slice);
    if constexpr (ROW_BLOCKS > 1)
#pragma unroll
      for (int j = 0; j < GROUP; j++)
        if (tile_exists(offsets[i], j))
          __stcg(scratch_at(s, (int)(rows.parity * ROW_BLOCKS + rows.row_block),
                            group < SHARED_GROUPS ? 0 : rows.slice, group * GROUP + j),
                 make_float4(sum[i][j][0], sum[i][j][1], sum[i][j][2], sum[i][j][3]));
  }
  if constexpr (ROW_BLOCKS > 1) {
    blocks_arrive();
    blocks_wait();
  }
  if constexpr (SHARES_UPDATE)
    shares_update(s, rows, optimizer, update, offsets, own);
  else
    groups_update(s, rows, optimizer, update, offsets, sum, own);
}

#endif
