#include "engine/data/pictures/resize.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The inputs that an output is the weighted sum of. */
typedef struct {
  int first, count;
  size_t weights; /* offset of the first one's weight */
} support;

typedef struct {
  support *support; /* [out], owned */
  double *weight;   /* owned */
} axis;

/* In units of 1 / out, an input is `out` long, and an output is `in` long. */
static support area_support(int64_t i, int64_t in, int64_t out, double *weight) {
  int64_t begin = i * in, end = begin + in;
  support found = {.first = (int)(begin / out)};
  for (int64_t at = begin; at < end; found.count++) {
    int64_t next = (at / out + 1) * out;
    if (next > end) next = end;
    weight[found.count] = (double)(next - at) / (double)in;
    at = next;
  }
  return found;
}

/* In units of 1 / (2 out), from the middle of input 0: the output's middle lies at `middle`. */
static support bilinear_support(int64_t i, int64_t in, int64_t out, double *weight) {
  int64_t middle = (2 * i + 1) * in - out;
  if (middle < 0) middle = 0;
  if (middle > (in - 1) * 2 * out) middle = (in - 1) * 2 * out;
  support found = {.first = (int)(middle / (2 * out)), .count = 1};
  weight[0] = 1;
  if (found.first + 1 < in) {
    found.count = 2;
    weight[1] = (double)(middle % (2 * out)) / (double)(2 * out);
    weight[0] = 1 - weight[1];
  }
  return found;
}

static bool axis_init(axis *made, int in, int out) {
  size_t used = 0;
  made->support = malloc((size_t)out * sizeof *made->support);
  made->weight = malloc(((size_t)in + 2 * (size_t)out) * sizeof *made->weight);
  if (!made->support || !made->weight) return false;
  for (int i = 0; i < out; i++) {
    support found = out <= in ? area_support(i, in, out, made->weight + used)
                              : bilinear_support(i, in, out, made->weight + used);
    found.weights = used;
    used += (size_t)found.count;
    made->support[i] = found;
  }
  return true;
}

static void axis_deinit(axis *made) {
  free(made->support);
  free(made->weight);
}

/* Adds `weight` times the resized row to sum: [width, channels]. */
static void row_add(const ep_picture *picture, int y, const axis *columns, int width, double weight,
                    double *sum) {
  for (int x = 0; x < width; x++) {
    const support *inputs = &columns->support[x];
    const double *weights = columns->weight + inputs->weights;
    const uint8_t *from = ep_picture_pixel(picture, y, inputs->first);
    for (int c = 0; c < picture->channels; c++, from += picture->depth) {
      const uint8_t *at = from;
      double value = 0;
      if (picture->depth == EP_DEPTH_8)
        for (int k = 0; k < inputs->count; k++, at += picture->right) value += weights[k] * *at;
      else
        for (int k = 0; k < inputs->count; k++, at += picture->right)
          value += weights[k] * *(const uint16_t *)(const void *)at;
      sum[x * picture->channels + c] += weight * value;
    }
  }
}

/* One row of the output, every channel of it. */
static void row_write(const double *sum, const ep_picture *picture, int width, size_t plane,
                      size_t at, void *out) {
  for (int x = 0; x < width; x++)
    for (int c = 0; c < picture->channels; c++) {
      double value = sum[x * picture->channels + c] + 0.5;
      size_t place = (size_t)c * plane + at + (size_t)x;
      if (picture->depth == EP_DEPTH_8)
        ((uint8_t *)out)[place] = (uint8_t)value;
      else
        ((uint16_t *)out)[place] = (uint16_t)value;
    }
}

static void rows_resize(const ep_picture *picture, int height, int width, const axis *rows,
                        const axis *columns, double *sum, void *out) {
  size_t plane = (size_t)height * (size_t)width;
  for (int y = 0; y < height; y++) {
    const support *inputs = &rows->support[y];
    memset(sum, 0, (size_t)width * (size_t)picture->channels * sizeof *sum);
    for (int k = 0; k < inputs->count; k++)
      row_add(picture, inputs->first + k, columns, width, rows->weight[inputs->weights + (size_t)k],
              sum);
    row_write(sum, picture, width, plane, (size_t)y * (size_t)width, out);
  }
}

ep_status ep_picture_resize(const ep_picture *picture, int height, int width, void *out,
                            ep_error *error) {
  assert(height > 0 && width > 0);
  axis rows = {0}, columns = {0};
  double *sum = malloc((size_t)width * (size_t)picture->channels * sizeof *sum);
  bool ok = axis_init(&rows, picture->height, height);
  ok = axis_init(&columns, picture->width, width) && ok && sum;
  if (ok) rows_resize(picture, height, width, &rows, &columns, sum, out);
  axis_deinit(&rows);
  axis_deinit(&columns);
  free(sum);
  return ok ? EP_OK : ep_fail_memory(error);
}
