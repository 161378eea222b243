/* constants.cuh: what plan.h's structs are to the kernel, all constants of one program, and how
 * matrices lie.
 *
 * A matrix in shared memory has rows of `pitch` numbers: padded to a multiple of 16, the side of
 * a piece of a product, with zeros, and a gap of 8 where loads of neighbouring rows would meet in
 * a bank. Numbers are bfloat16 or float32, as the precision has it.
 *
 * Sums of gradients lie as the tensor cores leave them, in quads of four floats. Of each layer:
 * tiles of 16 outputs by 8 inputs, those of the same outputs one after the other, of a quad for
 * each lane: with g = lane / 4 and t = lane % 4, outputs g, g, g + 8, g + 8, inputs 2t, 2t + 1, 2t,
 * 2t + 1; then its biases, [16 multiples]. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_FUSED_CONSTANTS_CUH
#define EP_KERNELS_CUDA_EXECUTORS_FUSED_CONSTANTS_CUH

#include "kernels/program.h"

/* A linear layer and the activation behind it. Offsets are bytes of shared memory. */
struct fused_layer {
  int in, out, weight, bias; /* in the parameters; bias: -1 for none */
  ep_layer_type activation;  /* EP_LAYER_LINEAR for none */
  float negative_slope, alpha, beta, threshold;
  int image;  /* weights [out, pitch], then biases */
  int x;      /* inputs [TILE_ROWS, pitch]; on the way back: gradients of the layer before */
  int slopes; /* of the activation, [TILE_ROWS, pitch]; -1: told by the outputs */
  int quads;  /* the first */
};

#endif
