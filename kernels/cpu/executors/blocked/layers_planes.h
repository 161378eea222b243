/* layers_planes.h: convolutions without columns: see planes.h. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_PLANES_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_PLANES_H

#include <string.h>

#include "kernels/cpu/executors/blocked/planes.h"
#include "kernels/cpu/runtime/lanes.h"

/* Tiles that fill the registers: 32 with AVX-512, else 16. */
#if EP_LANES == 16
enum { PLANES_ROWS = 6, PLANES_VECTORS = 4, PLANES_OUT = 4, PLANES_TAPS = 6 };
#else
enum { PLANES_ROWS = 6, PLANES_VECTORS = 2, PLANES_OUT = 3, PLANES_TAPS = 4 };
#endif

/* One group of one call: its memory, cut. */
typedef struct {
  const ep_op *op;
  ep_planes p;
  int64_t group;
  const float *w; /* [out, in, taps] */
  float *weights, *result, *images, *gradients;
  int64_t offset[EP_PLANES_TAPS]; /* of a tap, from its window's place in its channel's planes */
  int64_t phase[EP_PLANES_TAPS];
} planes_room;

static void planes_room_make(planes_room *r, const ep_blocked_call *call, int64_t group) {
  const ep_op *op = call->op;
  r->op = op;
  r->p = ep_planes_of(op);
  r->group = group;
  r->w = call->parameters + op->weight + group * r->p.out * r->p.in * r->p.taps;
  r->weights = call->columns;
  r->result = r->weights + r->p.weights;
  r->images = r->result + r->p.result;
  r->gradients = r->images + r->p.images * r->p.image;
  for (int64_t t = 0; t < r->p.taps; t++) {
    const int64_t down = t / op->kernel[1] * op->dilation[0];
    const int64_t right = t % op->kernel[1] * op->dilation[1];
    r->phase[t] = down % op->stride[0] * op->stride[1] + right % op->stride[1];
    r->offset[t] =
        r->phase[t] * r->p.plane + down / op->stride[0] * r->p.width + right / op->stride[1];
  }
}

/* How many of `left` rows the next tile has: no tile of one or two where larger ones divide the
 * rows evenly. */
static int64_t planes_rows_next(int64_t left) {
  if (left == 7 || left == 8) return 4;
  return left < PLANES_ROWS ? left : PLANES_ROWS;
}

/* The windows of an image as vectors: `lines` of line_vectors each, which begin line_step floats
 * apart. Where a line of windows is whole vectors, there are no gaps between them; else all windows
 * are one line, gaps included. */
typedef struct {
  int64_t lines, line_vectors, line_step;
} planes_vectors;

static planes_vectors planes_vectors_of(int64_t width, int64_t height, int64_t step,
                                        int64_t floats) {
  if (width % EP_LANES == 0) return (planes_vectors){height, width / EP_LANES, step};
  return (planes_vectors){1, floats / EP_LANES, 0};
}

/* result[m, :] = sum over planes c and taps t of weights[c, t, m] source[c, : + offset[t]].
 * weights: tile by tile of rows, each [planes, taps, its rows]. */
typedef struct {
  int64_t rows, planes, taps;
  const int64_t *offset;
  const float *weights, *source;
  int64_t source_plane;
  planes_vectors vectors; /* of a plane of the result, where they lie in the source */
  float *result;
  int64_t result_plane; /* floats: whole vectors, one after the other */
} planes_product;

LANES_INLINE void planes_tile(const planes_product *p, const int rows, const int vectors,
                              const float *weights, float *result, int64_t first) {
  lanes sum[PLANES_ROWS][8];
  int64_t at[8];
#pragma GCC unroll 8
  for (int v = 0; v < vectors; v++) {
    const int64_t vector = first / EP_LANES + v, each = p->vectors.line_vectors;
    at[v] = p->vectors.lines == 1 ? vector * EP_LANES
                                  : vector / each * p->vectors.line_step + vector % each * EP_LANES;
  }
  const int64_t taps = p->taps, *offset = p->offset;
#pragma GCC unroll 8
  for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) sum[m][v] = lanes_set(0.0f);
  const float *plane = p->source;
  for (int64_t c = p->planes; c > 0; c--, plane += p->source_plane)
    for (int64_t t = 0; t < taps; t++, weights += rows) {
      const float *from = plane + offset[t];
      lanes x[8];
#pragma GCC unroll 8
      for (int v = 0; v < vectors; v++) x[v] = lanes_load_loose(from + at[v]);
#pragma GCC unroll 8
      for (int m = 0; m < rows; m++) {
        const lanes w = lanes_set(weights[m]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) sum[m][v] += w * x[v];
      }
    }
