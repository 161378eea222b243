/* builtins.h: what CUDA's compiler knows without an include, for device code that a C++ compiler
 * compiles for the emulator. Included by force, before everything else. __CUDACC__ and
 * __CUDA_ARCH__ stay undefined. Static __shared__ variables are not there. */
#ifndef EP_TEST_EMULATOR_BUILTINS_H
#define EP_TEST_EMULATOR_BUILTINS_H

/* Before __noinline__ is a macro, which is an attribute's name to the C++ library. <math.h> brings
 * the overloads for float into the global namespace. */
#include <cmath>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "device_calls.h"

#define __device__
#define __host__
#define __global__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

constexpr int warpSize = 32;

/* --- vectors --------------------------------------------------------------------------------- */

#define EMULATOR_VECTORS(type, name)                                     \
  struct alignas(2 * sizeof(type)) name##2 {                             \
    type x, y;                                                           \
  };                                                                     \
  struct name##3 {                                                       \
    type x, y, z;                                                        \
  };                                                                     \
  struct alignas(4 * sizeof(type)) name##4 {                             \
    type x, y, z, w;                                                     \
  };                                                                     \
  static inline name##2 make_##name##2(type x, type y) {                 \
    return {x, y};                                                       \
  }                                                                      \
  static inline name##3 make_##name##3(type x, type y, type z) {         \
    return {x, y, z};                                                    \
  }                                                                      \
  static inline name##4 make_##name##4(type x, type y, type z, type w) { \
    return {x, y, z, w};                                                 \
  }

EMULATOR_VECTORS(float, float)
EMULATOR_VECTORS(int, int)
EMULATOR_VECTORS(unsigned, uint)

/* --- collectives ----------------------------------------------------------------------------- */

static inline void __syncthreads(EMULATOR_SITE) {
  emulator_barrier(0, blockDim.x, false, site);
}
static inline int __syncthreads_count(int predicate, EMULATOR_SITE) {
  return emulator_barrier(0, blockDim.x, predicate != 0, site);
}
static inline int __syncthreads_and(int predicate, EMULATOR_SITE) {
  return emulator_barrier(0, blockDim.x, predicate != 0, site) == (int)blockDim.x;
}
static inline int __syncthreads_or(int predicate, EMULATOR_SITE) {
  return emulator_barrier(0, blockDim.x, predicate != 0, site) != 0;
}
static inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATOR_SITE) {
  emulator_meet(EMULATOR_SYNCWARP, mask, nullptr, site);
}

template <typename T>
static inline T emulator_shuffled(unsigned mask, T value, unsigned from, emulator_site site) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle takes 4 or 8 bytes");
  emulator_shuffle shuffle = {0, from, 0};
  memcpy(&shuffle.value, &value, sizeof value);
  emulator_meet(EMULATOR_SHUFFLE, mask, &shuffle, site);
  memcpy(&value, &shuffle.got, sizeof value);
  return value;
}

/* Lanes width * i … width * (i + 1) - 1 shuffle among themselves; width: a power of two. A lane
 * whose partner is not there gets its own value. */
template <typename T>
static inline T __shfl_sync(unsigned mask, T value, int from, int width = 32, EMULATOR_SITE) {
  unsigned lane = threadIdx.x % 32, within = (unsigned)width - 1;
  return emulator_shuffled(mask, value, (lane & ~within) | ((unsigned)from & within), site);
}
template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, EMULATOR_SITE) {
  unsigned lane = threadIdx.x % 32, from = lane ^ (unsigned)bits;
  return emulator_shuffled(mask, value, from <= (lane | ((unsigned)width - 1)) ? from : lane, site);
}
template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32,
                                 EMULATOR_SITE) {
  unsigned lane = threadIdx.x % 32, from = lane + by;
  return emulator_shuffled(mask, value, from <= (lane | ((unsigned)width - 1)) ? from : lane, site);
}
template <typename T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, EMULATOR_SITE) {
  unsigned lane = threadIdx.x % 32, within = lane & ((unsigned)width - 1);
  return emulator_shuffled(mask, value, by <= within ? lane - by : lane, site);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATOR_SITE) {
  emulator_vote vote = {predicate != 0, 0};
  emulator_meet(EMULATOR_VOTE, mask, &vote, site);
  return vote.ballot;
}
static inline int __any_sync(unsigned mask, int predicate, EMULATOR_SITE) {
  return __ballot_sync(mask, predicate, site) != 0;
}
static inline int __all_sync(unsigned mask, int predicate, EMULATOR_SITE) {
  return __ballot_sync(mask, !predicate, site) == 0;
}

