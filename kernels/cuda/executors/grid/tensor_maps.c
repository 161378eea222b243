#include "kernels/cuda/executors/grid/tensor_maps.h"

#include "kernels/cuda/executors/grid/offsets.h"

/* As input_of in layers.cuh. */
static ep_cuda_tensor_map_source input_of(const ep_grid_args *args, const ep_grid_layer *layer,
                                          int turn) {
  const int l = (int)(layer - args->layers);
  if (l == 0)
    return (ep_cuda_tensor_map_source){args->scratch + args->inputs, false, args->batch_rows,
                                       args->inputs_stride, args->inputs_stride};
  const ep_grid_layer *before = layer - 1;
  const int64_t after = before->after + (l == args->front ? turn * args->front_turn : 0);
  return (ep_cuda_tensor_map_source){args->scratch + after, false, args->batch_rows, before->stride,
                                     before->stride};
}

static ep_cuda_tensor_map_source grad_of(const ep_grid_args *args, const ep_grid_layer *layer) {
  return (ep_cuda_tensor_map_source){args->scratch + layer->grad, false, args->batch_rows,
                                     layer->stride, layer->stride};
}

/* As weights_of in layers.cuh. */
static ep_cuda_tensor_map_source weights_of(const ep_grid_args *args, const ep_grid_layer *layer) {
  const bool mirrored = layer->mirror >= 0;
  return (ep_cuda_tensor_map_source){
      mirrored ? args->scratch + layer->mirror : args->parameters + layer->weight, false,
      layer->out, layer->in, mirrored ? layer->image_stride : layer->in};
}

static cudaError_t layer_maps_make(const ep_grid_args *args, const ep_grid_layer *layer,
                                   ep_grid_tensor_maps *out) {
  const ep_cuda_tensor_map_source grad = grad_of(args, layer);
  ep_cuda_tensor_map_source weights = weights_of(args, layer);
  cudaError_t code = ep_cuda_tensor_map_make(&grad, EP_GRID_LARGE_N, &out->grad);
  for (int turn = 0; turn < 2 && code == cudaSuccess; turn++) {
    const ep_cuda_tensor_map_source input = input_of(args, layer, turn);
    code = ep_cuda_tensor_map_make(&input, EP_GRID_LARGE_N, &out->input[turn]);
  }
  if (code == cudaSuccess) code = ep_cuda_tensor_map_make(&weights, EP_GRID_LINE, &out->factors);
  if (layer->panels.splits == 0 || code != cudaSuccess) return code;
  code = ep_cuda_tensor_map_make(&weights, EP_GRID_LARGE_K, &out->weights);
  for (int slot = 0; slot < args->slots && code == cudaSuccess; slot++) {
    weights.numbers = args->state + slot * args->state_stride + layer->weight;
    code = ep_cuda_tensor_map_make(&weights, EP_GRID_LARGE_K, &out->state[slot]);
  }
  return code;
}

/* Of products that are whole. */
static cudaError_t whole_maps_make(const ep_grid_args *args, const ep_grid_layer *layer,
                                   ep_grid_tensor_maps *out) {
  const ep_cuda_tensor_map_source grad = grad_of(args, layer), weights = weights_of(args, layer);
  cudaError_t code = cudaSuccess;
  if (layer->forward.whole_m > 0) {
    const int lines = ep_grid_whole_lines(layer->in);
    code =
        ep_cuda_tensor_map_make_lines(&weights, layer->forward.whole_m, lines, &out->whole_forward);
    for (int turn = 0; turn < 2 && code == cudaSuccess; turn++) {
      const ep_cuda_tensor_map_source input = input_of(args, layer, turn);
      code = ep_cuda_tensor_map_make_lines(&input, EP_GRID_WHOLE_N, lines, &out->whole_input[turn]);
    }
  }
  if (layer->backward.whole_m > 0 && code == cudaSuccess) {
    const int lines = ep_grid_whole_lines(layer->out);
    code = ep_cuda_tensor_map_make_lines(&weights, lines * EP_GRID_LINE, 1, &out->whole_backward);
    if (code == cudaSuccess)
      code = ep_cuda_tensor_map_make_lines(&grad, EP_GRID_WHOLE_N, lines, &out->whole_grad);
  }
  return code;
}

ep_status ep_grid_tensor_maps_take(ep_cuda_memory *memory, ep_grid_args *args, ep_error *error) {
  ep_grid_tensor_maps tensor_maps[EP_GRID_LAYERS_MAX] = {0};
  bool any = false;
  for (int l = 0; l < args->layers_count; l++) {
    const ep_grid_layer *layer = &args->layers[l];
    const bool wide = layer->forward.large || layer->backward.large || layer->panels.splits > 0,
               whole = layer->forward.whole_m > 0 || layer->backward.whole_m > 0;
    if (args->precise || !(wide || whole)) continue;
    if (wide) EP_CUDA_TRY(layer_maps_make(args, layer, &tensor_maps[l]), "mapping a layer");
    if (whole) EP_CUDA_TRY(whole_maps_make(args, layer, &tensor_maps[l]), "mapping a layer");
    any = true;
  }
  if (!any) return EP_OK;
  return ep_cuda_memory_take_copy(memory, &args->tensor_maps, tensor_maps, args->layers_count,
                                  sizeof *tensor_maps, error);
}
