/* The output over two columns, as a grid of points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/base64.h"
#include "engine/plots/parts.h"

enum { AT_ONCE = 4096, SHOWN_ROWS = 500, BYTE_MOST = 255 };

/* The commonest word's number. sorted: [count], the least first. */
static double commonest(const double *sorted, int64_t count) {
  double found = sorted[0];
  for (int64_t i = 0, run = 0, most = 0; i < count; i++) {
    run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 1;
    if (run > most) most = run, found = sorted[i];
  }
  return found;
}

/* A row of means, and of the commonest words; [columns], written. spare: [rows]. */
static void typical_row_find(const ep_plot_model *model, double *row, double *spare) {
  for (int64_t j = 0; j < model->rows.columns; j++) {
    int64_t count = ep_plot_column_sort(model, j, spare);
    row[j] = count > 0 ? 0 : NAN;
    if (count > 0 && ep_plot_column_is_category(model, j)) {
      row[j] = commonest(spare, count);
      continue;
    }
    for (int64_t i = 0; i < count; i++) row[j] += spare[i] / (double)count;
  }
}

static void axis_write(const ep_plot_model *model, const char *key, int64_t column, double low,
                       double high, ep_writer *writer) {
  char label[EP_PLOT_LABEL_BYTES];
  ep_plot_column_label(model, column, label);
  ep_writer_member_open(writer, key, '{');
  ep_writer_member_string(writer, "column", label);
  ep_writer_member_number(writer, "low", low);
  ep_writer_member_number(writer, "high", high);
  ep_writer_close(writer, '}');
}

static double grid_value(const ep_plot_grid *of, int axis, int64_t i) {
  double share = (double)i / (double)(of->size - 1);
  return of->low[axis] + share * (of->high[axis] - of->low[axis]);
}

ep_status ep_plot_grid_predict(const ep_plot_model *model, const ep_plot_grid *grid, int64_t first,
                               int64_t *count, ep_error *error) {
  int64_t columns = model->rows.columns, left = grid->size * grid->size - first;
  *count = left < grid->at_once ? left : grid->at_once;
  for (int64_t i = 0; i < *count; i++) {
    double *row = grid->rows + i * columns;
    memcpy(row, grid->typical, (size_t)columns * sizeof *row);
    row[grid->x] = grid_value(grid, 0, (first + i) % grid->size);
    row[grid->y] = grid_value(grid, 1, (first + i) / grid->size);
  }
  return model->predict(model->context, grid->rows, *count, grid->output, error);
}

static unsigned char byte_of(double share) {
  return (unsigned char)lround(fmin(1, fmax(0, isnan(share) ? 0 : share)) * BYTE_MOST);
}

void ep_plot_grid_quantize(const ep_plot_model *model, const ep_plot_grid *grid,
                           const double *output, unsigned char *bytes) {
  double range = grid->most - grid->least;
  if (grid->classes) {
    *bytes = (unsigned char)(ep_plot_class_of(model, output) % (BYTE_MOST + 1));
    return;
  }
  for (int64_t channel = 0; channel < ep_plot_grid_channels(grid); channel++) {
    double value = grid->colour ? output[channel] : ep_plot_shown(model, output, grid->which);
    bytes[channel] = byte_of((value - grid->least) / range);
  }
}

int64_t ep_plot_grid_channels(const ep_plot_grid *grid) {
  return grid->colour ? 3 : 1;
}

ep_status ep_plot_grid_paint(const ep_plot_model *model, const ep_plot_grid *grid,
                             unsigned char *bytes, ep_error *error) {
  int64_t channels = ep_plot_grid_channels(grid), points = grid->size * grid->size, count = 0;
  ep_status status = EP_OK;
  for (int64_t first = 0; first < points && status == EP_OK; first += count) {
    status = ep_plot_grid_predict(model, grid, first, &count, error);
    for (int64_t i = 0; i < count && status == EP_OK; i++)
      ep_plot_grid_quantize(model, grid, grid->output + i * grid->outputs,
                            bytes + (first + i) * channels);
  }
  return status;
}