/* Of a whole warp. */
template <typename T> static inline T __reduce_add_sync(unsigned mask, T value, EMULATOR_SITE) {
  for (int bits = 16; bits > 0; bits /= 2) value += __shfl_xor_sync(mask, value, bits, 32, site);
  return value;
}

/* --- bits ------------------------------------------------------------------------------------ */

template <typename TO, typename FROM> static inline TO emulator_bits(FROM from) {
  static_assert(sizeof(TO) == sizeof(FROM), "the same bits");
  TO to;
  memcpy(&to, &from, sizeof to);
  return to;
}
static inline unsigned __float_as_uint(float x) {
  return emulator_bits<unsigned>(x);
}
static inline float __uint_as_float(unsigned x) {
  return emulator_bits<float>(x);
}
static inline int __float_as_int(float x) {
  return emulator_bits<int>(x);
}
static inline float __int_as_float(int x) {
  return emulator_bits<float>(x);
}
static inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
static inline int __ffs(int x) {
  return __builtin_ffs(x);
}
static inline int __clz(int x) {
  return x ? __builtin_clz((unsigned)x) : 32;
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
  return (unsigned)((uint64_t)a * b >> 32);
}
static inline int __mulhi(int a, int b) {
  return (int)((int64_t)a * b >> 32);
}

/* --- numbers --------------------------------------------------------------------------------- */

static inline float __fdividef(float a, float b) {
  return a / b;
}
static inline float __frcp_rn(float x) {
  return 1 / x;
}
/* The C library has functions of these names, which nobody can call. */
#define __expf expf
#define __logf logf
#define __powf powf
#define __sinf sinf
#define __cosf cosf
static inline float __fsqrt_rn(float x) {
  return sqrtf(x);
}
static inline float rsqrtf(float x) {
  return (float)(1 / sqrt((double)x));
}
static inline float __frsqrt_rn(float x) {
  return rsqrtf(x);
}
static inline float __saturatef(float x) {
  return x > 0 ? fminf(x, 1) : 0; /* NaN is 0 */
}

#define EMULATOR_MIN_MAX(T, A, B)     \
  static inline T min(A a, B b) {     \
    return (T)a < (T)b ? (T)a : (T)b; \
  }                                   \
  static inline T max(A a, B b) {     \
    return (T)a > (T)b ? (T)a : (T)b; \
  }
EMULATOR_MIN_MAX(int, int, int)
EMULATOR_MIN_MAX(unsigned, unsigned, unsigned)
EMULATOR_MIN_MAX(unsigned, int, unsigned)
EMULATOR_MIN_MAX(unsigned, unsigned, int)
EMULATOR_MIN_MAX(long, long, long)
EMULATOR_MIN_MAX(unsigned long, unsigned long, unsigned long)
EMULATOR_MIN_MAX(unsigned long, long, unsigned long)
EMULATOR_MIN_MAX(unsigned long, unsigned long, long)
EMULATOR_MIN_MAX(long long, long long, long long)
EMULATOR_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
EMULATOR_MIN_MAX(unsigned long long, long long, unsigned long long)
EMULATOR_MIN_MAX(unsigned long long, unsigned long long, long long)

/* Of a NaN and a number, the number. */
static inline float min(float a, float b) {
  return fminf(a, b);
}
static inline float max(float a, float b) {
  return fmaxf(a, b);
}
static inline double min(double a, double b) {
  return fmin(a, b);
}
static inline double max(double a, double b) {
  return fmax(a, b);
}
static inline double min(float a, double b) {
  return fmin(a, b);
}
static inline double max(float a, double b) {
  return fmax(a, b);
}
static inline double min(double a, float b) {
  return fmin(a, b);
}
static inline double max(double a, float b) {
  return fmax(a, b);
}

/* --- device memory --------------------------------------------------------------------------- */

template <typename T> static inline T __ldg(const T *from, EMULATOR_SITE) {
  emulator_check_global(from, sizeof(T), "__ldg", site);
  return *from;
}
template <typename T> static inline T __ldcg(const T *from, EMULATOR_SITE) {
  emulator_check_global(from, sizeof(T), "__ldcg", site);
  return *from;
}
template <typename T> static inline void __stcg(T *to, T value, EMULATOR_SITE) {
  emulator_check_global(to, sizeof(T), "__stcg", site);
  *to = value;
  emulator_stored(site);
}
template <typename T> static inline T atomicAdd(T *to, T value, EMULATOR_SITE) {
  T old = *to;
  *to = old + value;
  if (*to != old) emulator_stored(site);
  return old;
}
/* Memory is in order as it is. */
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __nanosleep(unsigned, EMULATOR_SITE) {
  emulator_poll(site);
}
static inline void __trap(EMULATOR_SITE) {
  emulator_fail(site, "__trap");
}

#endif
