#include "kernels/cuda/executors/grid/tensor_maps.h"

#include "kernels/cuda/executors/grid/offsets.h"

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

static ep_cuda_mapped grad_of(const ep_grid_span *span, const ep_grid_layer *layer) {
  return (ep_cuda_mapped){span->scratch + layer->grad, false, span->batch_rows, layer->stride,
                          layer->stride};
}

/* As weights_of in layers.cuh. */
static ep_cuda_mapped weights_of(const ep_grid_span *span, const ep_grid_layer *layer) {
  const bool mirrored = layer->mirror >= 0;
  return (ep_cuda_mapped){mirrored ? span->scratch + layer->mirror
                                   : span->parameters + layer->weight,
                          false, layer->out, layer->in, mirrored ? layer->image_stride : layer->in};
}

static cudaError_t layer_maps_make(const ep_grid_span *span, const ep_grid_layer *layer,
                                   ep_grid_maps *out) {
  const ep_cuda_mapped grad = grad_of(span, layer);
  ep_cuda_mapped weights = weights_of(span, layer);
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

/* Of products that are whole. */
static cudaError_t whole_maps_make(const ep_grid_span *span, const ep_grid_layer *layer,
                                   ep_grid_maps *out) {
  const ep_cuda_mapped grad = grad_of(span, layer), weights = weights_of(span, layer);
  cudaError_t code = cudaSuccess;
  if (layer->forward.whole_m > 0) {
    const int lines = ep_grid_whole_lines(layer->in);
    code = ep_cuda_map_make_lines(&weights, layer->forward.whole_m, lines, &out->whole_forward);
    for (int turn = 0; turn < 2 && code == cudaSuccess; turn++) {
      const ep_cuda_mapped input = input_of(span, layer, turn);
      code = ep_cuda_map_make_lines(&input, EP_GRID_WHOLE_N, lines, &out->whole_input[turn]);
    }
  }
  if (layer->backward.whole_m > 0 && code == cudaSuccess) {
    const int lines = ep_grid_whole_lines(layer->out);
    code = ep_cuda_map_make_lines(&weights, lines * EP_GRID_LINE, 1, &out->whole_backward);
    if (code == cudaSuccess)
      code = ep_cuda_map_make_lines(&grad, EP_GRID_WHOLE_N, lines, &out->whole_grad);
  }
  return code;
}

ep_status ep_grid_maps_take(ep_cuda_memory *memory, ep_grid_span *span, ep_error *error) {
  ep_grid_maps maps[EP_GRID_LAYERS_MAX] = {0};
  bool any = false;
  for (int l = 0; l < span->layers_count; l++) {
    const ep_grid_layer *layer = &span->layers[l];
    const bool wide = layer->forward.large || layer->backward.large || layer->panels.splits > 0,
               whole = layer->forward.whole_m > 0 || layer->backward.whole_m > 0;
    if (span->precise || !(wide || whole)) continue;
    if (wide) EP_CUDA_TRY(layer_maps_make(span, layer, &maps[l]), "mapping a layer");
    if (whole) EP_CUDA_TRY(whole_maps_make(span, layer, &maps[l]), "mapping a layer");
    any = true;
  }
  if (!any) return EP_OK;
  return ep_cuda_memory_take_copy(memory, &span->maps, maps, span->layers_count, sizeof *maps,
                                  error);
}
