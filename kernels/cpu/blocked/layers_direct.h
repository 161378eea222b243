/* layers_direct.h: small convolutions without columns: see direct.h. */
#ifndef EP_KERNELS_CPU_BLOCKED_LAYERS_DIRECT_H
#define EP_KERNELS_CPU_BLOCKED_LAYERS_DIRECT_H

#include <string.h>

#include "kernels/cpu/blocked/direct.h"
#include "kernels/cpu/fused/lanes.h"

/* What fits the registers: 32 with AVX-512, else 16. */
#if EP_LANES == 16
enum { DIRECT_VECTORS = 4, DIRECT_OUTER = 4 };
#else
enum { DIRECT_VECTORS = 2, DIRECT_OUTER = 2 };
#endif
enum { DIRECT_TAPS = 5 };

/* result[m, :] = sum over planes c and taps t of weights[m, c, t] source[c, : + offset[t]].
 * weights: packed, [rows / EP_DIRECT_ROWS, planes, taps, EP_DIRECT_ROWS]. */
typedef struct {
  int64_t rows, planes, taps;
  const int64_t *offset;
  const float *weights, *source;
  int64_t source_plane;
  float *result;
  int64_t result_plane; /* whole vectors */
} direct_product;

LANES_INLINE void direct_tile(const direct_product *p, int64_t row, int64_t first,
                              const int vectors) {
  lanes sum[EP_DIRECT_ROWS][DIRECT_VECTORS];
  const float *weights = p->weights + row * p->planes * p->taps;
  const float *plane = p->source + first;
#pragma GCC unroll 5
  for (int m = 0; m < EP_DIRECT_ROWS; m++)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) sum[m][v] = lanes_set(0.0f);
  for (int64_t c = 0; c < p->planes; c++, plane += p->source_plane)
    for (int64_t t = 0; t < p->taps; t++, weights += EP_DIRECT_ROWS) {
      lanes x[DIRECT_VECTORS];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; v++)
        x[v] = lanes_load_loose(plane + p->offset[t] + v * EP_LANES);
#pragma GCC unroll 5
      for (int m = 0; m < EP_DIRECT_ROWS; m++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) sum[m][v] += weights[m] * x[v];
    }
#pragma GCC unroll 5
  for (int m = 0; m < EP_DIRECT_ROWS; m++)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
      if (row + m < p->rows)
        lanes_store(p->result + (row + m) * p->result_plane + first + v * EP_LANES, sum[m][v]);
}

static void direct_run(const direct_product *p) {
  for (int64_t row = 0; row < p->rows; row += EP_DIRECT_ROWS) {
    int64_t at = 0;
    for (; at + DIRECT_VECTORS * EP_LANES <= p->result_plane; at += DIRECT_VECTORS * EP_LANES)
      direct_tile(p, row, at, DIRECT_VECTORS);
#if EP_LANES == 16
    if (at + 2 * EP_LANES <= p->result_plane) {
      direct_tile(p, row, at, 2);
      at += 2 * EP_LANES;
    }
#endif
    for (; at < p->result_plane; at += EP_LANES) direct_tile(p, row, at, 1);
  }
}

/* The member's memory, cut. */
typedef struct {
  ep_direct d;
  float *weights, *result, *images, *gradients;
  int64_t gradient_floats; /* of one image */
  int64_t offset[EP_DIRECT_TAPS];
} direct_room;

static direct_room direct_room_of(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  direct_room r = {.d = ep_direct_of(op)};
  const ep_direct *d = &r.d;
  r.gradient_floats = ep_direct_whole(d->out * d->plane_floats, EP_DIRECT_PAD);
  r.weights = call->columns;
  r.result = r.weights + ep_direct_whole(d->weights_floats, EP_DIRECT_PAD);
  r.images = r.result + d->result_floats;
  r.gradients = r.images + EP_DIRECT_IMAGES * d->image_floats;
  for (int64_t t = 0; t < d->taps; t++)
    r.offset[t] =
        t / op->kernel[1] * op->dilation[0] * op->in.width + t % op->kernel[1] * op->dilation[1];
  return r;
}

/* Rows are packed by EP_DIRECT_ROWS, what is missing as zeros. `from` [rows, planes, taps] by its
 * strides. */
