/* norms.cuh: stages whose core is a norm, for cuda/persistent. What the stage before made lies in
 * [features, LINE] at S::NORMAL, and becomes the normalized value there.
 *
 * batch_norm: a warp takes a feature. Groups of rows exchange the mean and the sum of squares about
 * it, which are merged after Chan, Golub and LeVeque, "Updating Formulae and a Pairwise Algorithm
 * for Computing Sample Variances" (1979). layer_norm: threads share a row's features; slices
 * exchange the same of each row. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_NORMS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_PERSISTENT_NORMS_CUH

#include "kernels/cuda/executors/persistent/stages.cuh"
#include "kernels/formulas/norms.h"

constexpr int ROWS_EACH_LANE = divide_up(ROWS, WARP);

/* --- batch_norm ------------------------------------------------------------------------------ */

/* Two numbers of a feature, to all groups of rows of this slice. */
template <class S>
static __device__ __forceinline__ void pair_give(const context &c, int given, int feature, float a,
                                                 float b) {
  const float of[2] = {a, b};
  const int at = given + ((c.slice * S::FEATURES + feature) * GROUPS + c.group) * 2;
  if constexpr (CLUSTERED) {
    if (c.lane < GROUPS) c.of_rows.give_to(c.lane, at, of);
  } else {
    if (c.lane == 0) c.of_rows.give(at, of);
  }
}

/* The groups' numbers of a feature: take(group, a, b), each group by one lane. */
template <class S, class TAKE>
static __device__ __forceinline__ void pairs_take(const context &c, int given, int feature,
                                                  TAKE take) {
  constexpr int COUNT = divide_up(GROUPS, WARP);
  const int from = given + (c.slice * S::FEATURES + feature) * GROUPS * 2;
  float2 pair[COUNT];
  for (int turns = 0;; tagged_poll(turns)) {
    unsigned missing = 0;
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      const int group = c.lane + i * WARP;
      if (group >= GROUPS) continue;
      pair[i] = c.of_rows.load2(from + group * 2);
      missing |= c.of_rows.is_missing(pair[i]);
    }
    if (!__any_sync(ALL_LANES, missing)) break;
  }
#pragma unroll
  for (int i = 0; i < COUNT; i++)
    if (c.lane + i * WARP < GROUPS)
      take(c.lane + i * WARP, untagged(pair[i].x), untagged(pair[i].y));
}

struct moments {
  float mean, squares; /* the sum of squares about it */
};

/* Of a feature on this block's rows. */
template <class S>
static __device__ __forceinline__ moments rows_moments(const context &c, int feature) {
  const float *z = memory + S::NORMAL + feature * LINE;
  float of[ROWS_EACH_LANE], sum = 0, squares = 0;
#pragma unroll
  for (int i = 0; i < ROWS_EACH_LANE; i++) {
    const int row = c.lane + i * WARP;
    of[i] = row < ROWS && c.is_valid(row) ? z[row] : 0;
    sum += of[i];
  }
  const int count = part_of(c.rows, ROWS, c.group);
  const float mean = count > 0 ? warp_sum(sum) / (float)count : 0;
#pragma unroll
  for (int i = 0; i < ROWS_EACH_LANE; i++) {
    const int row = c.lane + i * WARP;
    const float about = of[i] - mean;
    squares += row < ROWS && c.is_valid(row) ? about * about : 0;
  }
  return {mean, warp_sum(squares)};
}

/* Those of all groups. */
template <class S>
static __device__ __forceinline__ moments groups_moments(const context &c, int feature) {
  moments all = {0, 0};
  float mean[divide_up(GROUPS, WARP)] = {}, share[divide_up(GROUPS, WARP)] = {};
  pairs_take<S>(c, S::GIVEN_STATISTICS, feature, [&](int group, float of, float squares) {
    mean[group / WARP] = of;
    share[group / WARP] = (float)part_of(c.rows, ROWS, group);
    all.mean += of * share[group / WARP];
    all.squares += squares;
  });
  all.mean = warp_sum(all.mean) / (float)c.rows;
#pragma unroll
  for (int i = 0; i < divide_up(GROUPS, WARP); i++) {
    const float about = mean[i] - all.mean;
    all.squares += share[i] * about * about;
  }
  all.squares = warp_sum(all.squares);
  return all;
}