#pragma GCC unroll 8
  for (int m = 0; m < rows; m++)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++)
      lanes_store(result + m * p->result_plane + first + v * EP_LANES, sum[m][v]);
}

/* All vectors of a tile's rows. */
#define PLANES_LINE(rows, most)                                                                   \
  static __attribute__((noinline)) void planes_line_##rows(const planes_product *given,           \
                                                           const float *weights, float *result) { \
    const planes_product own = *given, *p = &own;                                                 \
    int64_t at = 0;                                                                               \
    for (; at + (most)*EP_LANES <= p->result_plane; at += (most)*EP_LANES)                        \
      planes_tile(p, rows, most, weights, result, at);                                            \
    if ((most) > 4 && at + 4 * EP_LANES <= p->result_plane) {                                     \
      planes_tile(p, rows, 4, weights, result, at);                                               \
      at += 4 * EP_LANES;                                                                         \
    }                                                                                             \
    if ((most) > 2 && at + 2 * EP_LANES <= p->result_plane) {                                     \
      planes_tile(p, rows, 2, weights, result, at);                                               \
      at += 2 * EP_LANES;                                                                         \
    }                                                                                             \
    for (; at < p->result_plane; at += EP_LANES) planes_tile(p, rows, 1, weights, result, at);    \
  }
PLANES_LINE(1, 8)
#if EP_LANES == 16
PLANES_LINE(2, 8)
PLANES_LINE(3, 8)
PLANES_LINE(4, 6)
PLANES_LINE(5, 4)
PLANES_LINE(6, 4)
#else
PLANES_LINE(2, 5)
PLANES_LINE(3, 4)
PLANES_LINE(4, 3)
PLANES_LINE(5, 2)
PLANES_LINE(6, 2)
#endif

static void planes_run(const planes_product *p) {
  const float *weights = p->weights;
  for (int64_t row = 0, rows; row < p->rows; row += rows) {
    float *result = p->result + row * p->result_plane;
    rows = planes_rows_next(p->rows - row);
    switch (rows) {
    case 1: planes_line_1(p, weights, result); break;
    case 2: planes_line_2(p, weights, result); break;
    case 3: planes_line_3(p, weights, result); break;
    case 4: planes_line_4(p, weights, result); break;
    case 5: planes_line_5(p, weights, result); break;
    default: planes_line_6(p, weights, result); break;
    }
    weights += rows * p->planes * p->taps;
  }
}

/* The weights as a product's tiles have them: of row m, plane c, and each listed tap. */
static void planes_pack(const planes_room *r, int64_t rows, int64_t planes, int64_t row_stride,
                        int64_t plane_stride, const int64_t *taps, int64_t taps_count) {
  float *to = r->weights;
  for (int64_t row = 0, count; row < rows; row += count) {
    count = planes_rows_next(rows - row);
    for (int64_t c = 0; c < planes; c++) {
      const float *from = r->w + row * row_stride + c * plane_stride;
      for (int64_t t = 0; t < taps_count; t++)
        for (int64_t m = 0; m < count; m++) *to++ = from[m * row_stride + taps[t]];
    }
  }
}

/* What no copy of an image or a gradient writes: padding and gaps. All images of a group have it in
 * the same places. */
static void planes_clear(float *floats, int64_t count) {
  memset(floats, 0, (size_t)count * sizeof *floats);
}