static void direct_pack(const direct_room *r, const float *from, int64_t rows, int64_t planes,
                        int64_t row_stride, int64_t plane_stride) {
  float *to = r->weights;
  for (int64_t row = 0; row < rows; row += EP_DIRECT_ROWS)
    for (int64_t c = 0; c < planes; c++)
      for (int64_t t = 0; t < r->d.taps; t++)
        for (int64_t m = row; m < row + EP_DIRECT_ROWS; m++)
          *to++ = m < rows ? from[m * row_stride + c * plane_stride + t] : 0;
}

static void direct_image_copy(const direct_room *r, const float *from, float *to) {
  const int64_t count = r->d.in * r->d.pixels;
  memcpy(to, from, (size_t)count * sizeof *to);
  memset(to + count, 0, (size_t)(r->d.image_floats - count) * sizeof *to);
}

static void direct_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const direct_room r = direct_room_of(call);
  const ep_direct *d = &r.d;
  const int64_t height = op->out.height, width = op->out.width;
  direct_pack(&r, call->parameters + op->weight, d->out, d->in, d->in * d->taps, d->taps);
  float *y = call->y;
  for (int64_t i = 0; i < call->rows; i++) {
    direct_image_copy(&r, call->x + i * d->in * d->pixels, r.images);
    direct_run(&(direct_product){.rows = d->out,
                                 .planes = d->in,
                                 .taps = d->taps,
                                 .offset = r.offset,
                                 .weights = r.weights,
                                 .source = r.images,
                                 .source_plane = d->pixels,
                                 .result = r.result,
                                 .result_plane = d->places});
    for (int64_t o = 0; o < d->out; o++) {
      const float bias = op->bias >= 0 ? call->parameters[op->bias + o] : 0;
      const float *from = r.result + o * d->places;
      for (int64_t h = 0; h < height; h++, from += op->in.width, y += width)
        for (int64_t w = 0; w < width; w++) y[w] = from[w] + bias;
    }
  }
}

/* An image's gradient with its gaps. */
static void direct_gradient_copy(const direct_room *r, const ep_op *op, const float *from,
                                 float *to) {
  memset(to, 0, (size_t)r->gradient_floats * sizeof *to);
  for (int64_t o = 0; o < r->d.out; o++) {
    float *line = to + o * r->d.plane_floats + r->d.reach;
    for (int64_t h = 0; h < op->out.height; h++, line += op->in.width, from += op->out.width)
      for (int64_t w = 0; w < op->out.width; w++) line[w] = from[w];
  }
}

/* What grad_weight[o …, c, t …] gets from `images` images, a vector of partial sums each: [taps,
 * DIRECT_OUTER] from `partial` on. Taps and channels beyond the last are taken as the last. */
static void direct_weight_tile(const direct_room *r, int64_t images, int64_t o, int64_t c,
                               int64_t t, float *partial) {
  const ep_direct *d = &r->d;
  lanes sum[DIRECT_OUTER][DIRECT_TAPS];
  int64_t plane[DIRECT_OUTER], offset[DIRECT_TAPS];
#pragma GCC unroll 4
  for (int m = 0; m < DIRECT_OUTER; m++)
    plane[m] = (o + m < d->out ? o + m : d->out - 1) * d->plane_floats + d->reach;
#pragma GCC unroll 5
  for (int n = 0; n < DIRECT_TAPS; n++)
    offset[n] = r->offset[t + n < d->taps ? t + n : d->taps - 1];
#pragma GCC unroll 4
  for (int m = 0; m < DIRECT_OUTER; m++)
#pragma GCC unroll 5
    for (int n = 0; n < DIRECT_TAPS; n++) sum[m][n] = lanes_set(0.0f);
  for (int64_t i = 0; i < images; i++) {
    const float *x = r->images + i * d->image_floats + c * d->pixels;
    const float *grad = r->gradients + i * r->gradient_floats;
    for (int64_t at = 0; at < d->places; at += EP_LANES) {
      lanes g[DIRECT_OUTER];
#pragma GCC unroll 4
      for (int m = 0; m < DIRECT_OUTER; m++) g[m] = lanes_load_loose(grad + plane[m] + at);
#pragma GCC unroll 5
      for (int n = 0; n < DIRECT_TAPS; n++) {
        const lanes value = lanes_load_loose(x + offset[n] + at);
#pragma GCC unroll 4
        for (int m = 0; m < DIRECT_OUTER; m++) sum[m][n] += g[m] * value;
      }
    }
  }
#pragma GCC unroll 4
  for (int m = 0; m < DIRECT_OUTER; m++)
#pragma GCC unroll 5
    for (int n = 0; n < DIRECT_TAPS; n++)
      lanes_store(partial + ((t + n) * DIRECT_OUTER + m) * EP_LANES, sum[m][n]);
}

