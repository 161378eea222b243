/* tagged.cuh: words that carry their own "arrived" flag, so that blocks exchange values without a
 * barrier or a fence. The lowest bit of a float32 is its tag, which differs between two uses of the
 * same buffer: a reader polls each word until it has the tag of this use. A value loses half a unit
 * of its last place.
 *
 * Relaxed loads and stores of the PTX ISA, at the scope of the GPU or of a cluster; one word is
 * written at once, so that no more ordering is needed. After NCCL's LL protocol, whose flags are
 * words of their own. */
#ifndef EP_KERNELS_CUDA_DEVICE_TAGGED_CUH
#define EP_KERNELS_CUDA_DEVICE_TAGGED_CUH

#include "kernels/cuda/device/shared_memory.cuh"

/* ld.relaxed.gpu.global. */
static __device__ __forceinline__ float4 tagged_load4(const float *from) {
  float4 v;
  asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(from));
  return v;
}
static __device__ __forceinline__ float2 tagged_load2(const float *from) {
  float2 v;
  asm volatile("ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(from));
  return v;
}

/* st.relaxed.gpu.global. */
static __device__ __forceinline__ void tagged_store2(float *to, float2 value) {
  asm volatile("st.relaxed.gpu.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(value.x),
               "f"(value.y));
}
static __device__ __forceinline__ void tagged_store1(float *to, float value) {
  asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(to), "f"(value));
}

/* st.relaxed.cluster.shared::cluster, to what cluster_address gave. */
static __device__ __forceinline__ void tagged_store2(unsigned to, float2 value) {
  asm volatile("st.relaxed.cluster.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(value.x),
               "f"(value.y));
}
static __device__ __forceinline__ void tagged_store1(unsigned to, float value) {
  asm volatile("st.relaxed.cluster.shared::cluster.f32 [%0], %1;" ::"r"(to), "f"(value));
}

/* ld.relaxed.cluster.shared::cta, of this block's memory. */
static __device__ __forceinline__ float4 tagged_load4(unsigned from) {
  float4 v;
  asm volatile("ld.relaxed.cluster.shared::cta.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(from));
  return v;
}
static __device__ __forceinline__ float2 tagged_load2(unsigned from) {
  float2 v;
  asm volatile("ld.relaxed.cluster.shared::cta.v2.f32 {%0, %1}, [%2];"
               : "=f"(v.x), "=f"(v.y)
               : "r"(from));
  return v;
}

/* After many turns of polling: another block of the launch is gone, or a plan is wrong. */
static __device__ __forceinline__ void tagged_poll(int &turns) {
  if (++turns > 1 << 25) __trap();
}

#endif
