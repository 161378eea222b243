/* exchange.cuh: the end of a wide product's task whose sums other blocks share, for cuda/grid. What
 * a block has added up goes to its neighbour in a cluster, and what both have, through memory, to
 * those of other clusters: half of it from each. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_EXCHANGE_CUH
#define EP_KERNELS_CUDA_EXECUTORS_GRID_EXCHANGE_CUH

#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/executors/grid/warpgroups.cuh"

/* What the neighbour sends: the block's half of the sums, EP_GRID_PAIR_AREA floats. */
struct pair_slot {
  unsigned long long full; /* a barrier: all of it has come */
  unsigned exchanges;      /* since the launch */
};

/* One thread; mbarrier_init_fence follows. */
static __device__ void pair_make(pair_slot &pair) {
  pair.exchanges = 0;
  mbarrier_init(shared_address(&pair.full), 1);
}

/* In the other block of the cluster, what lies at `address` in this one. */
static __device__ __forceinline__ unsigned neighbours(unsigned address) {
  return cluster_address(address, (blockIdx.x & 1) ^ 1);
}

/* Four to the other block; its barrier counts their bytes. */
static __device__ __forceinline__ void four_send(unsigned to, const four &f, unsigned barrier) {
  cluster_store_async(to, make_float4(f.of[0], f.of[1], f.of[2], f.of[3]), barrier);
}

static __device__ __forceinline__ void four_add(four &to, const four &more) {
#pragma unroll
  for (int i = 0; i < 4; i++) to.of[i] += more.of[i];
}

/* How a tile's sums are exchanged. They lie as in registers, a four of each thread of a warpgroup
 * for each eight rows of the result: an eight. */
struct exchange {
  typedef wide<false> S;
  static constexpr int COUNT = S::T, EIGHT = 4 * S::GROUP, PART = COUNT * EIGHT;
  static constexpr int HALF = (COUNT + 1) / 2, STRIDE = S::M + 4;
  static_assert(HALF * EIGHT == EP_GRID_PAIR_AREA, "what plan.c reserves");
  /* Of shared memory: sums and rows; behind them lies what the ends of four rounds need. */
  static constexpr int FLOATS = 2 * PART + 8 * HALF * STRIDE;
  static_assert(FLOATS + HALF * EIGHT + 4 * S::GROUP <= EP_GRID_WIDE_AREA, "what plan.c reserves");
  bool paired;
  int splits, split; /* of what blocks have together, where they are pairs */
  int begin, end;    /* eights that are the block's, or of which every splits-th is */
};

static __device__ __forceinline__ exchange exchange_of(const ep_grid_cut &cut, int split,
                                                       bool paired) {
  const bool second = paired && blockIdx.x % 2 == 1, first = paired && !second;
  return {paired, paired ? cut.splits / 2 : cut.splits, paired ? split / 2 : split,
          second ? exchange::HALF : 0, first ? exchange::HALF : exchange::COUNT};
}

/* A four of a thread's, as fragments lie, to rows in shared memory. beside: from its first column
 * to its second. */
static __device__ __forceinline__ void four_turn(float *turned, int eight, const four &f,
                                                 int beside) {
#pragma unroll
  for (int e = 0; e < 4; e++)
    turned[(eight * 8 + e % 2) * exchange::STRIDE + e / 2 * beside] = f.of[e];
}

/* Adds up what the warpgroups have of a tile, [2, N / 8, 4 WARP, 4], and others: `paired`, a block
 * sends its neighbour that half of the eights that is his; then parts go through `partials`
 * ([tasks, N / 8, 4 WARP, 4]), and are added in the order of the splits. The block's eights lie in
 * rows behind the sums then. Loops are short, and both ways', since a step's instructions displace
 * one another. column, beside: of the thread, as fragments lie. sent: EP_GRID_PAIR_AREA floats. */