/* grad_weight[o …, c, :] += the sums of the vectors. */
static void direct_weight_add(const ep_direct *d, const float *partial, int64_t o, int64_t c,
                              float *grad_weight) {
  const int64_t count = d->taps * DIRECT_OUTER;
  for (int64_t first = 0; first < count; first += EP_LANES, partial += EP_LANES * EP_LANES) {
    const lanes sums = lanes_reduce(partial);
    for (int j = 0; j < EP_LANES && first + j < count; j++) {
      const int64_t channel = o + (first + j) % DIRECT_OUTER, t = (first + j) / DIRECT_OUTER;
      if (channel < d->out) grad_weight[(channel * d->in + c) * d->taps + t] += sums[j];
    }
  }
}

static void direct_weight_backward(const direct_room *r, int64_t images, float *grad_weight) {
  enum { MOST = (EP_DIRECT_TAPS + DIRECT_TAPS) * DIRECT_OUTER + EP_LANES };
  const ep_direct *d = &r->d;
  _Alignas(LANES_BYTES) float partial[MOST * EP_LANES];
  memset(partial, 0, sizeof partial);
  for (int64_t c = 0; c < d->in; c++)
    for (int64_t o = 0; o < d->out; o += DIRECT_OUTER) {
      for (int64_t t = 0; t < d->taps; t += DIRECT_TAPS)
        direct_weight_tile(r, images, o, c, t, partial);
      direct_weight_add(d, partial, o, c, grad_weight);
    }
}

/* Each pixel from the windows whose taps lie on it: the taps backwards. */
static void direct_image_backward(const direct_room *r, const float *gradient, float *grad_x) {
  const ep_direct *d = &r->d;
  const int64_t plane = ep_direct_whole(d->pixels, EP_DIRECT_PAD);
  int64_t back[EP_DIRECT_TAPS];
  for (int64_t t = 0; t < d->taps; t++) back[t] = d->reach - r->offset[t];
  direct_run(&(direct_product){.rows = d->in,
                               .planes = d->out,
                               .taps = d->taps,
                               .offset = back,
                               .weights = r->weights,
                               .source = gradient,
                               .source_plane = d->plane_floats,
                               .result = r->result,
                               .result_plane = plane});
  for (int64_t c = 0; c < d->in; c++)
    memcpy(grad_x + c * d->pixels, r->result + c * plane, (size_t)d->pixels * sizeof *grad_x);
}

static void direct_backward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const direct_room r = direct_room_of(call);
  const ep_direct *d = &r.d;
  const int64_t image = d->in * d->pixels, windows = d->out * op->out.height * op->out.width;
  if (call->grad_x)
    direct_pack(&r, call->parameters + op->weight, d->in, d->out, d->taps, d->in * d->taps);
  for (int64_t first = 0; first < call->rows; first += EP_DIRECT_IMAGES) {
    int64_t count = call->rows - first;
    if (count > EP_DIRECT_IMAGES) count = EP_DIRECT_IMAGES;
    for (int64_t i = 0; i < count; i++) {
      float *gradient = r.gradients + i * r.gradient_floats;
      direct_image_copy(&r, call->x + (first + i) * image, r.images + i * d->image_floats);
      direct_gradient_copy(&r, op, call->grad_y + (first + i) * windows, gradient);
      if (call->grad_x) direct_image_backward(&r, gradient, call->grad_x + (first + i) * image);
    }
    if (call->grad_weight) direct_weight_backward(&r, count, call->grad_weight);
  }
}

#endif
