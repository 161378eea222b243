#include "kernels/cuda/runtime/gemm.h"

#include <stdint.h>
#include <string.h>

/* cuBLASLt counts in columns first, so it sees each row-major matrix transposed, and computes
 * out^T = b^T a^T: the first operand is our b, the second our a. */

#define BLAS_TRY(call, doing)                                                          \
  do {                                                                                 \
    cublasStatus_t code_ = (call);                                                     \
    if (code_ != CUBLAS_STATUS_SUCCESS) return ep_cuda_blas_fail(error, code_, doing); \
  } while (0)

static ep_status attribute_set(ep_cuda_gemm *gemm, cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes, ep_error *error) {
  BLAS_TRY(cublasLtMatmulDescSetAttribute(gemm->product, attribute, value, bytes),
           "describing a matrix product");
  return EP_OK;
}

static ep_status product_describe(ep_cuda_gemm *gemm, ep_error *error) {
  const ep_cuda_gemm_shape *shape = &gemm->shape;
  const cublasComputeType_t sums = shape->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const cublasOperation_t first = shape->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = shape->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasLtEpilogue_t epilogue = shape->bias && shape->relu ? CUBLASLT_EPILOGUE_RELU_BIAS
                                      : shape->bias              ? CUBLASLT_EPILOGUE_BIAS
                                      : shape->relu              ? CUBLASLT_EPILOGUE_RELU
                                                                 : CUBLASLT_EPILOGUE_DEFAULT;
  BLAS_TRY(cublasLtMatmulDescCreate(&gemm->product, sums, CUDA_R_32F),
           "describing a matrix product");
  ep_status status = attribute_set(gemm, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first, error);
  if (status == EP_OK)
    status = attribute_set(gemm, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second, error);
  if (status == EP_OK && epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    status = attribute_set(gemm, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, error);
  const cublasLtPointerMode_t scales = CUBLASLT_POINTER_MODE_DEVICE;
  if (status == EP_OK && shape->scales)
    status = attribute_set(gemm, CUBLASLT_MATMUL_DESC_POINTER_MODE, &scales, sizeof scales, error);
  if (status == EP_OK && shape->bias)
    status = attribute_set(gemm, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &shape->bias,
                           sizeof shape->bias, error);
  return status;
}

/* A row-major [rows, columns] as cuBLASLt sees it: [columns, rows], column-major. */
static ep_status layout_describe(cublasLtMatrixLayout_t *layout, cudaDataType type, int64_t rows,
                                 int64_t columns, int64_t pitch, ep_error *error) {
  BLAS_TRY(cublasLtMatrixLayoutCreate(layout, type, (uint64_t)columns, (uint64_t)rows,
                                      pitch > 0 ? pitch : columns),
           "describing a matrix");
  return EP_OK;
}

static ep_status layouts_describe(ep_cuda_gemm *gemm, ep_error *error) {
  const ep_cuda_gemm_shape *s = &gemm->shape;
  int64_t b_rows = s->transpose_b ? s->columns : s->depth;
  int64_t a_rows = s->transpose_a ? s->depth : s->rows;
  ep_status status = layout_describe(&gemm->first, s->operands, b_rows,
                                     s->columns + s->depth - b_rows, s->b_pitch, error);
  if (status == EP_OK)
    status = layout_describe(&gemm->second, s->operands, a_rows, s->rows + s->depth - a_rows,
                             s->a_pitch, error);
  if (status == EP_OK)
    status = layout_describe(&gemm->out, s->result, s->rows, s->columns, s->out_pitch, error);
  return status;
}

uint32_t ep_cuda_gemm_alignment_bytes(const void *address) {
  uint32_t bytes = 256;
  while ((uintptr_t)address % bytes != 0) bytes /= 2;
  return bytes;
}

static ep_status preference_set(cublasLtMatmulPreference_t preference,
                                const ep_cuda_gemm_shape *shape, size_t workspace_bytes,
                                ep_error *error) {
  const struct {
    cublasLtMatmulPreferenceAttributes_t attribute;
    uint32_t bytes;
  } alignments[] = {
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, ep_cuda_gemm_alignment_bytes(shape->b)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, ep_cuda_gemm_alignment_bytes(shape->a)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, ep_cuda_gemm_alignment_bytes(shape->out)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, ep_cuda_gemm_alignment_bytes(shape->out)},
  };
  for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++)
    BLAS_TRY(cublasLtMatmulPreferenceSetAttribute(preference, alignments[i].attribute,
                                                  &alignments[i].bytes, sizeof alignments[i].bytes),
             "choosing a matrix product");
  BLAS_TRY(cublasLtMatmulPreferenceSetAttribute(preference,
                                                CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                &workspace_bytes, sizeof workspace_bytes),
           "choosing a matrix product");
  /* Sums split over blocks are added through scratch, in a fixed order. */
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  BLAS_TRY(cublasLtMatmulPreferenceSetAttribute(
               preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes),
           "choosing a matrix product");
  return EP_OK;
}

