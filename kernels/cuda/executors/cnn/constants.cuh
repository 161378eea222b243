/* constants.cuh: what plan.h's structs are to the kernel: all are constants of one program. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_CNN_CONSTANTS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_CNN_CONSTANTS_CUH

#include "kernels/program.h"

/* Number (c, y, x) is at first + c * plane + (y + top) * pitch + left + x. */
struct cnn_place {
  int first, plane, pitch, top, left;
  bool compact;
};

struct cnn_shape {
  int channels, height, width;
};

constexpr int count_of(cnn_shape shape) {
  return shape.channels * shape.height * shape.width;
}

struct cnn_stage {
  ep_layer_type type;
  int op;
  cnn_shape in, out;
  int chain_first, chain_count;
  cnn_place value, grad;
  int places, forward, back, weights, staged, list, dropout, x, g;
  int tile, split, back_tile, back_split, weights_tile, rows_split;
  int kernel_height, kernel_width, stride_down, stride_across, padding_down, padding_across;
  int dilation_down, dilation_across;
  int weight, bias;
};

struct cnn_op {
  ep_layer_type type;
  int layer, mask, channels, pixels;
  float p, negative_slope, alpha, beta, threshold;
};

constexpr int parts_of(int whole, int part) {
  return (whole + part - 1) / part;
}
constexpr int vectors_of(int floats) {
  return parts_of(floats, 4) * 4;
}
/* Of the pitch of rows that eight threads read at once: memory.c's. */
constexpr int odd_vectors_of(int floats) {
  return (parts_of(floats, 4) | 1) * 4;
}

#endif