/* Normalizes a feature and runs the tail. */
template <class S>
static __device__ __forceinline__ void feature_normalize(context &c, int feature,
                                                         const moments &of) {
  const float variance = of.squares / (float)c.rows, inverse = 1 / sqrtf(variance + S::EPS);
  const float scale = memory[S::WEIGHTS + feature], offset = memory[S::BIAS + feature];
  float *z = memory + S::NORMAL + feature * LINE;
  if (c.lane == 0) {
    memory[S::INVERSE + feature] = inverse;
    float *running = memory + S::RUNNING + 2 * feature;
    running[0] = ep_running_mean(running[0], of.mean, S::MOMENTUM);
    running[1] = ep_running_variance(running[1], variance, c.rows, S::MOMENTUM);
  }
#pragma unroll
  for (int i = 0; i < ROWS_EACH_LANE; i++) {
    const int row = c.lane + i * WARP;
    if (row >= ROWS) continue;
    const float normal = (z[row] - of.mean) * inverse, core[1] = {normal * scale + offset};
    z[row] = normal;
    value_take<S>(c, feature, row, core);
  }
}

template <class S> static __device__ __forceinline__ void batch_norm_forward(context &c) {
  const int features = c.features<S>();
  if constexpr (GROUPS > 1) {
#pragma unroll 1
    for (int f = c.warp; f < features; f += WARPS) {
      const moments own = rows_moments<S>(c, f);
      pair_give<S>(c, S::GIVEN_STATISTICS, f, own.mean, own.squares);
    }
  }
#pragma unroll 1
  for (int f = c.warp; f < features; f += WARPS)
    feature_normalize<S>(c, f, GROUPS > 1 ? groups_moments<S>(c, f) : rows_moments<S>(c, f));
}

/* The sums, over this block's rows, of the gradient and of its product with the normalized value.
 */
template <class S>
static __device__ __forceinline__ float2 rows_sums(const context &c, int feature) {
  const float *grad = memory + S::GRAD + feature * LINE,
              *normal = memory + S::NORMAL + feature * LINE;
  float sum = 0, with_normal = 0;
#pragma unroll
  for (int i = 0; i < ROWS_EACH_LANE; i++) {
    const int row = c.lane + i * WARP;
    if (row >= ROWS || !c.is_valid(row)) continue;
    sum += grad[row];
    with_normal += grad[row] * normal[row];
  }
  return make_float2(warp_sum(sum), warp_sum(with_normal));
}

/* The gradients by a norm's weight and bias. */
template <class S>
static __device__ __forceinline__ void norm_gradients_give(const context &c, int feature,
                                                           float by_weight, float by_bias) {
  float weight[1] = {by_weight}, bias[1] = {by_bias};
  if (c.lane != 0) return;
  gradient_give<S>(c, feature, weight);
  gradient_give<S>(c, S::BIAS_WORD + feature, bias);
}

template <class S, class P>
static __device__ __forceinline__ void feature_backward(context &c, int feature, float sum,
                                                        float with_normal) {
  const float factor = memory[S::INVERSE + feature] * memory[S::WEIGHTS + feature];
  const float rest = 1 / (float)c.rows;
  const float *grad = memory + S::GRAD + feature * LINE,
              *normal = memory + S::NORMAL + feature * LINE;
#pragma unroll
  for (int i = 0; i < ROWS_EACH_LANE; i++) {
    const int row = c.lane + i * WARP;
    if (row >= ROWS) continue;
    const float all = factor * (grad[row] - rest * (sum + normal[row] * with_normal));
    const float of[1] = {c.is_valid(row) ? all : 0};
    grad_take<P>(c, feature, row, of);
  }
}

