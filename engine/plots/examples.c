/* Rows to look at: those that are taken for a wrong class, and those that are nearly taken for
 * another one. */
#include <math.h>
#include <stdlib.h>

#include "api/json/base64.h"
#include "engine/plots/parts.h"

enum { BYTE_MOST = 255 };

typedef struct {
  int64_t row, target, prediction;
  double probability, target_probability;
  double key; /* the least first */
} example;

static int example_compare(const void *a, const void *b) {
  const example *first = a, *second = b;
  int by_key = (first->key > second->key) - (first->key < second->key);
  return by_key ? by_key : (first->row > second->row) - (first->row < second->row);
}

/* By how much the class that is said leads the next one. */
static double lead_find(const ep_plot_model *model, const double *output, int64_t class) {
  double most = ep_plot_probability(model, output, class), second = 0;
  for (int64_t k = 0; k < ep_plot_classes(model); k++)
    if (k != class) second = fmax(second, ep_plot_probability(model, output, k));
  return most - second;
}

/* examples: [rows], written; returns how many there are. */
static int64_t examples_find(const ep_plot_model *model, bool mistakes, example *examples,
                             int64_t *wrong) {
  const ep_raw_rows *rows = &model->rows;
  int64_t count = 0, classes = ep_plot_classes(model);
  *wrong = 0;
  for (int64_t i = 0; i < rows->rows; i++) {
    const double *output = model->output + i * model->outputs;
    example one = {.row = i, .target = (int64_t)rows->y[i * rows->targets]};
    one.prediction = ep_plot_class_of(model, output);
    one.probability = ep_plot_probability(model, output, one.prediction);
    bool known = one.target >= 0 && one.target < classes;
    one.target_probability = known ? ep_plot_probability(model, output, one.target) : NAN;
    *wrong += one.target != one.prediction;
    if (mistakes && one.target == one.prediction) continue;
    one.key = mistakes ? -one.probability : lead_find(model, output, one.prediction);
    if (!isnan(one.key)) examples[count++] = one;
  }
  return count;
}

static const double *row_of(const ep_plot_model *model, const example *one) {
  return model->rows.x + one->row * model->rows.columns;
}

static bool is_picture(const ep_plot_model *model) {
  return model->picture[0] > 0 &&
         model->picture[0] * model->picture[1] * model->picture[2] == model->rows.columns;
}

/* The scale of pixels: bytes, shares, or from the least to the greatest that is shown. */
static void scale_find(const ep_plot_model *model, const example *examples, int64_t count,
                       double *low, double *high) {
  *low = INFINITY, *high = -INFINITY;
  for (int64_t i = 0; i < count; i++)
    for (int64_t j = 0; j < model->rows.columns; j++) {
      double cell = row_of(model, &examples[i])[j];
      if (isfinite(cell)) *low = fmin(*low, cell), *high = fmax(*high, cell);
    }
  if (model->pixels_are_bytes || (*low >= 0 && *high > 1 && *high <= BYTE_MOST))
    *low = 0, *high = BYTE_MOST;
  else if (*low >= 0 && *high <= 1)
    *low = 0, *high = 1;
  if (!(*low < *high)) *low = 0, *high = 1;
}

static void pixels_write(const ep_plot_model *model, const double *row, double low, double high,
                         unsigned char *pixels, ep_writer *writer) {
  for (int64_t j = 0; j < model->rows.columns; j++) {
    double share = (row[j] - low) / (high - low);
    pixels[j] = (unsigned char)lround(fmin(1, fmax(0, isnan(share) ? 0 : share)) * BYTE_MOST);
  }
  ep_writer_key(writer, "pixels");
  ep_base64_string_write(writer, pixels, (size_t)model->rows.columns);
}

static void values_write(const ep_plot_model *model, const double *row, ep_writer *writer) {
  ep_writer_member_open(writer, "values", '[');
  for (int64_t j = 0; j < model->rows.columns && j < EP_LIMIT_PLOT_COLUMNS; j++)
    ep_plot_cell_write(model, model->encoding ? j % model->encoding->columns : j, row[j], writer);
  ep_writer_close(writer, ']');
}

static void what_write(const ep_plot_model *model, ep_writer *writer) {
  static const char *const KEYS[] = {"channels", "height", "width"};
  char label[EP_PLOT_LABEL_BYTES];
  if (is_picture(model)) {
    ep_writer_member_open(writer, "picture", '{');
    for (int i = 0; i < 3; i++) ep_writer_member_integer(writer, KEYS[i], model->picture[i]);
    ep_writer_close(writer, '}');
    return;
  }
  ep_writer_member_open(writer, "columns", '[');
  for (int64_t j = 0; j < model->rows.columns && j < EP_LIMIT_PLOT_COLUMNS; j++) {
    if (!model->rows_stand_alone) break;
    ep_plot_column_label(model, j, label);
    ep_writer_string(writer, label);
  }
  ep_writer_close(writer, ']');
}

static void example_write(const ep_plot_model *model, const example *one, double low, double high,
                          unsigned char *pixels, ep_writer *writer) {
  char label[EP_PLOT_LABEL_BYTES];
  ep_writer_open(writer, '{');
  ep_writer_member_integer(writer, "row", one->row);
  ep_plot_class_label(model, one->target, label);
  ep_writer_member_string(writer, "target", label);
  ep_plot_class_label(model, one->prediction, label);
  ep_writer_member_string(writer, "prediction", label);
  ep_writer_member_number(writer, "probability", one->probability);
  ep_writer_member_number_or_null(writer, "target_probability", one->target_probability);
  if (is_picture(model))
    pixels_write(model, row_of(model, one), low, high, pixels, writer);
  else
    values_write(model, row_of(model, one), writer);
  ep_writer_close(writer, '}');
}

static ep_status examples_write(const ep_plot_model *model, const ep_plot_request *request,
                                bool mistakes, ep_writer *writer, ep_error *error) {
  size_t rows = (size_t)model->rows.rows;
  example *examples = malloc(rows * sizeof *examples + (size_t)model->rows.columns);
  if (!examples) return ep_fail_memory(error);
  int64_t wrong, count = examples_find(model, mistakes, examples, &wrong);
  double low, high;
  if (count > 0) qsort(examples, (size_t)count, sizeof *examples, example_compare);
  if (count > request->count) count = request->count;
  scale_find(model, examples, count, &low, &high);
  ep_writer_member_integer(writer, "wrong", wrong);
  what_write(model, writer);
  ep_writer_member_open(writer, "examples", '[');
  for (int64_t i = 0; i < count; i++)
    example_write(model, &examples[i], low, high, (unsigned char *)(examples + rows), writer);
  ep_writer_close(writer, ']');
  free(examples);
  return EP_OK;
}

ep_status ep_plot_mistakes_write(const ep_plot_model *model, const ep_plot_request *request,
                                 ep_writer *writer, ep_error *error) {
  return examples_write(model, request, true, writer, error);
}

ep_status ep_plot_uncertain_write(const ep_plot_model *model, const ep_plot_request *request,
                                  ep_writer *writer, ep_error *error) {
  return examples_write(model, request, false, writer, error);
}
