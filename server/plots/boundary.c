/* The output over two inputs: a picture of pixels, and axes about it. */
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "server/plots/parts.h"

enum { COLOURS = 10 };

/* Told apart by those who see few colours (P. Tol's "bright", and three more). */
static const unsigned char CLASS_COLOUR[COLOURS][3] = {
    {68, 119, 170}, {238, 102, 119}, {34, 136, 51}, {204, 187, 68}, {102, 204, 238},
    {170, 51, 119}, {187, 187, 187}, {136, 34, 85}, {221, 170, 51}, {51, 34, 136}};
/* From no to yes, or from little to much. */
static const double SCALE[3][3] = {{10, 88, 202}, {246, 246, 246}, {214, 86, 12}};

static void value_paint(double share, unsigned char *pixel) {
  double place = fmin(1, fmax(0, share)) * 2;
  int from = place >= 1;
  for (int channel = 0; channel < 3; channel++) {
    double low = SCALE[from][channel], high = SCALE[from + 1][channel];
    pixel[channel] = (unsigned char)lround(low + (place - from) * (high - low));
  }
}

static void range_find(const json_t *values, double *low, double *high) {
  *low = INFINITY, *high = -INFINITY;
  for (size_t i = 0; i < json_array_size(values); i++)
    for (size_t j = 0; j < json_array_size(json_array_get(values, i)); j++) {
      double value = ep_plot_number(json_array_get(json_array_get(values, i), j));
      if (isfinite(value)) *low = fmin(*low, value), *high = fmax(*high, value);
    }
}

static bool has_many_classes(const json_t *numbers) {
  return json_array_size(json_object_get(numbers, "classes")) > 2;
}

/* Of a probability the whole range is shown. */
static void shown_range_find(const json_t *numbers, double *low, double *high) {
  *low = 0, *high = 1;
  if (json_object_get(numbers, "classes")) return;
  range_find(json_object_get(numbers, "values"), low, high);
  if (!(*low < *high)) *low -= 1, *high = *low + 2;
}

ep_status ep_boundary_paint(const json_t *numbers, unsigned char **pixels, int *size,
                            ep_error *error) {
  const json_t *values = json_object_get(numbers, "values");
  bool classes = has_many_classes(numbers);
  double low, high;
  size_t side = json_array_size(values);
  if (side < 2 || side > EP_LIMIT_PLOT_SIDE)
    return ep_fail(error, EP_INTERNAL, "a boundary of %zu rows", side);
  *size = (int)side;
  *pixels = calloc(side * side, 3);
  if (!*pixels) return ep_fail_memory(error);
  shown_range_find(numbers, &low, &high);
  for (size_t i = 0; i < side; i++)
    for (size_t j = 0; j < side; j++) {
      unsigned char *pixel = *pixels + ((side - 1 - i) * side + j) * 3;
      double value = ep_plot_number(json_array_get(json_array_get(values, i), j));
      if (classes)
        memcpy(pixel, CLASS_COLOUR[(int)fmax(0, value) % COLOURS], 3);
      else
        value_paint(isnan(value) ? 0 : (value - low) / (high - low), pixel);
    }
  return EP_OK;
}

ep_status ep_boundary_png(const json_t *numbers, void **out, size_t *bytes, ep_error *error) {
  unsigned char *pixels = NULL;
  int size;
  png_alloc_size_t count = 0;
  ep_status status = ep_boundary_paint(numbers, &pixels, &size, error);
  if (status != EP_OK) return status;
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)size,
                     .height = (png_uint_32)size,
                     .format = PNG_FORMAT_RGB};
  bool good = png_image_write_to_memory(&image, NULL, &count, 0, pixels, 0, NULL);
  *out = good ? malloc(count) : NULL;
  good = *out && png_image_write_to_memory(&image, *out, &count, 0, pixels, 0, NULL);
  *bytes = count;
  free(pixels);
  if (good) return EP_OK;
  free(*out);
  *out = NULL;
  return ep_fail_memory(error);
}

static void base64_write(ep_drawing *drawing, const unsigned char *bytes, size_t count) {
  static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < count; i += 3) {
    size_t left = count - i;
    unsigned word = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                    (left > 2 ? bytes[i + 2] : 0);
    char four[4] = {DIGITS[word >> 18], DIGITS[word >> 12 & 63], DIGITS[word >> 6 & 63],
                    DIGITS[word & 63]};
    if (left < 3) four[3] = '=';
    if (left < 2) four[2] = '=';
    ep_writer_bytes(&drawing->writer, four, 4);
  }
}

static void points_draw(ep_drawing *drawing, const json_t *numbers) {
  const json_t *points = json_object_get(numbers, "points");
  const json_t *x = json_object_get(points, "x"), *y = json_object_get(points, "y");
  const json_t *target = json_object_get(points, "target");
  bool classes = has_many_classes(numbers);
  double low, high;
  shown_range_find(numbers, &low, &high);
  for (size_t i = 0; i < json_array_size(x); i++) {
    unsigned char colour[3];
    double left = ep_plot_number(json_array_get(x, i)), up = ep_plot_number(json_array_get(y, i));
    double value = ep_plot_number(json_array_get(target, i));
    if (isnan(left) || isnan(up) || isnan(value)) continue;
    value_paint((value - low) / (high - low), colour);
    if (classes) memcpy(colour, CLASS_COLOUR[(int)fmax(0, value) % COLOURS], 3);
    ep_drawing_print(drawing,
                     "<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\" "
                     "fill=\"#%02x%02x%02x\"/>\n",
                     ep_drawing_x(drawing, left), ep_drawing_y(drawing, up), colour[0], colour[1],
                     colour[2]);
  }
}

static void axis_read(const json_t *axis, ep_chart_axis *out) {
  ep_chart_axis_init(out, ep_plot_member(axis, "low"), ep_plot_member(axis, "high"), false, false,
                     false);
}

ep_status ep_boundary_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  const json_t *x = json_object_get(numbers, "x"), *y = json_object_get(numbers, "y");
  void *png;
  size_t bytes;
  ep_status status = ep_boundary_png(numbers, &png, &bytes, error);
  if (status != EP_OK) return status;
  drawing->right = drawing->left + (drawing->bottom - drawing->top);
  axis_read(x, &drawing->x);
  axis_read(y, &drawing->y);
  ep_drawing_axes(drawing, ep_plot_word(x, "column"), ep_plot_word(y, "column"));
  ep_drawing_print(drawing,
                   "<image x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                   "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
                   "href=\"data:image/png;base64,",
                   drawing->left, drawing->top, drawing->right - drawing->left,
                   drawing->bottom - drawing->top);
  base64_write(drawing, png, bytes);
  ep_drawing_print(drawing, "\"/>\n");
  free(png);
  points_draw(drawing, numbers);
  if (has_many_classes(numbers))
    ep_plot_note(drawing, "the class that the network says");
  else if (json_object_get(numbers, "classes"))
    ep_plot_note(drawing, "probability of the class %.40s: blue 0, orange 1",
                 ep_plot_word(numbers, "class"));
  else
    ep_plot_note(drawing, "prediction: blue the least, orange the greatest");
  return EP_OK;
}
