/* direct.h: which convolutions layers_direct.h takes, and where their numbers lie meanwhile.
 *
 * Windows are counted on the lines of the image that goes in, gaps included: window (h, w) is place
 * h * width + w. A tap then lies at the same distance from every window, and a vector of windows
 * takes each tap as one load, with no columns in memory. What the gaps give is not used; on the way
 * back their gradient is zero. The gradient of the weight has the channels that come out across the
 * lanes instead. Channels that a dropout2d takes away are left out of all three. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_DIRECT_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_DIRECT_H

#include "kernels/cpu/executors/blocked/blocked.h"

enum {
  EP_DIRECT_TAPS = 64,              /* of one channel */
  EP_DIRECT_MOST_FLOATS = 1 << 16,  /* of an image, in and out: what a cache holds some of */
  EP_DIRECT_MOST_WEIGHTS = 1 << 14, /* so small that the product of matrices is slower: measured */
  EP_DIRECT_CHANNELS = EP_DIRECT_MOST_WEIGHTS / 2, /* a kernel has two taps at least */
  EP_DIRECT_PAD = 16                               /* floats of the widest vector */
};

typedef struct {
  int64_t in, out;         /* channels */
  int64_t taps;            /* of one channel */
  int64_t reach;           /* the last tap's distance from its window */
  int64_t windows;         /* of a plane that comes out */
  int64_t places;          /* of them, gaps included, in whole vectors */
  int64_t pixels;          /* of a plane that goes in */
  int64_t weights_floats;  /* turned round */
  int64_t image_floats;    /* copy of an image that goes in, and what loads may touch after it */
  int64_t plane_floats;    /* of a gradient: `reach` zeros, the places, zeros */
  int64_t gradient_floats; /* all planes */
  int64_t result_floats;   /* planes of one image */
  int64_t across_floats;   /* of a gradient with its channels across the lanes */
} ep_direct;

static inline int64_t ep_direct_whole(int64_t count, int64_t of) {
  return (count + of - 1) / of * of;
}

static inline int64_t ep_direct_most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static inline ep_direct ep_direct_of(const ep_op *op) {
  const int64_t width = op->in.width, in = op->in.channels, out = op->out.channels;
  ep_direct d = {.in = in, .out = out, .taps = op->kernel[0] * op->kernel[1]};
  d.reach = (op->kernel[0] - 1) * op->dilation[0] * width + (op->kernel[1] - 1) * op->dilation[1];
  d.windows = op->out.height * op->out.width;
  d.places = ep_direct_whole((op->out.height - 1) * width + op->out.width, EP_DIRECT_PAD);
  d.pixels = op->in.height * width;
  d.weights_floats = ep_direct_whole(in * out * d.taps, EP_DIRECT_PAD);
  d.image_floats = ep_direct_whole(in * d.pixels + EP_DIRECT_PAD, EP_DIRECT_PAD);
  d.plane_floats = d.reach + ep_direct_whole(d.pixels, EP_DIRECT_PAD);
  d.gradient_floats = ep_direct_whole(out * d.plane_floats, EP_DIRECT_PAD);
  d.result_floats = ep_direct_most(out * d.places, in * ep_direct_whole(d.pixels, EP_DIRECT_PAD));
  d.across_floats = ep_direct_whole(d.windows, EP_DIRECT_PAD) * ep_direct_whole(out, EP_DIRECT_PAD);
  return d;
}

/* One group, steps of one, no padding; small, and not most of it gaps. */
static inline bool ep_direct_takes(const ep_op *op) {
  return op->groups == 1 && op->stride[0] == 1 && op->stride[1] == 1 && op->padding[0] == 0 &&
         op->padding[1] == 0 && op->kernel[0] * op->kernel[1] > 1 &&
         op->kernel[0] * op->kernel[1] <= EP_DIRECT_TAPS &&
         op->in.channels * op->out.channels * op->kernel[0] * op->kernel[1] <=
             EP_DIRECT_MOST_WEIGHTS &&
         op->in_features + op->out.channels * op->in.height * op->in.width <=
             EP_DIRECT_MOST_FLOATS &&
         op->in.width <= 2 * op->out.width;
}

/* Floats that a member lends it. */
static inline int64_t ep_direct_floats(const ep_op *op) {
  ep_direct d = ep_direct_of(op);
  return d.weights_floats + d.result_floats + d.image_floats + d.gradient_floats + d.across_floats;
}

#endif