ep_status ep_cuda_gemm_list(ep_backend *backend, const ep_cuda_gemm *gemm, size_t workspace_bytes,
                            int most, cublasLtMatmulHeuristicResult_t *found, int *count,
                            ep_error *error) {
  cublasLtMatmulPreference_t preference;
  *count = 0;
  BLAS_TRY(cublasLtMatmulPreferenceCreate(&preference), "choosing a matrix product");
  ep_status status = preference_set(preference, &gemm->shape, workspace_bytes, error);
  if (status == EP_OK) {
    cublasStatus_t code =
        cublasLtMatmulAlgoGetHeuristic(backend->blas, gemm->product, gemm->first, gemm->second,
                                       gemm->out, gemm->out, preference, most, found, count);
    if (code != CUBLAS_STATUS_SUCCESS)
      status = ep_cuda_blas_fail(error, code, "choosing a matrix product");
    else if (*count == 0)
      status = ep_fail(error, EP_UNSUPPORTED,
                       "cuBLASLt has no matrix product for [%lld, %lld] of depth %lld",
                       (long long)gemm->shape.rows, (long long)gemm->shape.columns,
                       (long long)gemm->shape.depth);
  }
  cublasLtMatmulPreferenceDestroy(preference);
  return status;
}

ep_status ep_cuda_gemm_describe(const ep_cuda_gemm_shape *shape, ep_cuda_gemm *gemm,
                                ep_error *error) {
  memset(gemm, 0, sizeof *gemm);
  gemm->shape = *shape;
  ep_status status = product_describe(gemm, error);
  return status == EP_OK ? layouts_describe(gemm, error) : status;
}

void ep_cuda_gemm_choose(ep_cuda_gemm *gemm, const cublasLtMatmulHeuristicResult_t *found) {
  gemm->algorithm = found->algo;
  gemm->workspace_bytes = found->workspaceSize;
}

ep_status ep_cuda_gemm_init(ep_backend *backend, const ep_cuda_gemm_shape *shape,
                            size_t workspace_bytes, ep_cuda_gemm *gemm, ep_error *error) {
  cublasLtMatmulHeuristicResult_t found;
  int count;
  ep_status status = ep_cuda_gemm_describe(shape, gemm, error);
  if (status == EP_OK)
    status = ep_cuda_gemm_list(backend, gemm, workspace_bytes, 1, &found, &count, error);
  if (status == EP_OK) ep_cuda_gemm_choose(gemm, &found);
  return status;
}

void ep_cuda_gemm_deinit(ep_cuda_gemm *gemm) {
  if (gemm->out) cublasLtMatrixLayoutDestroy(gemm->out);
  if (gemm->second) cublasLtMatrixLayoutDestroy(gemm->second);
  if (gemm->first) cublasLtMatrixLayoutDestroy(gemm->first);
  if (gemm->product) cublasLtMatmulDescDestroy(gemm->product);
  memset(gemm, 0, sizeof *gemm);
}

ep_status ep_cuda_gemm_run(ep_backend *backend, const ep_cuda_gemm *gemm, void *workspace,
                           cudaStream_t stream, ep_error *error) {
  const float one = 1, zero = 0;
  const ep_cuda_gemm_shape *shape = &gemm->shape;
  const float *alpha = shape->scales ? &shape->scales[0] : &one;
  const float *beta = shape->scales ? &shape->scales[1] : &zero;
  BLAS_TRY(cublasLtMatmul(backend->blas, gemm->product, alpha, shape->b, gemm->first, shape->a,
                          gemm->second, beta, shape->out, gemm->out, shape->out, gemm->out,
                          &gemm->algorithm, workspace, gemm->workspace_bytes, stream),
           "a matrix product");
  return EP_OK;
}
