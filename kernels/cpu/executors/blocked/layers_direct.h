/* layers_direct.h: small convolutions without columns: see direct.h. */
#ifndef EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_DIRECT_H
#define EP_KERNELS_CPU_EXECUTORS_BLOCKED_LAYERS_DIRECT_H

#include <string.h>

#include "kernels/cpu/executors/blocked/direct.h"
#include "kernels/cpu/runtime/lanes.h"

/* What fits the registers: 32 with AVX-512, else 16. */
#if EP_LANES == 16
enum { DIRECT_VECTORS = 4, DIRECT_LINES = 5 };
#else
enum { DIRECT_VECTORS = 2, DIRECT_LINES = 2 };
#endif
enum { DIRECT_ROWS = 5 };

/* Some of an image's channels, in their order. */
typedef struct {
  int64_t count;
  int32_t channel[EP_DIRECT_CHANNELS];
} direct_list;

static void direct_list_all(direct_list *list, int64_t count) {
  list->count = count;
  for (int64_t i = 0; i < count; i++) list->channel[i] = (int32_t)i;
}

static void direct_list_kept(direct_list *list, const uint8_t *kept, int64_t count) {
  list->count = 0;
  for (int64_t i = 0; i < count; i++)
    if (kept[i]) list->channel[list->count++] = (int32_t)i;
}

/* result[m, :] = sum over planes c and taps t of weights[c, t, m] source[c, : + offset[t]], for the
 * rows m and the planes c that are listed. weights: [planes, taps, weight_rows]. */
typedef struct {
  const direct_list *rows, *planes;
  int64_t taps;
  const int64_t *offset;
  const float *weights, *source;
  int64_t weight_rows, source_plane;
  float *result;
  int64_t result_plane; /* whole vectors */
} direct_product;

LANES_INLINE void direct_tile(const direct_product *p, const int rows, const int vectors,
                              int64_t row, int64_t first) {
  lanes sum[DIRECT_ROWS][DIRECT_VECTORS];
  int64_t at[DIRECT_ROWS];
  const int64_t last = p->rows->count - 1, taps = p->taps, weight_rows = p->weight_rows;
  const int64_t *offset = p->offset;
#pragma GCC unroll 5
  for (int m = 0; m < rows; m++) {
    at[m] = p->rows->channel[row + m < last ? row + m : last];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) sum[m][v] = lanes_set(0.0f);
  }
  for (int64_t c = 0; c < p->planes->count; c++) {
    const int64_t number = p->planes->channel[c];
    const float *weights = p->weights + number * taps * weight_rows;
    const float *plane = p->source + number * p->source_plane + first;
    for (int64_t t = 0; t < taps; t++, weights += weight_rows) {
      lanes x[DIRECT_VECTORS];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; v++) x[v] = lanes_load_loose(plane + offset[t] + v * EP_LANES);
#pragma GCC unroll 5
      for (int m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) sum[m][v] += weights[at[m]] * x[v];
    }
  }
#pragma GCC unroll 5
  for (int m = 0; m < rows; m++)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
      lanes_store(p->result + at[m] * p->result_plane + first + v * EP_LANES, sum[m][v]);
}

/* All vectors of some rows. One vector alone would wait for its own sum. */
LANES_INLINE void direct_rows(const direct_product *p, const int rows, int64_t row) {
  int64_t at = 0, left = p->result_plane / EP_LANES;
  while (left > 0) {
    int64_t vectors = left < DIRECT_VECTORS ? left : DIRECT_VECTORS;
    if (vectors == 4 && left % 4 == 1) vectors = 3;
    switch (vectors) {
#if EP_LANES == 16
    case 4: direct_tile(p, rows, 4, row, at); break;
    case 3: direct_tile(p, rows, 3, row, at); break;
#endif
    case 2: direct_tile(p, rows, 2, row, at); break;
    default: direct_tile(p, rows, 1, row, at); break;
    }
    at += vectors * EP_LANES;
    left -= vectors;
  }
}