template <class S, class P> static __device__ __forceinline__ void batch_norm_backward(context &c) {
  const int features = c.features<S>();
#pragma unroll 1
  for (int f = c.warp; f < features; f += WARPS) {
    const float2 own = rows_sums<S>(c, f);
    norm_gradients_give<S>(c, f, own.y, own.x);
    if constexpr (GROUPS > 1)
      pair_give<S>(c, S::GIVEN_SUMS, f, own.x, own.y);
    else
      feature_backward<S, P>(c, f, own.x, own.y);
  }
  if constexpr (GROUPS > 1) {
#pragma unroll 1
    for (int f = c.warp; f < features; f += WARPS) {
      float sum = 0, with_normal = 0;
      pairs_take<S>(c, S::GIVEN_SUMS, f, [&](int, float a, float b) {
        sum += a;
        with_normal += b;
      });
      feature_backward<S, P>(c, f, warp_sum(sum), warp_sum(with_normal));
    }
  }
}

/* --- layer_norm ------------------------------------------------------------------------------ */

constexpr int ROW_PARTS = THREADS / ROWS; /* threads that share a row's features */

constexpr int min_of(int a, int b) {
  return a < b ? a : b;
}

/* Those of them that sum up `count` numbers of a row: the more there are, the more there is to add
 * in the end. */
constexpr int sum_parts(int count) {
  int parts = 1;
  while (2 * parts <= ROW_PARTS && 2 * parts * parts <= count) parts *= 2;
  return parts;
}

/* The sums, over the first PARTS threads of each row, of two numbers, in each of its threads. */
template <int PARTS>
static __device__ __forceinline__ float2 row_parts_sum(const context &c, float2 own) {
  const int row = c.thread % ROWS, part = c.thread / ROWS;
  float2 *scratch = (float2 *)(memory + SCRATCH), all = make_float2(0, 0);
  if (part < PARTS) scratch[part * ROWS + row] = own;
  block_sync();
#pragma unroll 8
  for (int p = 0; p < PARTS; p++) {
    const float2 more = scratch[p * ROWS + row];
    all.x += more.x, all.y += more.y;
  }
  return all;
}

/* The same over this block's features of each row: of(feature, row). */
template <class S, class OF>
static __device__ __forceinline__ float2 features_sums(const context &c, OF of) {
  constexpr int PARTS = sum_parts(S::FEATURES);
  const int row = c.thread % ROWS, part = c.thread / ROWS, features = c.features<S>();
  float2 sum = make_float2(0, 0);
  if (part < PARTS)
    for (int f = part; f < features; f += PARTS) {
      const float2 more = of(f, row);
      sum.x += more.x, sum.y += more.y;
    }
  return row_parts_sum<PARTS>(c, sum);
}

constexpr int SLICE_PARTS = min_of(ROW_PARTS, min_of(32, power_above(SLICES)));

/* Two numbers of each of this block's rows, which all threads of the row have, to all slices; then
 * each thread takes those of some slices: take(slice, a, b). */
template <class TAKE>
static __device__ __forceinline__ void row_pairs_exchange(const context &c, int given, float2 own,
                                                          TAKE take) {
  constexpr int COUNT = divide_up(SLICES, SLICE_PARTS);
  const int row = c.thread % ROWS, part = c.thread / ROWS;
  const float of[2] = {own.x, own.y};
  const int first = given + (c.group * SLICES * ROWS + row) * 2;
  if (part == 0) c.of_rows.give(first + c.slice * ROWS * 2, of);
  if (part >= SLICE_PARTS) return;
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const int slice = part + i * SLICE_PARTS;
    if (slice >= SLICES) break;
    float2 pair;
    for (int turns = 0;; tagged_poll(turns)) {
      pair = c.of_rows.load2(first + slice * ROWS * 2);
      if (!c.of_rows.is_missing(pair)) break;
    }
    take(slice, untagged(pair.x), untagged(pair.y));
  }
}