static __device__ __noinline__ void sums_exchange(const exchange of, float *area, float *parts,
                                                  unsigned *counter, unsigned target, float *sent,
                                                  pair_slot &pair, int column, int beside) {
  typedef exchange X;
  constexpr int RUN = 4;
  const int slot = threadIdx.x % X::S::GROUP, group = threadIdx.x / X::S::GROUP;
  const float *sums = area + 4 * threadIdx.x;
  float *turned = area + 2 * X::PART + threadIdx.x % 4 * 2 * X::STRIDE + column;
  __syncthreads();
  if (of.paired) {
    const unsigned full = shared_address(&pair.full), theirs = neighbours(full);
    const int parity = pair.exchanges & 1, begin = of.begin == 0 ? X::HALF : 0,
              end = of.begin == 0 ? X::COUNT : X::HALF;
    unsigned to = neighbours(shared_address(sent + 4 * threadIdx.x));
    if (threadIdx.x == 0)
      mbarrier_expect(full, (of.end - of.begin) * X::EIGHT * (int)sizeof(float));
#pragma unroll 1
    for (int eight = begin + group; eight < end; eight += 2) {
      const float *from = sums + (eight - group) * X::EIGHT;
      four sum = four_of(from);
      four_add(sum, four_of(from + X::PART));
      four_send(to + (eight - group - begin) * X::EIGHT * (int)sizeof(float), sum, theirs);
    }
    mbarrier_wait_cluster(full, parity);
  }
#pragma unroll 1
  for (int eight = of.begin + group; eight < of.end; eight += 2) {
    const float *from = sums + (eight - group) * X::EIGHT;
    four sum = four_of(from);
    four_add(sum, four_of(from + X::PART));
    if (of.paired) four_add(sum, four_of(sent + (eight - of.begin) * X::EIGHT + 4 * slot));
    if (of.splits > 1)
      four_store(parts + of.split * X::PART + eight * X::EIGHT + 4 * slot, sum);
    else
      four_turn(turned, eight - of.begin, sum, beside);
  }
  if (of.splits > 1) {
    const int shift = of.splits <= 2 ? 1 : WARP - __clz(of.splits - 1), last = (1 << shift) - 1;
    const float *theirs = parts + 4 * slot;
    counter_meet(counter, target);
    four sum = {{0, 0, 0, 0}};
    int mine = (of.end - of.begin - of.split + of.splits - 1) / of.splits; /* eights */
    mine = (mine - group + 1) / 2 << shift;
#pragma unroll 1
    for (int first = 0; first < mine; first += RUN) {
      four part[RUN];
#pragma unroll
      for (int i = 0; i < RUN; i++) {
        int split = (first + i) & last, number = (first + i) >> shift << 1 | group;
        int eight = of.begin + of.split + number * of.splits;
        part[i] = four_there(theirs + split * X::PART + eight * X::EIGHT,
                             first + i < mine && split < of.splits);
      }
#pragma unroll
      for (int i = 0; i < RUN; i++) {
        int split = (first + i) & last, number = (first + i) >> shift << 1 | group;
        if (split == 0) sum = {{0, 0, 0, 0}};
        four_add(sum, part[i]);
        if (split == last && first + i < mine) four_turn(turned, number, sum, beside);
      }
    }
  }
  __syncthreads();
  if (of.paired && threadIdx.x == 0) pair.exchanges++;
}

/* Ends a task of warpgroups that share a sum with other blocks. What a thread's ends need is on its
 * way to shared memory meanwhile. */
template <class S, class Use>
static __device__ __forceinline__ void
parts_end(const float (&c)[S::MF][S::T][4], float *area, const ep_grid_cut &cut, const task &of,
          float *partials, unsigned *counters, unsigned turn, const Use &use, bool paired,
          float *sent, pair_slot &pair) {
  typedef exchange X;
  constexpr int ACROSS = S::M / 4, LINES = THREADS / ACROSS; /* that the block ends at once */
  const exchange how = exchange_of(cut, of.split, paired);
  const int slot = threadIdx.x % S::GROUP, group = threadIdx.x / S::GROUP;
  const int line = threadIdx.x / ACROSS % 8, column = threadIdx.x % ACROSS * 4;
  const int first = how.begin + how.split + (int)threadIdx.x / (8 * ACROSS) * how.splits;
  const int next = LINES / 8 * how.splits;
  const float *from = area + 2 * X::PART + threadIdx.x / ACROSS * X::STRIDE + column;
  float *with = area + X::FLOATS + 4 * threadIdx.x;
#pragma unroll 1
  for (int eight = first, i = 0; eight < how.end; eight += next, i += 4 * THREADS) {
    use.fetch(eight * 8 + line, column, with + i);
    if (!Use::BY_ROWS) break; /* one for all rows */
  }
#pragma unroll
  for (int j = 0; j < S::T; j++)
    four_store(area + group * X::PART + j * X::EIGHT + 4 * slot,
               {{c[0][j][0], c[0][j][1], c[0][j][2], c[0][j][3]}});
  sums_exchange(how, area, partials + (long long)of.group * cut.splits * X::PART,
                counters + cut.counters + 2 * of.group + (how.begin != 0), turn * how.splits, sent,
                pair, result_row<S>(slot / WARP, threadIdx.x % WARP / 4), S::A_BY_K ? 1 : 8);
  cp_async_wait_all();
#pragma unroll 1
  for (int eight = first; eight < how.end; eight += next) {
    use.store(eight * 8 + line, column, four_of(from), {four_of(with)});
    from += LINES * X::STRIDE, with += Use::BY_ROWS ? 4 * THREADS : 0;
  }
  __syncthreads();
}

#endif
