/* What the network does with one column: the mean output over it, and what the score loses when it
 * is shuffled (L. Breiman, "Random Forests", 2001, section 10). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plots/parts.h"
#include "kernels/random.h"

enum { DEPENDENCE_POINTS = 50 };

/* The mean over the rows of what the network says with `value` in a column. x, output: room for
 * all rows of them. */
static ep_status dependence_find(const ep_plot_model *model, int64_t column, double value,
                                 int64_t which, double *x, double *output, double *mean,
                                 ep_error *error) {
  const ep_raw_rows *rows = &model->rows;
  memcpy(x, rows->x, (size_t)(rows->rows * rows->columns) * sizeof *x);
  for (int64_t i = 0; i < rows->rows; i++) x[i * rows->columns + column] = value;
  ep_status status = model->predict(model->context, x, rows->rows, output, error);
  *mean = 0;
  for (int64_t i = 0; i < rows->rows && status == EP_OK; i++)
    *mean += ep_plot_shown(model, output + i * model->outputs, which) / (double)rows->rows;
  return status;
}

/* Where a column is looked at: all of its values where they are few, else even steps between its
 * 5th and its 95th percentile. sorted: [count], the least first, written over; returns how many. */
static int64_t values_choose(double *sorted, int64_t count, bool words) {
  int64_t distinct = 0, most = words ? EP_LIMIT_PLOT_COLUMNS : DEPENDENCE_POINTS;
  double low = sorted[(count - 1) / 20], high = sorted[count - 1 - (count - 1) / 20];
  for (int64_t i = 0; i < count; i++) distinct += i == 0 || sorted[i] != sorted[i - 1];
  if (distinct <= most || low == high) {
    int64_t kept = 0;
    for (int64_t i = 0; i < count && kept < most; i++)
      if (kept == 0 || sorted[i] != sorted[kept - 1]) sorted[kept++] = sorted[i];
    return kept;
  }
  if (words) return 0;
  for (int64_t i = 0; i < most; i++)
    sorted[i] = low + (high - low) * (double)i / (double)(most - 1);
  return most;
}

ep_status ep_plot_dependence_write(const ep_plot_model *model, const ep_plot_request *request,
                                   ep_writer *writer, ep_error *error) {
  size_t rows = (size_t)model->rows.rows, columns = (size_t)model->rows.columns;
  size_t outputs = (size_t)model->outputs;
  int64_t column, which;
  char label[EP_PLOT_LABEL_BYTES];
  ep_status status = ep_plot_column_find(model, request->column, 0, &column, error);
  if (status == EP_OK) status = ep_plot_shown_find(model, request->output, &which, writer, error);
  if (status != EP_OK) return status;
  double *values =
      malloc((rows * (1 + columns + outputs) + EP_LIMIT_PLOT_COLUMNS) * sizeof *values);
  if (!values) return ep_fail_memory(error);
  double *x = values + rows, *output = x + rows * columns, *mean = output + rows * outputs;
  int64_t count = ep_plot_column_sort(model, column, values);
  if (count > 0) count = values_choose(values, count, ep_plot_column_is_category(model, column));
  for (int64_t i = 0; i < count && status == EP_OK; i++)
    status = dependence_find(model, column, values[i], which, x, output, &mean[i], error);
  ep_plot_column_label(model, column, label);
  ep_writer_member_string(writer, "column", label);
  ep_writer_member_open(writer, "value", '[');
  for (int64_t i = 0; i < count; i++) ep_plot_cell_write(model, column, values[i], writer);
  ep_writer_close(writer, ']');
  ep_plot_numbers_write(writer, "mean", mean, count);
  free(values);
  return status;
}