static void direct_run(const direct_product *p) {
  int64_t row = 0;
  for (; row + DIRECT_ROWS <= p->rows->count; row += DIRECT_ROWS) direct_rows(p, DIRECT_ROWS, row);
  for (; row < p->rows->count; row += 2) direct_rows(p, 2, row);
}

/* The member's memory, cut. */
typedef struct {
  ep_direct d;
  float *weights, *result, *image, *gradient, *across;
  int64_t offset[EP_DIRECT_TAPS];
} direct_room;

static direct_room direct_room_of(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  direct_room r = {.d = ep_direct_of(op)};
  r.weights = call->columns;
  r.result = r.weights + r.d.weights_floats;
  r.image = r.result + ep_direct_whole(r.d.result_floats, EP_DIRECT_PAD);
  r.gradient = r.image + r.d.image_floats;
  r.across = r.gradient + r.d.gradient_floats;
  for (int64_t t = 0; t < r.d.taps; t++)
    r.offset[t] =
        t / op->kernel[1] * op->dilation[0] * op->in.width + t % op->kernel[1] * op->dilation[1];
  return r;
}

/* [planes, taps, rows] of `from`, [rows, planes, taps] by its strides. */
static void direct_turn(const direct_room *r, const float *from, int64_t rows, int64_t planes,
                        int64_t row_stride, int64_t plane_stride) {
  float *to = r->weights;
  for (int64_t c = 0; c < planes; c++)
    for (int64_t t = 0; t < r->d.taps; t++)
      for (int64_t m = 0; m < rows; m++) *to++ = from[m * row_stride + c * plane_stride + t];
}

static void direct_image_copy(const direct_room *r, const float *from) {
  const int64_t count = r->d.in * r->d.pixels;
  memcpy(r->image, from, (size_t)count * sizeof *from);
  memset(r->image + count, 0, (size_t)(r->d.image_floats - count) * sizeof *from);
}

/* The channels of image i that are asked for. */
static void direct_list_of(const ep_blocked_call *call, int64_t i, direct_list *list) {
  const int64_t channels = call->op->out.channels;
  if (call->kept)
    direct_list_kept(list, call->kept + i * channels, channels);
  else
    direct_list_all(list, channels);
}

/* What is asked for, from the result to y, without its gaps. */
static void direct_result_copy(const ep_blocked_call *call, const direct_room *r,
                               const direct_list *asked, float *y) {
  const ep_op *op = call->op;
  const int64_t width = op->out.width;
  for (int64_t n = 0; n < asked->count; n++) {
    const int64_t o = asked->channel[n];
    const lanes bias = lanes_set(op->bias >= 0 ? call->parameters[op->bias + o] : 0);
    const float *from = r->result + o * r->d.places;
    float *to = y + o * r->d.windows;
    for (int64_t h = 0; h < op->out.height; h++, from += op->in.width, to += width)
      for (int64_t w = 0; w < width; w += EP_LANES) {
        const int64_t count = width - w < EP_LANES ? width - w : EP_LANES;
        lanes_store_some(to + w, lanes_load_some(from + w, count) + bias, count);
      }
  }
}

static void direct_forward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const direct_room r = direct_room_of(call);
  const ep_direct *d = &r.d;
  direct_list asked, planes;
  direct_list_all(&planes, d->in);
  direct_turn(&r, call->parameters + op->weight, d->out, d->in, d->in * d->taps, d->taps);
  for (int64_t i = 0; i < call->rows; i++) {
    direct_list_of(call, i, &asked);
    direct_image_copy(&r, call->x + i * op->in_features);
    direct_run(&(direct_product){.rows = &asked,
                                 .planes = &planes,
                                 .taps = d->taps,
                                 .offset = r.offset,
                                 .weights = r.weights,
                                 .source = r.image,
                                 .weight_rows = d->out,
                                 .source_plane = d->pixels,
                                 .result = r.result,
                                 .result_plane = d->places});
    direct_result_copy(call, &r, &asked, call->y + i * op->out_features);
  }
}

