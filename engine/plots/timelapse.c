/* The boundary at each moment of a training. Points are bytes: numbers of all moments would be a
 * hundred megabytes. */
#include <stdlib.h>

#include "api/json/base64.h"
#include "engine/plots/parts.h"

enum { PIXELS_BYTES = EP_LIMIT_PLOT_BYTES / 2 /* before base64, which makes four of three */ };

/* How many moments are drawn: as many as the numbers have room for, and the predictions time. */
static int64_t frames_count(const ep_plot_model *model, const ep_plot_grid *grid) {
  int64_t points = grid->size * grid->size, count = model->moments_count;
  int64_t by_bytes = PIXELS_BYTES / (points * ep_plot_grid_channels(grid));
  int64_t by_rows = EP_LIMIT_PLOT_SHUFFLED / points;
  if (count > by_bytes) count = by_bytes;
  return count < by_rows ? count : by_rows;
}

/* Frame i of `count`: at even distances, the first and the last among them. */
static int64_t moment_of(const ep_plot_model *model, int64_t i, int64_t count) {
  return model->moments[count > 1 ? i * (model->moments_count - 1) / (count - 1)
                                  : model->moments_count - 1];
}

static ep_status frame_write(const ep_plot_model *model, const ep_plot_grid *grid, int64_t epoch,
                             unsigned char *pixels, ep_writer *writer, ep_error *error) {
  size_t bytes = (size_t)(grid->size * grid->size * ep_plot_grid_channels(grid));
  ep_status status = model->moment_take(model->context, epoch, error);
  if (status == EP_OK) status = ep_plot_grid_paint(model, grid, pixels, error);
  if (status != EP_OK) return status;
  ep_writer_open(writer, '{');
  ep_writer_member_integer(writer, "epoch", epoch);
  ep_writer_key(writer, "pixels");
  ep_base64_string_write(writer, pixels, bytes);
  ep_writer_close(writer, '}');
  return EP_OK;
}

ep_status ep_plot_timelapse_write(const ep_plot_model *model, const ep_plot_request *request,
                                  ep_writer *writer, ep_error *error) {
  ep_plot_grid grid;
  unsigned char *pixels = NULL;
  ep_status status = ep_plot_grid_init(model, request, &grid, writer, error);
  if (status == EP_OK) {
    int64_t channels = ep_plot_grid_channels(&grid), count = frames_count(model, &grid);
    pixels = malloc((size_t)(grid.size * grid.size * channels));
    if (!pixels) status = ep_fail_memory(error);
    ep_writer_member_integer(writer, "channels", channels);
    ep_writer_member_integer(writer, "of_frames", model->moments_count);
    ep_writer_member_open(writer, "frames", '[');
    for (int64_t i = 0; i < count && status == EP_OK && !writer->failed; i++)
      status = frame_write(model, &grid, moment_of(model, i, count), pixels, writer, error);
    ep_writer_close(writer, ']');
  }
  free(pixels);
  ep_plot_grid_deinit(&grid);
  return status;
}
