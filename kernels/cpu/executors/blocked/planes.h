/* planes.h: where the numbers of a convolution lie while layers_planes.h computes it.
 *
 * An image is copied with its padding, and with a stride of s it is dealt out: a plane has every
 * s-th line and column. Of each channel there are stride[0] * stride[1] planes, one a phase. A tap
 * then reads one plane only, and from the place of a window, line * plane_width + column, it lies
 * at the same distance for all windows. So a vector of windows takes each tap as one load, with no
 * columns in memory. Places behind the end of a line of windows are gaps: what they give is not
 * used, and on the way back their gradient is zero. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_PLANES_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_PLANES_H

#include "kernels/cpu/executors/blocked/blocked.h"

enum {
  EP_PLANES_TAPS = 256,            /* of one channel; more are for columns */
  EP_PLANES_PHASES = 16,           /* the same */
  EP_PLANES_PAD = 64,              /* floats that a load may touch behind the last window */
  EP_PLANES_IMAGES = 16,           /* of a block, whose gradients of a weight are summed together */
  EP_PLANES_BLOCK_FLOATS = 1 << 17 /* of such a block: half of a second level cache */
};

/* Of one group of channels. */
typedef struct {
  int64_t in, out; /* channels */
  int64_t taps, phases;
  int64_t width, plane; /* of a plane: its line; its floats */
  int64_t reach;        /* the last tap's distance */
  int64_t places;       /* of all windows, gaps included, in whole vectors */
  int64_t lines;        /* of a plane, on the way back in whole vectors: floats */
  int64_t image;        /* floats of an image that goes in, [in, phases, plane] and a pad */
  int64_t gradient;     /* floats of an image's gradient: [out, reach + lines] and a pad */
  int64_t gradient_plane;
  int64_t weights, result; /* floats: packed weights; what comes out, either way */
  int64_t images;          /* of a block */
} ep_planes;

static inline int64_t ep_planes_whole(int64_t count) {
  const int64_t of = 16; /* the widest vector */
  return (count + of - 1) / of * of;
}

static inline ep_planes ep_planes_of(const ep_op *op) {
  ep_planes p = {.in = op->in.channels / op->groups, .out = op->out.channels / op->groups};
  p.taps = op->kernel[0] * op->kernel[1];
  p.phases = op->stride[0] * op->stride[1];
  p.width = (op->in.width + 2 * op->padding[1] + op->stride[1] - 1) / op->stride[1];
  const int64_t height = (op->in.height + 2 * op->padding[0] + op->stride[0] - 1) / op->stride[0];
  p.plane = p.width * height;
  p.reach = (op->kernel[0] - 1) * op->dilation[0] / op->stride[0] * p.width +
            (op->kernel[1] - 1) * op->dilation[1] / op->stride[1];
  p.places = ep_planes_whole((op->out.height - 1) * p.width + op->out.width);
  p.lines = ep_planes_whole(p.plane);
  p.image = ep_planes_whole(p.in * p.phases * p.plane + EP_PLANES_PAD);
  p.gradient_plane = p.reach + p.lines;
  p.gradient = ep_planes_whole(p.out * p.gradient_plane + EP_PLANES_PAD);
  p.weights = ep_planes_whole(p.in * p.out * p.taps);
  const int64_t forward = p.out * p.places, back = p.in * p.lines;
  p.result = forward > back ? forward : back;
  p.images = EP_PLANES_BLOCK_FLOATS / (p.image + p.gradient);
  if (p.images > EP_PLANES_IMAGES) p.images = EP_PLANES_IMAGES;
  if (p.images < 1) p.images = 1;
  return p;
}

/* Whether it is the way for a convolution. */
static inline bool ep_planes_takes(const ep_op *op) {
  return op->kernel[0] * op->kernel[1] <= EP_PLANES_TAPS &&
         op->stride[0] * op->stride[1] <= EP_PLANES_PHASES;
}

/* Floats that a member lends it. */
static inline int64_t ep_planes_floats(const ep_op *op) {
  const ep_planes p = ep_planes_of(op);
  return p.weights + p.result + p.images * (p.image + p.gradient);
}

#endif