static ep_status values_write(const ep_plot_model *model, const ep_plot_grid *grid,
                              ep_writer *writer, ep_error *error) {
  int64_t points = grid->size * grid->size, count = 0;
  ep_status status = EP_OK;
  ep_writer_member_open(writer, "values", '[');
  for (int64_t first = 0; first < points && status == EP_OK; first += count) {
    status = ep_plot_grid_predict(model, grid, first, &count, error);
    for (int64_t i = 0; i < count && status == EP_OK; i++) {
      const double *output = grid->output + i * grid->outputs;
      if ((first + i) % grid->size == 0) ep_writer_open(writer, '[');
      if (grid->classes)
        ep_writer_integer(writer, ep_plot_class_of(model, output));
      else
        ep_writer_number(writer, (float)ep_plot_shown(model, output, grid->which));
      if ((first + i + 1) % grid->size == 0) ep_writer_close(writer, ']');
    }
  }
  ep_writer_close(writer, ']');
  return status;
}

static ep_status pixels_write(const ep_plot_model *model, const ep_plot_grid *grid,
                              ep_writer *writer, ep_error *error) {
  size_t bytes = (size_t)(grid->size * grid->size * ep_plot_grid_channels(grid));
  unsigned char *pixels = malloc(bytes);
  if (!pixels) return ep_fail_memory(error);
  ep_status status = ep_plot_grid_paint(model, grid, pixels, error);
  if (status == EP_OK) {
    ep_writer_key(writer, "pixels");
    ep_base64_string_write(writer, pixels, bytes);
  }
  free(pixels);
  return status;
}

/* Some of the rows, at even distances, to be drawn on the picture. */
static void rows_write(const ep_plot_model *model, const ep_plot_grid *of, ep_writer *writer) {
  const ep_raw_rows *rows = &model->rows;
  int64_t count = rows->rows < SHOWN_ROWS ? rows->rows : SHOWN_ROWS;
  static const char *const KEYS[] = {"x", "y", "target"};
  bool classifier = ep_loss_is_classifier(model->loss);
  ep_writer_member_open(writer, "points", '{');
  for (int key = 0; key < (of->colour ? 2 : 3); key++) {
    ep_writer_member_open(writer, KEYS[key], '[');
    for (int64_t i = 0; i < count; i++) {
      int64_t row = i * rows->rows / count;
      const double *x = rows->x + row * rows->columns;
      ep_writer_number_or_null(
          writer, key == 0   ? x[of->x]
                  : key == 1 ? x[of->y]
                             : rows->y[row * rows->targets + (classifier ? 0 : of->which)]);
    }
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, '}');
}

static void held_write(const ep_plot_model *model, const ep_plot_grid *of, ep_writer *writer) {
  char label[EP_PLOT_LABEL_BYTES];
  ep_writer_member_open(writer, "held", '[');
  for (int64_t j = 0; j < model->rows.columns && j < EP_LIMIT_PLOT_COLUMNS; j++) {
    if (j == of->x || j == of->y || !ep_plot_column_is_input(model, j)) continue;
    ep_plot_column_label(model, j, label);
    ep_writer_open(writer, '{');
    ep_writer_member_string(writer, "column", label);
    ep_writer_key(writer, "value");
    ep_plot_cell_write(model, j, of->typical[j], writer);
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, ']');
}

static ep_status axes_find(const ep_plot_model *model, const ep_plot_request *request,
                           ep_plot_grid *of, double *spare, ep_error *error) {
  ep_status status = ep_plot_column_find(model, request->x, 0, &of->x, error);
  if (status == EP_OK)
    status = ep_plot_column_find(model, request->y, request->x[0] ? 0 : of->x + 1, &of->y, error);
  if (status == EP_OK && of->x == of->y && !request->y[0])
    status = ep_plot_column_find(model, "", of->x + 1, &of->y, error);
  if (status != EP_OK) return status;
  if (of->x == of->y)
    return ep_fail(error, EP_MALFORMED,
                   "x and y are the same column: give two different ones different ones");
  for (int axis = 0; axis < 2; axis++) {
    int64_t column = axis == 0 ? of->x : of->y, count = ep_plot_column_sort(model, column, spare);
    if (ep_plot_column_is_category(model, column))
      return ep_fail(error, EP_MALFORMED,
                     "column \"%.64s\" contains words: give a column of numbers",
                     model->encoding->column[column].name);
    of->low[axis] = count > 0 ? spare[0] : 0;
    of->high[axis] = count > 0 ? spare[count - 1] : 0;
    if (of->low[axis] == of->high[axis]) of->low[axis] -= 1, of->high[axis] += 1;
  }
  return EP_OK;
}

