/* A layer's weights as pictures: tiles of the shape of what the layer sees, or one of a matrix. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/base64.h"
#include "engine/plots/parts.h"

enum { MIDDLE = 128, REACH = 127 }; /* the byte of 0, and how far the largest weight is from it */

static const char SUFFIX[] = ".weight";

/* [out, in] or [out, in, height, width], of the network itself. */
static bool can_be_drawn(const ep_tensor *tensor) {
  size_t bytes = strlen(tensor->name), suffix = sizeof SUFFIX - 1;
  return (tensor->dimensions == 2 || tensor->dimensions == 4) && bytes > suffix &&
         strcmp(tensor->name + bytes - suffix, SUFFIX) == 0;
}

static const ep_tensor *first_find(const ep_plot_model *model) {
  for (size_t i = 0; model->weights && i < model->weights->tensors_count; i++)
    if (can_be_drawn(&model->weights->tensor[i])) return &model->weights->tensor[i];
  return NULL;
}

bool ep_plot_weights_there(const ep_plot_model *model) {
  return first_find(model) != NULL;
}

/* "4" or "4.weight". */
static bool is_named(const ep_tensor *tensor, const char *name) {
  size_t bytes = strlen(tensor->name) - (sizeof SUFFIX - 1);
  return strcmp(tensor->name, name) == 0 ||
         (strlen(name) == bytes && strncmp(tensor->name, name, bytes) == 0);
}

static ep_status tensor_find(const ep_plot_model *model, const char *name, const ep_tensor **out,
                             ep_error *error) {
  char list[256] = "";
  size_t used = 0;
  *out = first_find(model);
  if (!name[0]) return EP_OK;
  for (size_t i = 0; i < model->weights->tensors_count; i++) {
    const ep_tensor *tensor = &model->weights->tensor[i];
    if (!can_be_drawn(tensor)) continue;
    *out = tensor;
    if (is_named(tensor, name)) return EP_OK;
    int bytes = (int)(strlen(tensor->name) - (sizeof SUFFIX - 1));
    if (used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", used > 0 ? ", " : "",
                               bytes, tensor->name);
  }
  return ep_fail(error, EP_MALFORMED,
                 "?layer=%.64s is not a layer whose weights can be drawn: those are %s", name,
                 list);
}

/* How the values of a tensor lie in tiles, [tiles, channels, height, width]. */
typedef struct {
  int64_t tiles, channels, height, width;
} tiling;

static tiling tiling_find(const ep_plot_model *model, const ep_tensor *tensor) {
  const int64_t *shape = tensor->shape, *picture = model->picture;
  bool first = tensor == first_find(model);
  bool sees_pictures = picture[0] > 0 && first && tensor->dimensions == 2 &&
                       shape[1] == picture[0] * picture[1] * picture[2];
  tiling of = {1, 1, shape[0], shape[1]};
  if (tensor->dimensions == 4)
    of = (tiling){shape[0], shape[1], shape[2], shape[3]};
  else if (sees_pictures)
    of = (tiling){shape[0], picture[0], picture[1], picture[2]};
  bool coloured = of.channels == 3 && first; /* red, green, blue */
  return coloured ? of : (tiling){of.tiles * of.channels, 1, of.height, of.width};
}

static double weight_of(const ep_tensor *tensor, int64_t i) {
  float value;
  memcpy(&value, tensor->bytes + (size_t)i * sizeof value, sizeof value);
  return value;
}

/* The greatest of all, so that tiles can be compared. */
static double largest_find(const ep_tensor *tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor->values_count; i++)
    largest = fmax(largest, fabs(weight_of(tensor, i)));
  return largest;
}

/* Names of the layers whose weights can be drawn. */
static void layers_write(const ep_plot_model *model, ep_writer *writer) {
  char name[EP_LIMIT_NAME_BYTES + 1];
  ep_writer_member_open(writer, "layers", '[');
  for (size_t i = 0; i < model->weights->tensors_count; i++) {
    const ep_tensor *tensor = &model->weights->tensor[i];
    if (!can_be_drawn(tensor)) continue;
    snprintf(name, sizeof name, "%.*s", (int)(strlen(tensor->name) - (sizeof SUFFIX - 1)),
             tensor->name);
    ep_writer_string(writer, name);
  }
  ep_writer_close(writer, ']');
}

ep_status ep_plot_weights_write(const ep_plot_model *model, const ep_plot_request *request,
                                ep_writer *writer, ep_error *error) {
  const ep_tensor *tensor;
  ep_status status = tensor_find(model, request->column, &tensor, error);
  if (status != EP_OK) return status;
  tiling of = tiling_find(model, tensor);
  int64_t all = of.tiles, values = of.channels * of.height * of.width;
  if (of.tiles > EP_LIMIT_PLOT_TILES) of.tiles = EP_LIMIT_PLOT_TILES;
  if (of.tiles * values > EP_LIMIT_PLOT_WEIGHTS) of.tiles = EP_LIMIT_PLOT_WEIGHTS / values;
  if (of.tiles == 0) /* a matrix of more: its first rows */
    of = (tiling){1, 1, EP_LIMIT_PLOT_WEIGHTS / of.width, of.width};
  if (of.height == 0)
    return ep_fail(error, EP_TOO_LARGE, "the weights of \"%s\" are %lld per row: the limit is %d",
                   tensor->name, (long long)of.width, EP_LIMIT_PLOT_WEIGHTS);
  int64_t count = of.tiles * of.channels * of.height * of.width;
  unsigned char *pixels = malloc((size_t)count);
  if (!pixels) return ep_fail_memory(error);
  double largest = largest_find(tensor);
  for (int64_t i = 0; i < count; i++) {
    double share = largest > 0 ? weight_of(tensor, i) / largest : 0;
    pixels[i] = (unsigned char)(MIDDLE + lround((isnan(share) ? 0 : share) * REACH));
  }
  ep_writer_member_string(writer, "tensor", tensor->name);
  layers_write(model, writer);
  ep_writer_member_open(writer, "shape", '[');
  for (int i = 0; i < tensor->dimensions; i++) ep_writer_integer(writer, tensor->shape[i]);
  ep_writer_close(writer, ']');
  ep_writer_member_number(writer, "largest", largest);
  ep_writer_member_integer(writer, "tiles", of.tiles);
  ep_writer_member_integer(writer, "of_tiles", all);
  ep_writer_member_open(writer, "picture", '{');
  ep_writer_member_integer(writer, "channels", of.channels);
  ep_writer_member_integer(writer, "height", of.height);
  ep_writer_member_integer(writer, "width", of.width);
  ep_writer_close(writer, '}');
  ep_writer_key(writer, "pixels");
  ep_base64_string_write(writer, pixels, (size_t)count);
  free(pixels);
  return EP_OK;
}
