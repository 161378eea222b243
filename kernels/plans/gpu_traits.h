/* gpu_traits.h: a GPU, as far as plans and costs depend on it, and the facts of its generation
 * (NVIDIA, "CUDA C++ Programming Guide", Compute Capabilities). No CUDA here. */
#ifndef EP_KERNELS_PLANS_GPU_TRAITS_H
#define EP_KERNELS_PLANS_GPU_TRAITS_H

#include <stdint.h>

typedef struct {
  int capability; /* 90 for 9.0 */
  int generation; /* whose machine code a build runs on it: the capability, or less where the build
                     has but PTX of an older one */
  int multiprocessors;
} ep_gpu_traits;

/* What a generation has, one bit each. */
enum {
  EP_GPU_AMPERE = 1 << 0,   /* tensor cores that take bfloat16 and TF32, copies into shared memory
                               beside the computation: from 8.0 on */
  EP_GPU_CLUSTERS = 1 << 1, /* of blocks that reach each other's shared memory: from 9.0 on */
  EP_GPU_LARGE_BLOCKS = 1 << 2, /* clusters of blocks with EP_GPU_LARGE_BLOCK_BYTES each: 12.x has
                                   fewer bytes */
  EP_GPU_WGMMA = 1 << 3         /* products of warpgroups: 9.0 alone */
};

enum {
  EP_GPU_WARP = 32,                  /* threads */
  EP_GPU_REGISTERS = 65536,          /* of a multiprocessor */
  EP_GPU_CLUSTER_BLOCKS = 8,         /* of a cluster, on every GPU that has clusters */
  EP_GPU_CLUSTER_BLOCKS_MAX = 16,    /* where a kernel asks for more than portable */
  EP_GPU_LARGE_BLOCK_BYTES = 232448, /* of shared memory that a block may ask for */
  EP_GPU_EXCHANGE_CYCLES = 600,      /* of an H200, before what a block gives another arrives … */
  EP_GPU_EXCHANGE_BYTES = 20         /* … and that arrive in each cycle after them */
};

unsigned ep_gpu_features(int capability);

/* Bytes of shared memory that a block may ask for, without a kibibyte for what a kernel declares
 * besides. */
int64_t ep_gpu_shared_bytes(int capability);

/* instruction_set: "sm_90", as a backend names it; "" and 0 for a GPU that is not known yet, which
 * is taken to be an H100 or H200. The generation is taken to be the capability. */
ep_gpu_traits ep_gpu_traits_of(const char *instruction_set, int multiprocessors);

/* Cycles of a multiprocessor in a second, an H200's: what turns seconds that were measured on one
 * into the cycles that a profile states. */
#define EP_GPU_CYCLES_PER_SECOND 1.98e9

#endif
