/* Small pictures side by side: weights, and rows that are pictures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/json/base64.h"
#include "api/limits.h"
#include "server/plots/colours.h"
#include "server/plots/parts.h"
#include "server/plots/png.h"

enum { RGBA = 4, OPAQUE = 255, SIDE_MOST = 1 << 20 };

static int64_t member_integer(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}

static int64_t tile_bytes(const ep_tiles *tiles) {
  return tiles->channels * tiles->height * tiles->width;
}

ep_status ep_tiles_init(ep_tiles *tiles, const json_t *numbers, size_t count, ep_error *error) {
  const json_t *picture = json_object_get(numbers, "picture");
  *tiles = (ep_tiles){.count = (int64_t)count,
                      .channels = member_integer(picture, "channels"),
                      .height = member_integer(picture, "height"),
                      .width = member_integer(picture, "width")};
  bool sound = count > 0 && tiles->channels > 0 && tiles->height > 0 && tiles->width > 0 &&
               tiles->channels <= EP_LIMIT_PLOT_BYTES && tiles->height <= SIDE_MOST &&
               tiles->width <= SIDE_MOST && tile_bytes(tiles) <= EP_LIMIT_PLOT_BYTES &&
               count <= EP_LIMIT_PLOT_TILES;
  if (!sound) return ep_fail(error, EP_INTERNAL, "pictures of no size");
  tiles->bytes = calloc(count, (size_t)tile_bytes(tiles));
  return tiles->bytes ? EP_OK : ep_fail_memory(error);
}

void ep_tiles_deinit(ep_tiles *tiles) {
  free(tiles->bytes);
  tiles->bytes = NULL;
}

int64_t ep_tiles_columns(const ep_tiles *tiles) {
  double columns = sqrt((double)(tiles->count * (tiles->height + 1)) / (double)(tiles->width + 1));
  return columns < 1 ? 1 : (int64_t)ceil(columns);
}

/* Of more than three channels the first is shown. */
static void pixel_paint(const ep_tiles *tiles, const unsigned char *tile, int64_t i,
                        unsigned char *pixel) {
  int64_t points = tiles->height * tiles->width;
  for (int channel = 0; channel < 3; channel++)
    pixel[channel] = tile[(tiles->channels == 3 ? channel * points : 0) + i];
  if (tiles->scaled && tiles->channels == 1) ep_value_paint((tile[i] - 1) / 254.0, pixel);
  pixel[3] = OPAQUE;
}

ep_status ep_tiles_png(const ep_tiles *tiles, int64_t first, int64_t count, int64_t columns,
                       void **out, size_t *bytes, ep_error *error) {
  int64_t rows = (count + columns - 1) / columns, step = tiles->width + 1;
  int64_t width = columns * step - 1, height = rows * (tiles->height + 1) - 1;
  unsigned char *pixels = calloc((size_t)(width * height), RGBA); /* nothing: one sees through */
  if (!pixels) return ep_fail_memory(error);
  for (int64_t k = 0; k < count; k++) {
    int64_t top = k / columns * (tiles->height + 1), left = k % columns * step;
    for (int64_t i = 0; i < tiles->height * tiles->width; i++)
      pixel_paint(tiles, tiles->bytes + (first + k) * tile_bytes(tiles), i,
                  pixels + ((top + i / tiles->width) * width + left + i % tiles->width) * RGBA);
  }
  ep_status status = ep_png_write((int)width, (int)height, RGBA, NULL, pixels, out, bytes, error);
  free(pixels);
  return status;
}

static ep_status weights_read(const json_t *numbers, ep_tiles *tiles, ep_error *error) {
  ep_status status = ep_tiles_init(tiles, numbers, (size_t)member_integer(numbers, "tiles"), error);
  if (status != EP_OK) return status;
  tiles->scaled = true;
  size_t bytes = (size_t)(tiles->count * tile_bytes(tiles));
  if (ep_base64_read(ep_plot_word(numbers, "pixels"), tiles->bytes, bytes)) return EP_OK;
  return ep_fail(error, EP_INTERNAL, "pixels that are not %zu", bytes);
}

ep_status ep_weights_png(const json_t *numbers, void **out, size_t *bytes, ep_error *error) {
  ep_tiles tiles;
  ep_status status = weights_read(numbers, &tiles, error);
  if (status == EP_OK)
    status = ep_tiles_png(&tiles, 0, tiles.count, ep_tiles_columns(&tiles), out, bytes, error);
  ep_tiles_deinit(&tiles);
  return status;
}

/* A matrix is stretched over the chart; tiles keep their shape. */
static void weights_place(const ep_drawing *drawing, const ep_tiles *tiles, double *width,
                          double *height) {
  int64_t columns = ep_tiles_columns(tiles), rows = (tiles->count + columns - 1) / columns;
  double wide = (double)(columns * (tiles->width + 1) - 1);
  double high = (double)(rows * (tiles->height + 1) - 1);
  double scale =
      fmin((drawing->right - drawing->left) / wide, (drawing->bottom - drawing->top) / high);
  *width = tiles->count == 1 ? drawing->right - drawing->left : wide * scale;
  *height = tiles->count == 1 ? drawing->bottom - drawing->top : high * scale;
}

static void weights_note(ep_drawing *drawing, const json_t *numbers, const ep_tiles *tiles) {
  int64_t all = member_integer(numbers, "of_tiles");
  char which[64] = "";
  if (all > tiles->count)
    snprintf(which, sizeof which, "; the first %lld of %lld", (long long)tiles->count,
             (long long)all);
  if (tiles->channels == 3)
    ep_plot_note(drawing, "%.40s as red, green, blue; grey is 0%s", ep_plot_word(numbers, "tensor"),
                 which);
  else
    ep_plot_note(drawing, "%.40s: blue %.3g, orange %.3g%s", ep_plot_word(numbers, "tensor"),
                 -ep_plot_member(numbers, "largest"), ep_plot_member(numbers, "largest"), which);
}

ep_status ep_weights_draw(ep_drawing *drawing, const json_t *numbers, ep_error *error) {
  ep_tiles tiles;
  void *png = NULL;
  size_t bytes;
  double width, height;
  ep_status status = weights_read(numbers, &tiles, error);
  if (status == EP_OK)
    status = ep_tiles_png(&tiles, 0, tiles.count, ep_tiles_columns(&tiles), &png, &bytes, error);
  if (status == EP_OK) {
    bool matrix = tiles.count == 1;
    if (!matrix) drawing->left = 16, drawing->bottom += 40;
    weights_place(drawing, &tiles, &width, &height);
    if (matrix) {
      ep_chart_axis_init(&drawing->x, 0, (double)tiles.width, false, true, false);
      ep_chart_axis_init(&drawing->y, 0, (double)tiles.height, false, true, false);
      drawing->y.low = drawing->y.high, drawing->y.high = 0; /* the first row is above */
      ep_drawing_axes(drawing, "inputs", "outputs");
    }
    ep_drawing_png(drawing, drawing->left, drawing->top, width, height, png, bytes);
    weights_note(drawing, numbers, &tiles);
    free(png);
  }
  ep_tiles_deinit(&tiles);
  return status;
}
