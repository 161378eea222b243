/* tensor_maps.h: the matrices of cuda/grid's wide layers as the TMA takes them. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_GRID_TENSOR_MAPS_H
#define EP_KERNELS_CUDA_EXECUTORS_GRID_TENSOR_MAPS_H

#include "kernels/cuda/executors/executor.h"
#include "kernels/cuda/executors/grid/args.h"
#include "kernels/cuda/runtime/tensor_map.h"

/* Of a layer. Tiles have EP_GRID_LINE columns, of a batch EP_GRID_LARGE_N rows. */
struct ep_grid_tensor_maps {
  ep_cuda_tensor_map factors;  /* the weights as products take them, EP_GRID_LINE rows a tile */
  ep_cuda_tensor_map input[2]; /* of steps by turns: those of a chained front lie in two places */
  ep_cuda_tensor_map grad;     /* by the layer's outputs */
  /* Where products are whole: of EP_GRID_WHOLE_LINES at most, all outputs or rows of a tile. */
  ep_cuda_tensor_map whole_forward, whole_backward, whole_input[2], whole_grad;
  /* Where panels update: EP_GRID_LARGE_K rows a tile. */
  ep_cuda_tensor_map weights, state[EP_GRID_PANEL_SLOTS];
};

/* Makes the tensor maps of all layers of which warpgroups take products: device memory, taken from
 * `memory`. args: with its pointers to parameters, state and scratch; its `tensor_maps` is written.
 */
ep_status ep_grid_tensor_maps_take(ep_cuda_memory *memory, ep_grid_args *args, ep_error *error);

#endif
