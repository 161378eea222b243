#include "kernels/cuda/runtime/tensor_map.h"

#include <cuda.h>
#include <string.h>

typedef CUresult (*map_encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                               const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                               const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                               CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

/* The driver's own call: the plug-in is not linked with the driver. */
static cudaError_t encode_find(map_encode *out) {
  enum cudaDriverEntryPointQueryResult found;
  void *call = NULL;
#if CUDART_VERSION >= 12050
  cudaError_t code = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &call, 12000,
                                                      cudaEnableDefault, &found);
#else
  cudaError_t code =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &call, cudaEnableDefault, &found);
#endif
  *out = (map_encode)call;
  return code != cudaSuccess                            ? code
         : found == cudaDriverEntryPointSuccess && call ? cudaSuccess
                                                        : cudaErrorNotSupported;
}

/* lines: 0 for tiles of one. */
static cudaError_t map_make(const ep_cuda_tensor_map_source *of, int rows, int lines,
                            ep_cuda_tensor_map *out) {
  _Static_assert(sizeof(CUtensorMap) == sizeof *out, "a map is kept as its bytes");
  CUtensorMap map; /* it wants a place of its own */
  map_encode encode;
  cudaError_t code = encode_find(&encode);
  if (code != cudaSuccess) return code;
  const cuuint32_t bytes = of->half ? 2 : sizeof(float),
                   line = EP_CUDA_TENSOR_MAP_LINE_BYTES / bytes;
  const cuuint64_t columns = (cuuint64_t)of->columns;
  const cuuint64_t sides[3] = {lines > 0 ? line : columns, (cuuint64_t)of->rows, columns / line};
  const cuuint64_t pitch[2] = {(cuuint64_t)of->stride * bytes, EP_CUDA_TENSOR_MAP_LINE_BYTES};
  const cuuint32_t tile[3] = {line, (cuuint32_t)rows, (cuuint32_t)lines}, next[3] = {1, 1, 1};
  CUresult made =
      encode(&map, of->half ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
             lines > 0 ? 3 : 2, (void *)of->numbers, sides, pitch, tile, next,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  memcpy(out, &map, sizeof *out);
  return made == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t ep_cuda_tensor_map_make(const ep_cuda_tensor_map_source *of, int tile_rows,
                                    ep_cuda_tensor_map *out) {
  return map_make(of, tile_rows, 0, out);
}

cudaError_t ep_cuda_tensor_map_make_lines(const ep_cuda_tensor_map_source *of, int tile_rows,
                                          int tile_lines, ep_cuda_tensor_map *out) {
  return map_make(of, tile_rows, tile_lines, out);
}