/* Fisher and Yates: what stands where is a function of the seed, the column and the repeat. */
static void column_shuffle(const ep_raw_rows *rows, int64_t column, int64_t repeat, int64_t seed,
                           double *x) {
  uint64_t stream = (uint64_t)column << 10 | (uint64_t)repeat; /* EP_LIMIT_PLOT_REPEATS < 1024 */
  for (int64_t i = rows->rows - 1; i > 0; i--) {
    ep_random4 drawn = ep_random((uint64_t)seed, EP_RANDOM_PLOT, stream, (uint64_t)i);
    uint64_t word = (uint64_t)drawn.word[0] << 32 | drawn.word[1];
    int64_t other = (int64_t)(word % (uint64_t)(i + 1));
    double cell = x[i * rows->columns + column];
    x[i * rows->columns + column] = x[other * rows->columns + column];
    x[other * rows->columns + column] = cell;
  }
}

typedef struct {
  int64_t column;
  double mean, deviation;
  double lost[EP_LIMIT_PLOT_REPEATS];
} importance;

static int importance_compare(const void *a, const void *b) {
  double first = ((const importance *)a)->mean, second = ((const importance *)b)->mean;
  return (first < second) - (first > second);
}

static ep_status importance_find(const ep_plot_model *model, const ep_plot_request *request,
                                 double baseline, double *x, double *output, importance *out,
                                 ep_error *error) {
  const ep_raw_rows *rows = &model->rows;
  double count = (double)request->repeats, squares = 0;
  ep_status status = EP_OK;
  for (int64_t r = 0; r < request->repeats && status == EP_OK; r++) {
    memcpy(x, rows->x, (size_t)(rows->rows * rows->columns) * sizeof *x);
    column_shuffle(rows, out->column, r, request->seed, x);
    status = model->predict(model->context, x, rows->rows, output, error);
    if (status == EP_OK) out->lost[r] = baseline - ep_plot_measure(model, output);
    out->mean += out->lost[r] / count;
  }
  for (int64_t r = 0; r < request->repeats; r++)
    squares += (out->lost[r] - out->mean) * (out->lost[r] - out->mean);
  out->deviation = sqrt(squares / count);
  return status;
}

static void importances_write(const ep_plot_model *model, const importance *columns, int64_t count,
                              int64_t repeats, ep_writer *writer) {
  char label[EP_PLOT_LABEL_BYTES];
  ep_writer_member_open(writer, "columns", '[');
  for (int64_t i = 0; i < count; i++) {
    ep_plot_column_label(model, columns[i].column, label);
    ep_writer_open(writer, '{');
    ep_writer_member_string(writer, "column", label);
    ep_writer_member_number(writer, "mean", columns[i].mean);
    ep_writer_member_number(writer, "deviation", columns[i].deviation);
    ep_plot_numbers_write(writer, "lost", columns[i].lost, repeats);
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, ']');
}

ep_status ep_plot_importance_write(const ep_plot_model *model, const ep_plot_request *request,
                                   ep_writer *writer, ep_error *error) {
  ep_plot_model few = *model;
  int64_t count = 0, columns = model->rows.columns;
  int64_t most = EP_LIMIT_PLOT_SHUFFLED / (columns * request->repeats) + 1;
  if (few.rows.rows > most) few.rows.rows = most;
  size_t rows = (size_t)few.rows.rows;
  importance *found = calloc((size_t)columns, sizeof *found);
  double *x = malloc(rows * (size_t)(columns + model->outputs) * sizeof *x);
  ep_status status = found && x ? EP_OK : ep_fail_memory(error);
  double baseline = ep_plot_measure(&few, model->output);
  for (int64_t j = 0; j < columns && status == EP_OK; j++) {
    if (!ep_plot_column_is_input(model, j)) continue;
    found[count].column = j;
    status = importance_find(&few, request, baseline, x, x + rows * (size_t)columns,
                             &found[count++], error);
  }
  if (status == EP_OK) {
    qsort(found, (size_t)count, sizeof *found, importance_compare);
    ep_writer_member_string(writer, "score",
                            ep_loss_is_classifier(model->loss) ? "accuracy" : "r2");
    ep_writer_member_number(writer, "baseline", baseline);
    ep_writer_member_integer(writer, "shuffled_rows", few.rows.rows);
    ep_writer_member_integer(writer, "repeats", request->repeats);
    ep_writer_member_integer(writer, "seed", request->seed);
    importances_write(model, found, count, request->repeats, writer);
  }
  free(x);
  free(found);
  return status;
}
