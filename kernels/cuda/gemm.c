#include "kernels/cuda/gemm.h"

#include <stdint.h>
#include <string.h>

/* cuBLASLt counts in columns first, so it sees each row-major matrix transposed, and computes
 * out^T = b^T a^T: the first operand is our b, the second our a. */

#define BLAS_TRY(call, doing)                                                          \
  do {                                                                                 \
    cublasStatus_t code_ = (call);                                                     \
    if (code_ != CUBLAS_STATUS_SUCCESS) return ep_cuda_blas_fail(error, code_, doing); \
  } while (0)

static ep_status product_describe(ep_cuda_gemm *gemm, ep_error *error) {
  const ep_cuda_gemm_shape *shape = &gemm->shape;
  cublasOperation_t first = shape->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t second = shape->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  BLAS_TRY(cublasLtMatmulDescCreate(&gemm->product, CUBLAS_COMPUTE_32F, CUDA_R_32F),
           "describing a matrix product");
  BLAS_TRY(cublasLtMatmulDescSetAttribute(gemm->product, CUBLASLT_MATMUL_DESC_TRANSA, &first,
                                          sizeof first),
           "describing a matrix product");
  BLAS_TRY(cublasLtMatmulDescSetAttribute(gemm->product, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                          sizeof second),
           "describing a matrix product");
  if (shape->bias) {
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    BLAS_TRY(cublasLtMatmulDescSetAttribute(gemm->product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                            sizeof epilogue),
             "describing a bias");
    BLAS_TRY(cublasLtMatmulDescSetAttribute(gemm->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                            &shape->bias, sizeof shape->bias),
             "describing a bias");
  }
  return EP_OK;
}

/* A row-major [rows, columns] as cuBLASLt sees it: [columns, rows], column-major. */
static ep_status layout_describe(cublasLtMatrixLayout_t *layout, int64_t rows, int64_t columns,
                                 ep_error *error) {
  BLAS_TRY(
      cublasLtMatrixLayoutCreate(layout, CUDA_R_32F, (uint64_t)columns, (uint64_t)rows, columns),
      "describing a matrix");
  return EP_OK;
}

static ep_status layouts_describe(ep_cuda_gemm *gemm, ep_error *error) {
  const ep_cuda_gemm_shape *shape = &gemm->shape;
  ep_status status = shape->transpose_b
                         ? layout_describe(&gemm->first, shape->columns, shape->depth, error)
                         : layout_describe(&gemm->first, shape->depth, shape->columns, error);
  if (status != EP_OK) return status;
  status = shape->transpose_a ? layout_describe(&gemm->second, shape->depth, shape->rows, error)
                              : layout_describe(&gemm->second, shape->rows, shape->depth, error);
  if (status != EP_OK) return status;
  return layout_describe(&gemm->out, shape->rows, shape->columns, error);
}

/* What the address is a multiple of: a layer's weight begins wherever the one before ended, and
 * cuBLASLt would otherwise count on 256. */
static uint32_t alignment_bytes(const void *address) {
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
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_bytes(shape->b)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_bytes(shape->a)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_bytes(shape->out)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_bytes(shape->out)},
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

static ep_status algorithm_choose(ep_backend *backend, ep_cuda_gemm *gemm, size_t workspace_bytes,
                                  ep_error *error) {
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  BLAS_TRY(cublasLtMatmulPreferenceCreate(&preference), "choosing a matrix product");
  ep_status status = preference_set(preference, &gemm->shape, workspace_bytes, error);
  if (status == EP_OK) {
    cublasStatus_t code =
        cublasLtMatmulAlgoGetHeuristic(backend->blas, gemm->product, gemm->first, gemm->second,
                                       gemm->out, gemm->out, preference, 1, &found, &count);
    if (code != CUBLAS_STATUS_SUCCESS)
      status = ep_cuda_blas_fail(error, code, "choosing a matrix product");
    else if (count == 0)
      status = ep_fail(error, EP_UNSUPPORTED,
                       "cuBLASLt has no matrix product for [%lld, %lld] of depth %lld",
                       (long long)gemm->shape.rows, (long long)gemm->shape.columns,
                       (long long)gemm->shape.depth);
  }
  cublasLtMatmulPreferenceDestroy(preference);
  if (status != EP_OK) return status;
  gemm->algorithm = found.algo;
  gemm->workspace_bytes = found.workspaceSize;
  return EP_OK;
}

ep_status ep_cuda_gemm_init(ep_backend *backend, const ep_cuda_gemm_shape *shape,
                            size_t workspace_bytes, ep_cuda_gemm *gemm, ep_error *error) {
  memset(gemm, 0, sizeof *gemm);
  gemm->shape = *shape;
  ep_status status = product_describe(gemm, error);
  if (status == EP_OK) status = layouts_describe(gemm, error);
  if (status == EP_OK) status = algorithm_choose(backend, gemm, workspace_bytes, error);
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
  BLAS_TRY(cublasLtMatmul(backend->blas, gemm->product, &one, shape->b, gemm->first, shape->a,
                          gemm->second, &zero, shape->out, gemm->out, shape->out, gemm->out,
                          &gemm->algorithm, workspace, gemm->workspace_bytes, stream),
           "a matrix product");
  return EP_OK;
}
