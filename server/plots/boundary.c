/* The output over two inputs: a picture of pixels, and axes about it; and the same in the course of
 * a training. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/base64.h"
#include "api/limits.h"
#include "server/plots/colours.h"
#include "server/plots/parts.h"
#include "server/plots/png.h"

enum {
  FILM_MS = 8000, /* about: of all frames together, */
  FRAME_MS = 33,  /* each for so long at least, */
  FRAME_MS_MOST = 250,
  LEGEND = 10, /* classes with a colour of their own */
  LEGEND_CHARACTERS = 7,
  LAST_MS = 1500 /* and the last one longer */
};

static bool has_many_classes(const json_t *numbers) {
  return json_array_size(json_object_get(numbers, "classes")) > 2;
}

static bool is_coloured(const json_t *numbers) {
  return strcmp(ep_plot_word(numbers, "shows"), "colour") == 0;
}

/* Where row i of the numbers, the least y first, is in a picture, whose first row is the highest.
 */
static size_t picture_row(const json_t *numbers, size_t i, size_t size) {
  return json_is_true(json_object_get(numbers, "y_down")) ? i : size - 1 - i;
}

/* Pixels as the numbers have them, [size, size, channels], in the order of a picture. */
static ep_status pixels_order(const json_t *numbers, const char *text, size_t size, size_t channels,
                              unsigned char **out, ep_error *error) {
  size_t row = size * channels;
  unsigned char *raw = malloc(size * row);
  *out = malloc(size * row);
  ep_status status = raw && *out ? EP_OK : ep_fail_memory(error);
  if (status == EP_OK && !ep_base64_read(text, raw, size * row))
    status = ep_fail(error, EP_INTERNAL, "pixels that are not %zu x %zu", size, size);
  for (size_t i = 0; i < size && status == EP_OK; i++)
    memcpy(*out + picture_row(numbers, i, size) * row, raw + i * row, row);
  free(raw);
  if (status == EP_OK) return EP_OK;
  free(*out);
  *out = NULL;
  return status;
}

/* The same of values: a byte each, the number of its colour. */
static ep_status values_order(const json_t *numbers, size_t size, unsigned char **out,
                              ep_error *error) {
  const json_t *values = json_object_get(numbers, "values");
  double low = ep_plot_member(numbers, "least"), high = ep_plot_member(numbers, "most");
  bool classes = has_many_classes(numbers);
  *out = malloc(size * size);
  if (!*out) return ep_fail_memory(error);
  for (size_t i = 0; i < size; i++)
    for (size_t j = 0; j < size; j++) {
      double value = ep_plot_number(json_array_get(json_array_get(values, i), j));
      double share = fmin(1, fmax(0, (value - low) / (high - low)));
      long byte = isnan(value) ? 0 : classes ? (long)value : lround(share * 255);
      (*out)[picture_row(numbers, i, size) * size + j] = (unsigned char)byte;
    }
  return EP_OK;
}

static void palette_make(const json_t *numbers, unsigned char colours[EP_PNG_COLOURS][3]) {
  for (int i = 0; i < EP_PNG_COLOURS; i++)
    if (has_many_classes(numbers))
      ep_class_paint(i, colours[i]);
    else
      ep_value_paint(i / 255.0, colours[i]);
}

static ep_status size_find(const json_t *numbers, size_t *size, ep_error *error) {
  json_int_t side = json_integer_value(json_object_get(numbers, "size"));
  *size = (size_t)side;
  if (side >= 2 && side <= EP_LIMIT_PLOT_SIDE) return EP_OK;
  return ep_fail(error, EP_INTERNAL, "a boundary of %lld points a side", (long long)side);
}

ep_status ep_boundary_png(const json_t *numbers, void **out, size_t *bytes, ep_error *error) {
  unsigned char *pixels = NULL, colours[EP_PNG_COLOURS][3];
  bool coloured = is_coloured(numbers);
  size_t size;
  ep_status status = size_find(numbers, &size, error);
  if (status == EP_OK)
    status = coloured
                 ? pixels_order(numbers, ep_plot_word(numbers, "pixels"), size, 3, &pixels, error)
                 : values_order(numbers, size, &pixels, error);
  palette_make(numbers, colours);
  if (status == EP_OK)
    status = ep_png_write((int)size, (int)size, coloured ? 3 : 1, coloured ? NULL : colours, pixels,
                          out, bytes, error);
  free(pixels);
  return status;
}

static ep_status frame_add(ep_png *png, const json_t *numbers, size_t i, size_t size, int frame_ms,
                           ep_error *error) {
  const json_t *frame = json_array_get(json_object_get(numbers, "frames"), i);
  unsigned char *pixels;
  ep_status status = pixels_order(numbers, ep_plot_word(frame, "pixels"), size,
                                  (size_t)png->channels, &pixels, error);
  if (status != EP_OK) return status;
  status = ep_png_add(png, pixels, frame_ms, error);
  free(pixels);
  return status;
}

