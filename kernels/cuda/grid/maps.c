#include "kernels/cuda/grid/maps.h"

/* As input_of in layers.cuh. */
static ep_cuda_mapped input_of(const ep_grid_span *span, const ep_grid_layer *layer, int turn) {
  const int l = (int)(layer - span->layers);
  if (l == 0)
    return (ep_cuda_mapped){span->scratch + span->inputs, false, span->batch_rows,
                            span->inputs_stride, span->inputs_stride};
  const ep_grid_layer *before = layer - 1;
  const int64_t after = before->after + (l == span->front ? turn * span->front_turn : 0);
  return (ep_cuda_mapped){span->scratch + after, false, span->batch_rows, before->stride,
                          before->stride};
}

static cudaError_t layer_maps_make(const ep_grid_span *span, const ep_grid_layer *layer,
                                   ep_grid_maps *out) {
  const ep_cuda_mapped grad = {span->scratch + layer->grad, false, span->batch_rows, layer->stride,
                               layer->stride};
  const bool mirrored = layer->mirror >= 0;
  ep_cuda_mapped weights = {
      mirrored ? span->scratch + layer->mirror : span->parameters + layer->weight, false,
      layer->out, layer->in, mirrored ? layer->image_stride : layer->in};
  cudaError_t code = ep_cuda_map_make(&grad, EP_GRID_LARGE_N, &out->grad);
  for (int turn = 0; turn < 2 && code == cudaSuccess; turn++) {
    const ep_cuda_mapped input = input_of(span, layer, turn);
    code = ep_cuda_map_make(&input, EP_GRID_LARGE_N, &out->input[turn]);
  }
  if (code == cudaSuccess) code = ep_cuda_map_make(&weights, EP_GRID_LINE, &out->factors);
  if (layer->panels.splits == 0 || code != cudaSuccess) return code;
  code = ep_cuda_map_make(&weights, EP_GRID_LARGE_K, &out->weights);
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
    const ep_grid_layer *layer = &span->layers[l];
    if (span->precise || !(layer->forward.large || layer->backward.large)) continue;
    EP_CUDA_TRY(layer_maps_make(span, layer, &maps[l]), "mapping a layer");
    any = true;
  }
  if (!any) return EP_OK;
  return ep_cuda_memory_take_copy(memory, &span->maps, maps, span->layers_count, sizeof *maps,
                                  error);
}