/* The listed planes of an image's gradient with their gaps. */
static void direct_gradient_copy(const direct_room *r, const ep_op *op, const direct_list *asked,
                                 const float *grad_y) {
  const int64_t width = op->out.width;
  for (int64_t n = 0; n < asked->count; n++) {
    const float *from = grad_y + asked->channel[n] * r->d.windows;
    float *plane = r->gradient + asked->channel[n] * r->d.plane_floats, *line = plane + r->d.reach;
    memset(plane, 0, (size_t)r->d.plane_floats * sizeof *plane);
    for (int64_t h = 0; h < op->out.height; h++, line += op->in.width, from += width)
      for (int64_t w = 0; w < width; w++) line[w] = from[w];
  }
}

/* Each pixel from the windows whose taps lie on it: the taps backwards. */
static void direct_image_backward(const direct_room *r, const direct_list *asked, float *grad_x) {
  const ep_direct *d = &r->d;
  const int64_t plane = ep_direct_whole(d->pixels, EP_DIRECT_PAD);
  int64_t back[EP_DIRECT_TAPS];
  direct_list rows;
  direct_list_all(&rows, d->in);
  for (int64_t t = 0; t < d->taps; t++) back[t] = d->reach - r->offset[t];
  direct_run(&(direct_product){.rows = &rows,
                               .planes = asked,
                               .taps = d->taps,
                               .offset = back,
                               .weights = r->weights,
                               .source = r->gradient,
                               .weight_rows = d->in,
                               .source_plane = d->plane_floats,
                               .result = r->result,
                               .result_plane = plane});
  for (int64_t c = 0; c < d->in; c++)
    memcpy(grad_x + c * d->pixels, r->result + c * plane, (size_t)d->pixels * sizeof *grad_x);
}

/* across: [windows, lanes] of EP_LANES channels of the list, from the first-th on; zeros behind its
 * end. */
static void direct_across(const direct_room *r, const direct_list *asked, int64_t first,
                          const float *grad_y) {
  const int64_t windows = r->d.windows;
  float *to = r->across;
  for (int64_t w = 0; w < windows; w += EP_LANES, to += EP_LANES * EP_LANES) {
    const int64_t count = windows - w < EP_LANES ? windows - w : EP_LANES;
    lanes block[EP_LANES];
    for (int j = 0; j < EP_LANES; j++)
      block[j] = first + j < asked->count
                     ? lanes_load_some(grad_y + asked->channel[first + j] * windows + w, count)
                     : lanes_set(0.0f);
    lanes_transpose(block);
#pragma GCC unroll 16
    for (int j = 0; j < EP_LANES; j++) lanes_store(to + j * EP_LANES, block[j]);
  }
}

/* For `lines` lines of `taps` neighbouring taps: the sum over all windows of across[window, :]
 * x[tap of the window], to sums: [lines * taps, lanes]. Lines beyond the last are taken as the
 * last. */
LANES_INLINE void direct_weight_tile(const direct_room *r, const ep_op *op, const int lines,
                                     const int taps, const float *x, int64_t line, int64_t count,
                                     float *sums) {
  lanes sum[DIRECT_LINES][5];
  const float *from[DIRECT_LINES], *across = r->across;
#pragma GCC unroll 5
  for (int m = 0; m < lines; m++) {
    from[m] = x + r->offset[(line + m < count ? line + m : count - 1) * taps];
#pragma GCC unroll 5
    for (int n = 0; n < taps; n++) sum[m][n] = lanes_set(0.0f);
  }
  for (int64_t h = 0; h < op->out.height; h++) {
    for (int64_t w = 0; w < op->out.width; w++, across += EP_LANES) {
      const lanes value = lanes_load(across);
#pragma GCC unroll 5
      for (int m = 0; m < lines; m++)
#pragma GCC unroll 5
        for (int n = 0; n < taps; n++) sum[m][n] += from[m][w + n] * value;
      /* A tap is loaded again for the next window: kept in a register, it would cost a sum's. */
      __asm__ volatile("" ::: "memory");
    }
#pragma GCC unroll 5
    for (int m = 0; m < lines; m++) from[m] += op->in.width;
  }
#pragma GCC unroll 5
  for (int m = 0; m < lines; m++)
#pragma GCC unroll 5
    for (int n = 0; n < taps; n++)
      lanes_store(sums + ((line + m) * taps + n) * EP_LANES, sum[m][n]);
}