/* The still picture is that of the end. */
ep_status ep_timelapse_png(const json_t *numbers, void **out, size_t *bytes, ep_error *error) {
  unsigned char colours[EP_PNG_COLOURS][3];
  size_t count = json_array_size(json_object_get(numbers, "frames")), size;
  bool coloured = is_coloured(numbers);
  ep_png png;
  ep_status status = size_find(numbers, &size, error);
  if (status == EP_OK && count == 0) status = ep_fail(error, EP_INTERNAL, "a film without frames");
  if (status != EP_OK) return status;
  int pause = (int)fmin(FRAME_MS_MOST, fmax(FRAME_MS, (double)FILM_MS / (double)count));
  palette_make(numbers, colours);
  ep_png_begin(&png, (int)size, (int)size, coloured ? 3 : 1, coloured ? NULL : colours, (int)count);
  status = frame_add(&png, numbers, count - 1, size, 0, error);
  for (size_t i = 0; i < count && status == EP_OK; i++)
    status = frame_add(&png, numbers, i, size, i + 1 == count ? LAST_MS : pause, error);
  if (status == EP_OK) return ep_png_end(&png, out, bytes, error);
  ep_png_deinit(&png);
  return status;
}

static void points_draw(ep_drawing *drawing, const json_t *numbers) {
  const json_t *points = json_object_get(numbers, "points");
  const json_t *x = json_object_get(points, "x"), *y = json_object_get(points, "y");
  const json_t *target = json_object_get(points, "target");
  bool classes = has_many_classes(numbers);
  double low = ep_plot_member(numbers, "least"), high = ep_plot_member(numbers, "most");
  for (size_t i = 0; i < json_array_size(x); i++) {
    unsigned char colour[3];
    double left = ep_plot_number(json_array_get(x, i)), up = ep_plot_number(json_array_get(y, i));
    double value = ep_plot_number(json_array_get(target, i));
    if (isnan(left) || isnan(up) || isnan(value)) continue;
    ep_value_paint((value - low) / (high - low), colour);
    if (classes) ep_class_paint((int)fmax(0, value), colour);
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

/* A picture of a file's own pixels, over all of the chart. */
static void picture_draw(ep_drawing *drawing, const void *png, size_t bytes) {
  ep_drawing_png(drawing, drawing->left, drawing->top, drawing->right - drawing->left,
                 drawing->bottom - drawing->top, png, bytes);
}

static void axes_draw(ep_drawing *drawing, const json_t *numbers) {
  const json_t *x = json_object_get(numbers, "x"), *y = json_object_get(numbers, "y");
  drawing->right = drawing->left + (drawing->bottom - drawing->top);
  axis_read(x, &drawing->x);
  axis_read(y, &drawing->y);
  if (json_is_true(json_object_get(numbers, "y_down"))) {
    double low = drawing->y.low;
    drawing->y.low = drawing->y.high;
    drawing->y.high = low;
  }
  ep_drawing_axes(drawing, ep_plot_word(x, "column"), ep_plot_word(y, "column"));
}

/* What the colours of classes stand for, to the right of the picture. */
static void legend_draw(ep_drawing *drawing, const json_t *numbers) {
  const json_t *names = json_object_get(numbers, "classes");
  for (size_t i = 0; i < json_array_size(names) && i < LEGEND; i++) {
    unsigned char colour[3];
    double y = drawing->top + (double)i * 20;
    const char *name = json_string_value(json_array_get(names, i));
    ep_class_paint((int)i, colour);
    ep_drawing_print(drawing,
                     "<rect x=\"%d\" y=\"%.0f\" width=\"12\" height=\"12\" "
                     "fill=\"#%02x%02x%02x\"/>",
                     drawing->right + 8, y, colour[0], colour[1], colour[2]);
    ep_drawing_text(drawing, "name", drawing->right + 24, y + 11, "start", name ? name : "",
                    LEGEND_CHARACTERS);
  }
}

static void scale_note(ep_drawing *drawing, const json_t *numbers) {
  if (is_coloured(numbers))
    ep_plot_note(drawing, "three targets as red, green and blue, from %.4g to %.4g",
                 ep_plot_member(numbers, "least"), ep_plot_member(numbers, "most"));
  else if (has_many_classes(numbers))
    ep_plot_note(drawing, "the predicted class");
  else if (json_object_get(numbers, "classes"))
    ep_plot_note(drawing, "probability of the class %.40s: blue 0, orange 1",
                 ep_plot_word(numbers, "class"));
  else
    ep_plot_note(drawing, "prediction: blue %.4g, orange %.4g", ep_plot_member(numbers, "least"),
                 ep_plot_member(numbers, "most"));
}

ep_status ep_boundary_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  void *png;
  size_t bytes;
  ep_status status = ep_boundary_png(numbers, &png, &bytes, error);
  if (status != EP_OK) return status;
  axes_draw(drawing, numbers);
  picture_draw(drawing, png, bytes);
  free(png);
  points_draw(drawing, numbers);
  if (has_many_classes(numbers)) legend_draw(drawing, numbers);
  scale_note(drawing, numbers);
  return EP_OK;
}

ep_status ep_timelapse_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  void *png;
  size_t bytes;
  ep_status status = ep_timelapse_png(numbers, &png, &bytes, error);
  if (status != EP_OK) return status;
  axes_draw(drawing, numbers);
  picture_draw(drawing, png, bytes);
  free(png);
  if (has_many_classes(numbers)) legend_draw(drawing, numbers);
  scale_note(drawing, numbers);
  return EP_OK;
}
