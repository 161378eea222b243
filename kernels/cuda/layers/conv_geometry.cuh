/* conv_geometry.cuh: what a convolution is, in numbers that a kernel likes. */
#ifndef EP_KERNELS_CUDA_LAYERS_CONV_GEOMETRY_CUH
#define EP_KERNELS_CUDA_LAYERS_CONV_GEOMETRY_CUH

#include "kernels/cuda/layers/kernels.h"
#include "kernels/formulas/activations.h"

/* source: what is gathered (forward: x, backward: grad), target: what is written (the other). */
typedef struct {
  int source_channels, source_height, source_width; /* channels of one group */
  int target_channels, target_height, target_width; /* channels of one group */
  int groups, taps;
  int stride[2], padding[2];
  int weight_row;       /* from one target channel's weights to the next */
  int64_t weight_group; /* from one group's weights to the next */
  int64_t places;       /* rows * target pixels */
} geometry;

static geometry geometry_of(const ep_cuda_conv *conv, bool backward) {
  const ep_op *op = &conv->op;
  const ep_shape *source = backward ? &op->out : &op->in, *target = backward ? &op->in : &op->out;
  int area = op->kernel[0] * op->kernel[1];
  geometry g = {};
  g.groups = (int)op->groups;
  g.source_channels = (int)(source->channels / op->groups);
  g.source_height = (int)source->height;
  g.source_width = (int)source->width;
  g.target_channels = (int)(target->channels / op->groups);
  g.target_height = (int)target->height;
  g.target_width = (int)target->width;
  g.taps = g.source_channels * area;
  g.weight_row = backward ? area : g.taps;
  g.weight_group = (int64_t)g.source_channels * g.target_channels * area;
  for (int i = 0; i < 2; i++) {
    g.stride[i] = op->stride[i];
    g.padding[i] = op->padding[i];
  }
  g.places = conv->rows * target->height * target->width;
  return g;
}

#endif
