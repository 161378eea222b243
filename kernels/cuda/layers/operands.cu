/* Operands of products: rows are padded, since cuBLASLt takes several times as long for rows that
 * do not begin on 16 bytes, and numbers are made what the precision asks for. */
#include "kernels/cuda/layers/operands.h"

#include "kernels/cuda/device/bf16.cuh"
#include "kernels/cuda/layers/launch.cuh"

enum { LINES = 8, ACROSS = 4 }; /* rows of a block at once, numbers of a lane */

/* Blocks: x for columns, y for rows. */
static dim3 blocks_of(int64_t rows, int64_t columns) {
  const int64_t down = (rows + LINES - 1) / LINES, most = 16384;
  return dim3((unsigned int)((columns + ACROSS * WARP - 1) / (ACROSS * WARP)),
              (unsigned int)(down < most ? down : most));
}

/* The nearest TF32. What is not finite, or would not be, stays as it is. */
static __device__ float rounded(float value) {
  const float near = tf32_rounded(value);
  return isfinite(near) ? near : value;
}

/* The same of a number, which becomes it; returns the nearest TF32 of what that leaves. */
static __device__ float rest_of(float &value) {
  const float all = value;
  value = rounded(all);
  return isfinite(value) ? rounded(all - value) : 0;
}

/* A lane's numbers of a row, zeros behind the last column. */
static __device__ void row_read(const float *row, int64_t first, int64_t columns,
                                float (&to)[ACROSS]) {
#pragma unroll
  for (int i = 0; i < ACROSS; i++) to[i] = first + i * WARP < columns ? row[first + i * WARP] : 0;
}

template <int FORM> struct number_of { typedef float type; };
template <> struct number_of<EP_CUDA_OPERAND_BF16> { typedef half_number type; };

template <int FORM>
static __global__ void pack_rows(int64_t rows, int64_t columns, int64_t pitch, const float *from,
                                 typename number_of<FORM>::type *to, float *rest) {
  kernels_overlap();
  const int64_t first = (int64_t)blockIdx.x * ACROSS * WARP + threadIdx.x;
  for (int64_t row = (int64_t)blockIdx.y * LINES + threadIdx.y; row < rows;
       row += (int64_t)gridDim.y * LINES) {
    float value[ACROSS];
    row_read(from + row * columns, first, columns, value);
#pragma unroll
    for (int i = 0; i < ACROSS; i++) {
      const int64_t column = first + i * WARP, at = row * pitch + column;
      if (column >= pitch) break;
      if constexpr (FORM == EP_CUDA_OPERAND_BF16) {
        to[at] = __float2bfloat16_rn(value[i]);
      } else {
        const float left = rest_of(value[i]);
        to[at] = value[i];
        if constexpr (FORM == EP_CUDA_OPERAND_SPLIT) rest[at] = left;
      }
    }
  }
}

/* Whole vectors of four: no row has a gap, so the matrix is one row. */
template <int FORM>
static __global__ void pack_quads(int64_t quads, const float *from,
                                  typename number_of<FORM>::type *to, float *rest) {
  kernels_overlap();
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < quads;
       i += (int64_t)gridDim.x * blockDim.x) {
    float value[4], left[4];
    load<4>(from + 4 * i, value);
    if constexpr (FORM != EP_CUDA_OPERAND_BF16) {
#pragma unroll
      for (int k = 0; k < 4; k++) left[k] = rest_of(value[k]);
      if constexpr (FORM == EP_CUDA_OPERAND_SPLIT) store<4>(rest + 4 * i, left);
    }
    store<4>(to + 4 * i, value);
  }
}

template <int FORM>
static void pack_launch(cudaStream_t stream, int64_t rows, int64_t columns, const float *from,
                        void *to, void *rest) {
  typedef typename number_of<FORM>::type number;
  const int64_t pitch = ep_cuda_operand_pitch((ep_cuda_operand_form)FORM, columns);
  const int threads = 256;
  if (pitch == columns && ep_cuda_has_quads(from)) {
    const int64_t quads = rows * columns / 4;
    ep_cuda_queue(stream, ep_cuda_blocks(quads, threads), threads, 0, pack_quads<FORM>, quads, from,
                  (number *)to, (float *)rest);
  } else {
    ep_cuda_queue(stream, blocks_of(rows, pitch), dim3(WARP, LINES), 0, pack_rows<FORM>, rows,
                  columns, pitch, from, (number *)to, (float *)rest);
  }
}

cudaError_t ep_cuda_operand_pack(cudaStream_t stream, ep_cuda_operand_form form, int64_t rows,
                                 int64_t columns, const float *from, void *to, void *rest) {
  if (form == EP_CUDA_OPERAND_PADDED)
    pack_launch<EP_CUDA_OPERAND_PADDED>(stream, rows, columns, from, to, rest);
  else if (form == EP_CUDA_OPERAND_BF16)
    pack_launch<EP_CUDA_OPERAND_BF16>(stream, rows, columns, from, to, rest);
  else if (form == EP_CUDA_OPERAND_SPLIT)
    pack_launch<EP_CUDA_OPERAND_SPLIT>(stream, rows, columns, from, to, rest);
  return cudaGetLastError();
}

static __global__ void unpack_rows(int64_t rows, int64_t columns, int64_t pitch, const float *from,
                                   const float *bias, float *to) {
  kernels_overlap();
  const int64_t first = (int64_t)blockIdx.x * ACROSS * WARP + threadIdx.x;
  float more[ACROSS];
#pragma unroll
  for (int i = 0; i < ACROSS; i++)
    more[i] = bias && first + i * WARP < columns ? bias[first + i * WARP] : 0;
  for (int64_t row = (int64_t)blockIdx.y * LINES + threadIdx.y; row < rows;
       row += (int64_t)gridDim.y * LINES) {
    float value[ACROSS];
    row_read(from + row * pitch, first, columns, value);
#pragma unroll
    for (int i = 0; i < ACROSS; i++)
      if (first + i * WARP < columns) to[row * columns + first + i * WARP] = value[i] + more[i];
  }
}

cudaError_t ep_cuda_operand_unpack(cudaStream_t stream, int64_t rows, int64_t columns,
                                   int64_t pitch, const float *from, const float *bias, float *to) {
  ep_cuda_queue(stream, blocks_of(rows, columns), dim3(WARP, LINES), 0, unpack_rows, rows, columns,
                pitch, from, bias, to);
  return cudaGetLastError();
}
