/* Rows as they are predicted: how classes are confused; a regression's targets and errors. */
#include <math.h>
#include <stdlib.h>

#include "engine/plots/parts.h"

static void matrix_write(const int64_t *counts, int64_t classes, bool normalize,
                         ep_writer *writer) {
  ep_writer_member_open(writer, "matrix", '[');
  for (int64_t i = 0; i < classes; i++) {
    int64_t sum = 0;
    for (int64_t j = 0; j < classes; j++) sum += counts[i * classes + j];
    ep_writer_open(writer, '[');
    for (int64_t j = 0; j < classes; j++) {
      int64_t count = counts[i * classes + j];
      if (normalize)
        ep_writer_number(writer, sum > 0 ? (double)count / (double)sum : 0);
      else
        ep_writer_integer(writer, count);
    }
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, ']');
}

ep_status ep_plot_confusion_write(const ep_plot_model *model, const ep_plot_request *request,
                                  ep_writer *writer, ep_error *error) {
  const ep_raw_rows *rows = &model->rows;
  int64_t classes = ep_plot_classes(model), hits = 0;
  int64_t *counts = calloc((size_t)(classes * classes), sizeof *counts);
  if (!counts) return ep_fail_memory(error);
  for (int64_t i = 0; i < rows->rows; i++) {
    int64_t truth = (int64_t)rows->y[i * rows->targets];
    int64_t guess = ep_plot_class_of(model, model->output + i * model->outputs);
    if (truth >= 0 && truth < classes) counts[truth * classes + guess]++;
    hits += truth == guess;
  }
  ep_plot_classes_write(model, writer);
  ep_writer_member_number(writer, "accuracy", (double)hits / (double)rows->rows);
  ep_writer_member_boolean(writer, "normalized", request->normalize);
  matrix_write(counts, classes, request->normalize, writer);
  free(counts);
  return EP_OK;
}

static double target_of(const ep_plot_model *model, int64_t row, int64_t column) {
  return model->rows.y[row * model->rows.targets + column];
}

static double prediction_of(const ep_plot_model *model, int64_t row, int64_t column) {
  return model->output[row * model->outputs + column];
}

static void predictions_list(const ep_plot_model *model, int64_t column, ep_writer *writer) {
  ep_writer_member_open(writer, "prediction", '[');
  for (int64_t i = 0; i < model->rows.rows; i++)
    ep_writer_number(writer, prediction_of(model, i, column));
  ep_writer_close(writer, ']');
}

ep_status ep_plot_predictions_write(const ep_plot_model *model, const ep_plot_request *request,
                                    ep_writer *writer, ep_error *error) {
  int64_t column;
  ep_status status = ep_plot_target_find(model, request->output, &column, writer, error);
  if (status != EP_OK) return status;
  ep_writer_member_number(writer, "r2", ep_plot_measure(model, model->output));
  ep_writer_member_open(writer, "target", '[');
  for (int64_t i = 0; i < model->rows.rows; i++)
    ep_writer_number(writer, target_of(model, i, column));
  ep_writer_close(writer, ']');
  predictions_list(model, column, writer);
  return EP_OK;
}

ep_status ep_plot_residuals_write(const ep_plot_model *model, const ep_plot_request *request,
                                  ep_writer *writer, ep_error *error) {
  int64_t column, rows = model->rows.rows;
  ep_status status = ep_plot_target_find(model, request->output, &column, writer, error);
  if (status != EP_OK) return status;
  double mean = 0, squares = 0;
  predictions_list(model, column, writer);
  ep_writer_member_open(writer, "residual", '[');
  for (int64_t i = 0; i < rows; i++) {
    double residual = target_of(model, i, column) - prediction_of(model, i, column);
    ep_writer_number(writer, residual);
    mean += residual / (double)rows;
  }
  ep_writer_close(writer, ']');
  for (int64_t i = 0; i < rows; i++) {
    double away = target_of(model, i, column) - prediction_of(model, i, column) - mean;
    squares += away * away;
  }
  ep_writer_member_number(writer, "mean", mean);
  ep_writer_member_number(writer, "deviation", sqrt(squares / (double)rows));
  return EP_OK;
}
