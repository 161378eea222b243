/* operands.h: matrices of float32 as the products of cuBLASLt are fast with them (operands.cu). */
#ifndef EP_KERNELS_CUDA_LAYERS_OPERANDS_H
#define EP_KERNELS_CUDA_LAYERS_OPERANDS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  EP_CUDA_OPERAND_PLAIN,  /* as it lies, nothing is packed */
  EP_CUDA_OPERAND_PADDED, /* rows on 16 bytes, rounded to TF32; one that lies so already stays */
  EP_CUDA_OPERAND_BF16,   /* rows on 16 bytes of bfloat16 */
  EP_CUDA_OPERAND_SPLIT,  /* rows on 16 bytes, rounded to TF32; and, as such a matrix, what that
                             leaves: three products of TF32 come near one of float32; what is
                             infinite may become NaN */
  EP_CUDA_OPERAND_FORMS
} ep_cuda_operand_form;

/* Numbers from one row of `columns` to the next. */
static inline int64_t ep_cuda_operand_pitch(ep_cuda_operand_form form, int64_t columns) {
  const int64_t each = form == EP_CUDA_OPERAND_BF16 ? 8 : 4;
  return (columns + each - 1) / each * each;
}

static inline int64_t ep_cuda_operand_bytes(ep_cuda_operand_form form) {
  return form == EP_CUDA_OPERAND_BF16 ? 2 : 4; /* of a number */
}

/* Makes a matrix of `from`: [rows, columns]. to: [rows, pitch], written, zeros behind the last
 * column; rest: the same, of EP_CUDA_OPERAND_SPLIT; else it is not looked at. */
cudaError_t ep_cuda_operand_pack(cudaStream_t stream, ep_cuda_operand_form form, int64_t rows,
                                 int64_t columns, const float *from, void *to, void *rest);

/* to = from + bias: [rows, columns], written. from: [rows, pitch]; bias: [columns] or NULL. */
cudaError_t ep_cuda_operand_unpack(cudaStream_t stream, int64_t rows, int64_t columns,
                                   int64_t pitch, const float *from, const float *bias, float *to);

#ifdef __cplusplus
}
#endif

#endif
