/* parts.h: a program as cuda/images runs it: its images go through parts, each a launch or a few;
 * the layers after flatten are the shared network's. No CUDA here: the plan asks too. */
#ifndef EP_KERNELS_CUDA_EXECUTORS_IMAGES_PARTS_H
#define EP_KERNELS_CUDA_EXECUTORS_IMAGES_PARTS_H

#include "kernels/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A convolution without its bias; a bias, norm, residual, activation and pool of windows side by
 * side, each of them or not, in this order; any other pool; a dropout; a layer_norm. */
typedef enum {
  EP_IMAGES_CONVOLUTION,
  EP_IMAGES_BLEND,
  EP_IMAGES_POOL,
  EP_IMAGES_DROPOUT,
  EP_IMAGES_LAYER_NORM
} ep_images_kind;

typedef struct {
  ep_images_kind kind;
  ep_shape in, out;
  int last;         /* the op whose output comes out of it */
  const ep_op *own; /* the convolution, the pool that is no blend's, the dropout, the layer_norm */
  /* A blend's, NULL for those that it has not. */
  const ep_op *biased; /* the convolution whose bias it adds */
  const ep_op *norm, *residual, *activation, *pool;
  int past; /* residual: the part whose output is added; -1: the program's input */
} ep_images_part;

typedef struct {
  ep_images_part *rows; /* [2 ops_count], the caller's */
  int count;
  int tail; /* the first op that is none of theirs: flatten, or ops_count */
} ep_images_parts;

/* Whether the program can be run so; fills *parts if it can. */
bool ep_images_parts_find(const ep_program *program, ep_images_parts *parts);

/* Whether there is a convolution among its parts, and the kernels can count its pixels. */
bool ep_images_takes(const ep_program *program);

#ifdef __cplusplus
}
#endif
#endif
