/* table.h: the executors of a GPU, one row each: X(folder, compiler). The most special comes first:
 * of those that take a program, the backend chooses the first. "general" takes everything of one
 * rank, "ranks" all others.
 *
 * compiler: NVRTC: kernel.cuh is compiled at run time, for each program, with the constants that
 * codegen.c writes. NVCC: the kernels are part of the plug-in.
 *
 * All else follows from a row: the folder's part of the plug-in and its plan's library, the
 * backend's list, the plan's, the cost model, the calibrator and the tests. A folder NAME has
 * `ep_cuda_NAME_executor` in executor.c and `ep_cuda_NAME_profile` in plan.c; users see it as
 * "cuda/NAME". */
#ifndef EP_KERNELS_CUDA_EXECUTORS_TABLE_H
#define EP_KERNELS_CUDA_EXECUTORS_TABLE_H

#define EP_CUDA_EXECUTORS(X) \
  X(fused, NVRTC)            \
  X(resident, NVRTC)         \
  X(persistent, NVRTC)       \
  X(crews, NVRTC)            \
  X(grid, NVCC)              \
  X(cnn, NVRTC)              \
  X(images, NVCC)            \
  X(gemm, NVCC)              \
  X(general, NVCC)           \
  X(ranks, NVCC)

#endif