/* grad_weight[channel, c, :] += sums[:, lane] for each lane's channel. */
static void direct_weight_add(const direct_room *r, const direct_list *asked, int64_t first,
                              int64_t c, const float *sums, float *grad_weight) {
  const ep_direct *d = &r->d;
  const int64_t channels = asked->count - first < EP_LANES ? asked->count - first : EP_LANES;
  for (int64_t t = 0; t < d->taps; t += EP_LANES) {
    const int64_t count = d->taps - t < EP_LANES ? d->taps - t : EP_LANES;
    lanes block[EP_LANES];
#pragma GCC unroll 16
    for (int j = 0; j < EP_LANES; j++) block[j] = lanes_load(sums + (t + j) * EP_LANES);
    lanes_transpose(block);
    for (int64_t j = 0; j < channels; j++) {
      float *to = grad_weight + (asked->channel[first + j] * d->in + c) * d->taps + t;
      lanes_store_some(to, lanes_load_some(to, count) + block[j], count);
    }
  }
}

/* grad_weight += what one image gives. */
static void direct_weight_backward(const direct_room *r, const ep_op *op, const direct_list *asked,
                                   const float *image, const float *grad_y, float *grad_weight) {
  enum { MOST = EP_DIRECT_TAPS + DIRECT_LINES * 5 + EP_LANES };
  _Alignas(LANES_BYTES) float sums[MOST * EP_LANES];
  const int64_t neighbours = op->dilation[1] == 1 ? op->kernel[1] : 1;
  const int64_t together = neighbours == 5 || neighbours == 3 ? neighbours : 1;
  const int64_t lines = r->d.taps / together;
  memset(sums, 0, sizeof sums);
  for (int64_t first = 0; first < asked->count; first += EP_LANES) {
    direct_across(r, asked, first, grad_y);
    for (int64_t c = 0; c < r->d.in; c++) {
      const float *x = image + c * r->d.pixels;
      for (int64_t line = 0; line < lines; line += DIRECT_LINES) {
        if (together == 5)
          direct_weight_tile(r, op, DIRECT_LINES, 5, x, line, lines, sums);
        else if (together == 3)
          direct_weight_tile(r, op, DIRECT_LINES, 3, x, line, lines, sums);
        else
          direct_weight_tile(r, op, DIRECT_LINES, 1, x, line, lines, sums);
      }
      direct_weight_add(r, asked, first, c, sums, grad_weight);
    }
  }
}

static void direct_backward(const ep_blocked_call *call) {
  const ep_op *op = call->op;
  const direct_room r = direct_room_of(call);
  const ep_direct *d = &r.d;
  direct_list asked;
  if (call->grad_x)
    direct_turn(&r, call->parameters + op->weight, d->in, d->out, d->taps, d->in * d->taps);
  for (int64_t i = 0; i < call->rows; i++) {
    const float *grad_y = call->grad_y + i * op->out_features;
    direct_list_of(call, i, &asked);
    if (call->grad_weight)
      direct_weight_backward(&r, op, &asked, call->x + i * op->in_features, grad_y,
                             call->grad_weight);
    if (!call->grad_x) continue;
    direct_gradient_copy(&r, op, &asked, grad_y);
    direct_image_backward(&r, &asked, call->grad_x + i * op->in_features);
  }
}

#endif
