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
  EP_GPU_AMPERE = 1 << 0, /* tensor cores that take bfloat16 and TF32, copies that nobody waits for:
                             from 8.0 on */
  EP_GPU_LARGE_BLOCKS = 1 << 1, /* clusters of blocks with EP_GPU_LARGE_BLOCK_BYTES each: from 9.0
                                   on, but 12.x lacks the bytes */
};

enum {
  EP_GPU_WARP = 32,                  /* threads */
  EP_GPU_CLUSTER_BLOCKS = 8,         /* of a cluster, on every GPU that has clusters */
  EP_GPU_CLUSTER_BLOCKS_MAX = 16,    /* likewise, where a kernel asks for more than portable */
  EP_GPU_LARGE_BLOCK_BYTES = 232448, /* shared memory that a block may ask for */
  EP_GPU_REGISTERS = 65536           /* of a multiprocessor */
};

unsigned ep_gpu_features(int capability);

/* Bytes of shared memory that a block may ask for, without a kibibyte for what a kernel declares
 * besides. */
int64_t ep_gpu_shared_bytes(int capability);

/* instruction_set: "sm_90", as a backend names it; "" and 0 for a GPU that is not known yet, which
 * is taken to be an H100 or H200. The generation is taken to be the capability. */
ep_gpu_traits ep_gpu_traits_of(const char *instruction_set, int multiprocessors);

#endif