/* An image's planes of the group, but for the padding. */
static void planes_image_copy(const planes_room *r, const float *x, float *to) {
  const ep_op *op = r->op;
  const ep_planes *p = &r->p;
  const int64_t down = op->stride[0], across = op->stride[1], top = op->padding[0];
  const int64_t left = op->padding[1], width = op->in.width, height = op->in.height;
  for (int64_t c = 0; c < p->in; c++, x += width * height)
    for (int64_t h = 0; h < height; h++) {
      const int64_t line = h + top;
      float *phase =
          to + (c * p->phases + line % down * across) * p->plane + line / down * p->width;
      const float *from = x + h * width;
      if (across == 1) {
        memcpy(phase + left, from, (size_t)width * sizeof *from);
        continue;
      }
      for (int64_t b = 0; b < across; b++) {
        /* The columns w with (w + left) % across == b. */
        const int64_t first = ((b - left) % across + across) % across;
        float *restrict line_to = phase + b * p->plane + (first + left) / across;
        for (int64_t w = first, i = 0; w < width; w += across, i++) line_to[i] = from[w];
      }
    }
}

/* The gradient of an image's windows, but for their gaps. */
static void planes_gradient_copy(const planes_room *r, const float *grad_y, float *to) {
  const ep_op *op = r->op;
  const ep_planes *p = &r->p;
  const size_t bytes = (size_t)op->out.width * sizeof *to;
  for (int64_t o = 0; o < p->out; o++) {
    float *line = to + o * p->gradient_plane + p->reach;
    for (int64_t h = 0; h < op->out.height; h++, line += p->width, grad_y += op->out.width)
      memcpy(line, grad_y, bytes);
  }
}

/* From the result to y, without its gaps. */
static void planes_result_copy(const planes_room *r, const planes_product *product,
                               const float *parameters, float *y) {
  const ep_op *op = r->op;
  const ep_planes *p = &r->p;
  const int64_t width = op->out.width, step = product->vectors.lines > 1 ? width : p->width;
  for (int64_t o = 0; o < p->out; o++) {
    const lanes bias =
        lanes_set(op->bias >= 0 ? parameters[op->bias + r->group * p->out + o] : 0.0f);
    const float *from = r->result + o * product->result_plane;
    for (int64_t h = 0; h < op->out.height; h++, from += step, y += width)
      for (int64_t w = 0; w < width; w += EP_LANES)
        lanes_store_most(y + w, lanes_load_most(from + w, width - w) + bias, width - w);
  }
}

static void planes_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  planes_room room, *r = &room;
  int64_t all[EP_PLANES_TAPS];
  for (int64_t t = 0; t < EP_PLANES_TAPS; t++) all[t] = t;
  for (int64_t group = 0; group < op->groups; group++) {
    planes_room_make(r, call, group);
    const ep_planes *p = &r->p;
    const int64_t first_in = group * p->in * op->in.height * op->in.width;
    const int64_t first_out = group * p->out * op->out.height * op->out.width;
    planes_pack(r, p->out, p->in, p->in * p->taps, p->taps, all, p->taps);
    planes_clear(r->images, p->image);
    const planes_vectors vectors =
        planes_vectors_of(op->out.width, op->out.height, p->width, p->places);
    const planes_product product = {.rows = p->out,
                                    .planes = p->in,
                                    .taps = p->taps,
                                    .offset = r->offset,
                                    .weights = r->weights,
                                    .source = r->images,
                                    .source_plane = p->phases * p->plane,
                                    .vectors = vectors,
                                    .result = r->result,
                                    .result_plane =
                                        vectors.lines * vectors.line_vectors * EP_LANES};
    for (int64_t i = 0; i < call->rows; i++) {
      planes_image_copy(r, call->x + i * op->in_features + first_in, r->images);
      planes_run(&product);
      planes_result_copy(r, &product, call->parameters, call->y + i * op->out_features + first_out);
    }
  }
}

/* For `out` channels that come out and `taps` taps of the channels that go in: the sum over the
 * windows of all images of gradient * tap, added to grad_weight. */