/* Of each row over all slices, of which `own` are this slice's: Chan's merge. */
template <class S>
static __device__ __forceinline__ moments row_moments_merge(const context &c, const moments &own) {
  constexpr int COUNT = divide_up(SLICES, SLICE_PARTS);
  float mean[COUNT] = {}, share[COUNT] = {}, squares = 0, sum = 0;
  row_pairs_exchange(c, S::GIVEN_STATISTICS, make_float2(own.mean, own.squares),
                     [&](int slice, float of_mean, float of_squares) {
                       const float features = (float)part_of(S::OUT, S::SLICE, slice);
                       mean[slice / SLICE_PARTS] = of_mean;
                       share[slice / SLICE_PARTS] = features;
                       sum += features * of_mean;
                       squares += of_squares;
                     });
  block_sync(); /* the scratch */
  const float all = row_parts_sum<SLICE_PARTS>(c, make_float2(sum, 0)).x / (float)S::OUT;
#pragma unroll
  for (int i = 0; i < COUNT; i++) squares += share[i] * (mean[i] - all) * (mean[i] - all);
  block_sync();
  return {all, row_parts_sum<SLICE_PARTS>(c, make_float2(squares, 0)).x};
}

/* Of each row's features. The squares are those about a row's first value, which is near enough to
 * the mean for float32. */
template <class S> static __device__ __forceinline__ moments row_moments(const context &c) {
  const float *z = memory + S::NORMAL;
  const float shift = z[c.thread % ROWS];
  const float2 sums = features_sums<S>(c, [&](int feature, int row) {
    const float about = z[feature * LINE + row] - shift;
    return make_float2(about, about * about);
  });
  const int features = c.features<S>();
  const float about = features > 0 ? sums.x / (float)features : 0;
  const moments own = {shift + about, fmaxf(sums.y - sums.x * about, 0)};
  if constexpr (S::SLICED) return row_moments_merge<S>(c, own);
  return own;
}

template <class S> static __device__ __forceinline__ void layer_norm_forward(context &c) {
  float *z = memory + S::NORMAL;
  const int row = c.thread % ROWS, part = c.thread / ROWS, features = c.features<S>();
  const moments of = row_moments<S>(c);
  const float inverse = 1 / sqrtf(of.squares / (float)S::OUT + S::EPS);
  if (part == 0) memory[S::INVERSE + row] = inverse;
  if (part < ROW_PARTS)
    for (int f = part; f < features; f += ROW_PARTS) {
      const float normal = (z[f * LINE + row] - of.mean) * inverse;
      const float core[1] = {normal * memory[S::WEIGHTS + f] + memory[S::BIAS + f]};
      z[f * LINE + row] = normal;
      value_take<S>(c, f, row, core);
    }
}

/* Of the gradient by the normalized values, and of its product with them, over all features. */
template <class S> static __device__ __forceinline__ float2 row_gradient_sums(const context &c) {
  const float *normal = memory + S::NORMAL, *grad = memory + S::GRAD;
  const float2 own = features_sums<S>(c, [&](int feature, int row) {
    const float by_normal = grad[feature * LINE + row] * memory[S::WEIGHTS + feature];
    return make_float2(by_normal, by_normal * normal[feature * LINE + row]);
  });
  if constexpr (!S::SLICED) return own;
  float2 sum = make_float2(0, 0);
  row_pairs_exchange(c, S::GIVEN_SUMS, own, [&](int, float a, float b) {
    sum.x += a;
    sum.y += b;
  });
  block_sync(); /* the scratch */
  return row_parts_sum<SLICE_PARTS>(c, sum);
}

template <class S, class P> static __device__ __forceinline__ void layer_norm_backward(context &c) {
  const float *normal = memory + S::NORMAL, *grad = memory + S::GRAD;
  const int row = c.thread % ROWS, part = c.thread / ROWS, features = c.features<S>();
#pragma unroll 1
  for (int f = c.warp; f < features; f += WARPS) {
    const float2 own = rows_sums<S>(c, f);
    norm_gradients_give<S>(c, f, own.y, own.x);
  }
  const float2 sums = row_gradient_sums<S>(c);
  const float share = 1 / (float)S::OUT, inverse = memory[S::INVERSE + row];
  if (part < ROW_PARTS)
    for (int f = part; f < features; f += ROW_PARTS) {
      const int at = f * LINE + row;
      const float of[1] = {
          inverse * (grad[at] * memory[S::WEIGHTS + f] - share * (sums.x + normal[at] * sums.y))};
      grad_take<P>(c, f, row, of);
    }
}

#endif