/* Two inputs and three targets are a picture in colours, unless one of them is asked for. */
static bool is_coloured(const ep_plot_model *model, const ep_plot_request *request) {
  int64_t inputs = 0;
  for (int64_t j = 0; j < model->rows.columns; j++) inputs += ep_plot_column_is_input(model, j);
  return inputs == 2 && model->outputs == 3 && !ep_loss_is_classifier(model->loss) &&
         !request->output[0];
}

/* What the ends of the scale stand for: of a probability 0 and 1; else those of the targets, and of
 * colours the scale that they are usually on. */
static void scale_find(const ep_plot_model *model, ep_plot_grid *of) {
  of->least = 0, of->most = 1;
  if (ep_loss_is_classifier(model->loss)) return;
  double low = INFINITY, high = -INFINITY;
  for (int64_t i = 0; i < model->rows.rows * model->rows.targets; i++) {
    if (!of->colour && i % model->rows.targets != of->which) continue;
    low = fmin(low, model->rows.y[i]), high = fmax(high, model->rows.y[i]);
  }
  if (of->colour && low >= 0 && high <= BYTE_MOST) {
    of->most = high <= 1 ? 1 : BYTE_MOST;
    return;
  }
  if (low <= high) of->least = low < high ? low : low - 1, of->most = low < high ? high : low + 1;
}

static ep_status shown_write(const ep_plot_model *model, const ep_plot_request *request,
                             ep_plot_grid *grid, ep_writer *writer, ep_error *error) {
  grid->colour = is_coloured(model, request);
  grid->classes = ep_loss_is_classifier(model->loss) && ep_plot_classes(model) > 2;
  if (!grid->colour) return ep_plot_shown_find(model, request->output, &grid->which, writer, error);
  ep_writer_member_string(writer, "shows", "colour");
  return EP_OK;
}

ep_status ep_plot_grid_init(const ep_plot_model *model, const ep_plot_request *request,
                            ep_plot_grid *grid, ep_writer *writer, ep_error *error) {
  size_t columns = (size_t)model->rows.columns, size = (size_t)request->size;
  size_t outputs = (size_t)model->outputs, rows = (size_t)model->rows.rows;
  const size_t room = EP_LIMIT_PREDICT_BYTES / sizeof(double) / (columns + outputs) + 1;
  size_t at_once = size * size < AT_ONCE ? size * size : AT_ONCE;
  if (at_once > room) at_once = room;
  *grid = (ep_plot_grid){.size = request->size, .outputs = model->outputs};
  grid->at_once = (int64_t)at_once;
  grid->typical = malloc((columns + rows + at_once * (columns + outputs)) * sizeof(double));
  if (!grid->typical) return ep_fail_memory(error);
  double *spare = grid->typical + columns;
  grid->rows = spare + rows;
  grid->output = grid->rows + at_once * columns;
  ep_status status = axes_find(model, request, grid, spare, error);
  if (status == EP_OK) status = shown_write(model, request, grid, writer, error);
  if (status != EP_OK) return status;
  scale_find(model, grid);
  typical_row_find(model, grid->typical, spare);
  axis_write(model, "x", grid->x, grid->low[0], grid->high[0], writer);
  axis_write(model, "y", grid->y, grid->low[1], grid->high[1], writer);
  ep_writer_member_integer(writer, "size", grid->size);
  ep_writer_member_boolean(writer, "y_down", request->y_down);
  ep_writer_member_number(writer, "least", grid->least);
  ep_writer_member_number(writer, "most", grid->most);
  held_write(model, grid, writer);
  rows_write(model, grid, writer);
  return EP_OK;
}

void ep_plot_grid_deinit(ep_plot_grid *grid) {
  free(grid->typical);
  *grid = (ep_plot_grid){0};
}

ep_status ep_plot_boundary_write(const ep_plot_model *model, const ep_plot_request *request,
                                 ep_writer *writer, ep_error *error) {
  ep_plot_grid grid;
  ep_status status = ep_plot_grid_init(model, request, &grid, writer, error);
  if (status == EP_OK)
    status = grid.colour ? pixels_write(model, &grid, writer, error)
                         : values_write(model, &grid, writer, error);
  ep_plot_grid_deinit(&grid);
  return status;
}