LANES_INLINE void planes_weight_tile(const planes_room *r, const int out, const int taps,
                                     int64_t images, int64_t o, int64_t tap, float *grad_weight) {
  const ep_planes *p = &r->p;
  const int64_t image = p->image, gradient = p->gradient;
  const planes_vectors vectors =
      planes_vectors_of(r->op->out.width, r->op->out.height, p->width, p->places);
  const int64_t length = vectors.line_vectors * EP_LANES, step = vectors.line_step;
  lanes sum[PLANES_OUT][PLANES_TAPS];
  const float *x[PLANES_TAPS], *g[PLANES_OUT];
#pragma GCC unroll 8
  for (int n = 0; n < taps; n++)
    x[n] = r->images + (tap + n) / p->taps * p->phases * p->plane + r->offset[(tap + n) % p->taps];
#pragma GCC unroll 8
  for (int m = 0; m < out; m++) {
    g[m] = r->gradients + (o + m) * p->gradient_plane + p->reach;
#pragma GCC unroll 8
    for (int n = 0; n < taps; n++) sum[m][n] = lanes_set(0.0f);
  }
  for (int64_t i = 0; i < images; i++) {
    for (int64_t line = 0; line < vectors.lines; line++)
      for (int64_t at = line * step, end = at + length; at < end; at += EP_LANES) {
        lanes value[PLANES_OUT];
#pragma GCC unroll 8
        for (int m = 0; m < out; m++) value[m] = lanes_load_loose(g[m] + at);
#pragma GCC unroll 8
        for (int n = 0; n < taps; n++) {
          const lanes other = lanes_load_loose(x[n] + at);
#pragma GCC unroll 8
          for (int m = 0; m < out; m++) sum[m][n] += value[m] * other;
        }
      }
#pragma GCC unroll 8
    for (int n = 0; n < taps; n++) x[n] += image;
#pragma GCC unroll 8
    for (int m = 0; m < out; m++) g[m] += gradient;
  }
#pragma GCC unroll 8
  for (int m = 0; m < out; m++) {
    _Alignas(LANES_BYTES) float spread[EP_LANES * EP_LANES] = {0}, totals[EP_LANES];
#pragma GCC unroll 8
    for (int n = 0; n < taps; n++) lanes_store(spread + n * EP_LANES, sum[m][n]);
    lanes_store(totals, lanes_reduce(spread));
    float *to = grad_weight + (o + m) * p->in * p->taps + tap;
#pragma GCC unroll 8
    for (int n = 0; n < taps; n++) to[n] += totals[n];
  }
}

/* All taps of some channels that come out. */
#define PLANES_WEIGHT(out)                                                                        \
  static __attribute__((noinline)) void planes_weight_##out(const planes_room *r, int64_t images, \
                                                            int64_t o, float *grad_weight) {      \
    const int64_t all = r->p.in * r->p.taps;                                                      \
    int64_t tap = 0;                                                                              \
    for (; tap + PLANES_TAPS <= all; tap += PLANES_TAPS)                                          \
      planes_weight_tile(r, out, PLANES_TAPS, images, o, tap, grad_weight);                       \
    for (; tap + 2 <= all; tap += 2) planes_weight_tile(r, out, 2, images, o, tap, grad_weight);  \
    if (tap < all) planes_weight_tile(r, out, 1, images, o, tap, grad_weight);                    \
  }
PLANES_WEIGHT(1)
#if EP_LANES == 16
PLANES_WEIGHT(4)
#else
PLANES_WEIGHT(3)
#endif

static void planes_weight_backward(const planes_room *r, int64_t images, float *grad_weight) {
  int64_t o = 0;
#if EP_LANES == 16
  for (; o + 4 <= r->p.out; o += 4) planes_weight_4(r, images, o, grad_weight);
#else
  for (; o + 3 <= r->p.out; o += 3) planes_weight_3(r, images, o, grad_weight);
#endif
  for (; o < r->p.out; o++) planes_weight_1(r, images, o, grad_weight);
}

/* A phase of an image's gradient, from the result to grad_x without the padding. */
static void planes_phase_copy(const planes_room *r, int64_t phase, float *grad_x) {
  const ep_op *op = r->op;
  const ep_planes *p = &r->p;
  const int64_t down = op->stride[0], across = op->stride[1], left = op->padding[1];
  const int64_t a = phase / across, b = phase % across, width = op->in.width;
  const int64_t first_line = ((a - op->padding[0]) % down + down) % down;
  const int64_t first = ((b - left) % across + across) % across;
  for (int64_t c = 0; c < p->in; c++, grad_x += op->in.height * width)
    for (int64_t h = first_line; h < op->in.height; h += down) {
      const float *from = r->result + c * p->lines + (h + op->padding[0]) / down * p->width +
                          (first + left) / across;
      float *restrict to = grad_x + h * width;
      if (across == 1)
        memcpy(to, from, (size_t)width * sizeof *to);
      else
        for (int64_t w = first, i = 0; w < width; w += across, i++) to[w] = from[i];
    }
}

