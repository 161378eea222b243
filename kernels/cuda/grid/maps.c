#include "kernels/cuda/grid/maps.h"

static cudaError_t layer_maps_make(const ep_grid_span *span, const ep_grid_layer *layer,
                                   ep_grid_maps *out) {
  const ep_cuda_mapped grad = {span->scratch + layer->grad, false, span->batch_rows, layer->stride,
                               layer->stride};
  ep_cuda_mapped weights = {span->parameters + layer->weight, false, layer->out, layer->in,
                            layer->in};
  cudaError_t code = ep_cuda_map_make(&grad, EP_GRID_LARGE_N, &out->grad);
  if (code == cudaSuccess) code = ep_cuda_map_make(&weights, EP_GRID_LARGE_K, &out->weights);
  for (int slot = 0; slot < span->slots && code == cudaSuccess; slot++) {
    weights.numbers = span->state + slot * span->state_stride + layer->weight;
    code = ep_cuda_map_make(&weights, EP_GRID_LARGE_K, &out->state[slot]);
  }
  return code;
}

ep_status ep_grid_maps_take(ep_cuda_memory *memory, ep_grid_span *span, ep_error *error) {
  ep_grid_maps maps[EP_GRID_LAYERS_MAX] = {0};
  bool any = false;
  for (int l = 0; l < span->layers_count; l++) {
    if (!span->layers[l].by_panels) continue;
    EP_CUDA_TRY(layer_maps_make(span, &span->layers[l], &maps[l]), "mapping a layer");
    any = true;
  }
  if (!any) return EP_OK;
  return ep_cuda_memory_take_copy(memory, &span->maps, maps, span->layers_count, sizeof *maps,
                                  error);
}