/* Each pixel from the windows whose taps lie on it, phase by phase. Lines of whole vectors are
 * computed without the padding. */
static void planes_image_backward(const planes_room *r, int64_t phase, const int64_t *back,
                                  int64_t taps, int64_t images, float *grad_x) {
  const ep_planes *p = &r->p;
  const ep_op *op = r->op;
  const int64_t pixels = op->in.height * op->in.width;
  const bool inner = p->phases == 1 && op->in.width % EP_LANES == 0 && op->in.height > 1;
  const int64_t first = inner ? op->padding[0] * p->width + op->padding[1] : 0;
  planes_product product = {
      .rows = p->in,
      .planes = p->out,
      .taps = taps,
      .offset = back,
      .weights = r->weights,
      .source_plane = p->gradient_plane,
      .vectors = inner ? (planes_vectors){op->in.height, op->in.width / EP_LANES, p->width}
                       : (planes_vectors){1, p->lines / EP_LANES, 0},
      .result = r->result,
      .result_plane = inner ? pixels : p->lines};
  if (taps == 0) memset(r->result, 0, (size_t)(p->in * p->lines) * sizeof *r->result);
  for (int64_t i = 0; i < images; i++, grad_x += op->in_features) {
    product.source = r->gradients + i * p->gradient + first;
    if (taps > 0) planes_run(&product);
    if (inner)
      memcpy(grad_x, r->result, (size_t)(p->in * pixels) * sizeof *grad_x);
    else
      planes_phase_copy(r, phase, grad_x);
  }
}

/* The images first … first + images - 1 of a group. grad_x, grad_weight: the group's; or NULL. */
static void planes_block_backward(const ep_blocked_call *call, const planes_room *r, int64_t first,
                                  int64_t images) {
  const ep_op *op = call->op;
  const ep_planes *p = &r->p;
  const int64_t first_in = r->group * p->in * op->in.height * op->in.width;
  const int64_t first_out = r->group * p->out * op->out.height * op->out.width;
  for (int64_t i = 0; i < images; i++) {
    planes_gradient_copy(r, call->grad_y + (first + i) * op->out_features + first_out,
                         r->gradients + i * p->gradient);
    if (call->grad_weight)
      planes_image_copy(r, call->x + (first + i) * op->in_features + first_in,
                        r->images + i * p->image);
  }
  if (call->grad_weight)
    planes_weight_backward(r, images, call->grad_weight + r->group * p->out * p->in * p->taps);
  for (int64_t phase = 0; call->grad_x && phase < p->phases; phase++) {
    int64_t listed[EP_PLANES_TAPS], back[EP_PLANES_TAPS], taps = 0;
    for (int64_t t = 0; t < p->taps; t++) {
      if (r->phase[t] != phase) continue;
      listed[taps] = t;
      back[taps++] = p->reach - (r->offset[t] - phase * p->plane);
    }
    /* With one phase the packed weights serve all blocks. */
    if (p->phases > 1 || first == 0)
      planes_pack(r, p->in, p->out, p->taps, p->in * p->taps, listed, taps);
    planes_image_backward(r, phase, back, taps, images,
                          call->grad_x + first * op->in_features + first_in);
  }
}

static void planes_backward(const ep_blocked_call *call) {
  planes_room room, *r = &room;
  for (int64_t group = 0; group < call->op->groups; group++) {
    planes_room_make(r, call, group);
    const int64_t images = call->rows < r->p.images ? call->rows : r->p.images;
    if (call->grad_weight) planes_clear(r->images, images * r->p.image);
    planes_clear(r->gradients, images * r->p.gradient);
    for (int64_t first = 0; first < call->rows; first += r->p.images) {
      const int64_t left = call->rows - first;
      planes_block_backward(call, r, first, left < r->p.images ? left : r->p.images);
    }
  }
}

#endif
