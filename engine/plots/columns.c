/* What the network does with its columns: the output over two of them or one, and what the score
 * loses when one is shuffled (L. Breiman, "Random Forests", 2001, section 10). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/plots/parts.h"
#include "kernels/random.h"

enum { AT_ONCE = 4096, DEPENDENCE_POINTS = 50, SHOWN_ROWS = 500 };

/* The commonest word's number; least first. */
static double commonest(const double *sorted, int64_t count) {
  double found = sorted[0];
  for (int64_t i = 0, run = 0, most = 0; i < count; i++) {
    run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 1;
    if (run > most) most = run, found = sorted[i];
  }
  return found;
}

static int double_compare(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

/* The cells of a column that are there, the least first. sorted: [rows]; returns how many. */
static int64_t column_sort(const ep_plot_model *model, int64_t column, double *sorted) {
  int64_t count = 0;
  for (int64_t i = 0; i < model->rows.rows; i++) {
    double cell = model->rows.x[i * model->rows.columns + column];
    if (!isnan(cell)) sorted[count++] = cell;
  }
  qsort(sorted, (size_t)count, sizeof *sorted, double_compare);
  return count;
}

/* A row of means, and of the commonest words; [columns], written. spare: [rows]. */
static void typical_row_find(const ep_plot_model *model, double *row, double *spare) {
  for (int64_t j = 0; j < model->rows.columns; j++) {
    int64_t count = column_sort(model, j, spare);
    row[j] = count > 0 ? 0 : NAN;
    if (count > 0 && ep_plot_column_is_category(model, j)) {
      row[j] = commonest(spare, count);
      continue;
    }
    for (int64_t i = 0; i < count; i++) row[j] += spare[i] / (double)count;
  }
}

/* What a plot shows of a row of outputs: a class's probability, or the value of a target. */
static double shown(const ep_plot_model *model, const double *output, int64_t which) {
  if (ep_loss_is_classifier(model->loss)) return ep_plot_probability(model, output, which);
  return output[which];
}

static ep_status shown_find(const ep_plot_model *model, const char *name, int64_t *which,
                            ep_writer *writer, ep_error *error) {
  char label[EP_PLOT_LABEL_BYTES];
  bool classifier = ep_loss_is_classifier(model->loss);
  *which = 0;
  ep_status status = classifier ? ep_plot_class_find(model, name, which, error) : EP_OK;
  ep_writer_member_string(writer, "shows", classifier ? "probability" : "value");
  if (!classifier || status != EP_OK) return status;
  ep_plot_class_label(model, *which, label);
  ep_plot_classes_write(model, writer);
  ep_writer_member_string(writer, "class", label);
  return EP_OK;
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

/* One picture of the output over two columns. */
typedef struct {
  int64_t x, y, size, which, outputs;
  double low[2], high[2]; /* of x and y */
  const double *typical;  /* [columns] */
  double *rows, *output;  /* [size, columns], [size, outputs] */
} grid;

static double grid_value(const grid *of, int axis, int64_t i) {
  double share = (double)i / (double)(of->size - 1);
  return of->low[axis] + share * (of->high[axis] - of->low[axis]);
}

/* Rows of the picture from the least y up, each from the least x. */
static ep_status grid_write(const ep_plot_model *model, const grid *of, ep_writer *writer,
                            ep_error *error) {
  int64_t columns = model->rows.columns;
  bool classes = ep_plot_classes(model) > 2 && ep_loss_is_classifier(model->loss);
  ep_status status = EP_OK;
  ep_writer_member_open(writer, "values", '[');
  for (int64_t i = 0; i < of->size && status == EP_OK; i++) {
    for (int64_t j = 0; j < of->size; j++) {
      double *row = of->rows + j * columns;
      memcpy(row, of->typical, (size_t)columns * sizeof *row);
      row[of->x] = grid_value(of, 0, j);
      row[of->y] = grid_value(of, 1, i);
    }
    status = model->predict(model->context, of->rows, of->size, of->output, error);
    ep_writer_open(writer, '[');
    for (int64_t j = 0; j < of->size && status == EP_OK; j++) {
      const double *output = of->output + j * of->outputs;
      if (classes)
        ep_writer_integer(writer, ep_plot_class_of(model, output));
      else
        ep_writer_number(writer, (float)shown(model, output, of->which));
    }
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, ']');
  return status;
}

/* Some of the rows, at even distances, to be drawn on the picture. */
static void rows_write(const ep_plot_model *model, const grid *of, ep_writer *writer) {
  const ep_raw_rows *rows = &model->rows;
  int64_t count = rows->rows < SHOWN_ROWS ? rows->rows : SHOWN_ROWS;
  static const char *const KEYS[] = {"x", "y", "target"};
  ep_writer_member_open(writer, "points", '{');
  for (int key = 0; key < 3; key++) {
    ep_writer_member_open(writer, KEYS[key], '[');
    for (int64_t i = 0; i < count; i++) {
      int64_t row = i * rows->rows / count;
      const double *x = rows->x + row * rows->columns;
      ep_writer_number_or_null(writer, key == 0   ? x[of->x]
                                       : key == 1 ? x[of->y]
                                                  : rows->y[row * rows->targets]);
    }
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, '}');
}

static void held_write(const ep_plot_model *model, const grid *of, ep_writer *writer) {
  char label[EP_PLOT_LABEL_BYTES];
  ep_writer_member_open(writer, "held", '[');
  for (int64_t j = 0; j < model->rows.columns && j < EP_LIMIT_PLOT_COLUMNS; j++) {
    if (j == of->x || j == of->y || !ep_plot_column_is_input(model, j)) continue;
    ep_plot_column_label(model, j, label);
    ep_writer_open(writer, '{');
    ep_writer_member_string(writer, "column", label);
    if (ep_plot_column_is_category(model, j)) {
      const ep_column_encoding *column = &model->encoding->column[j];
      int64_t word = (int64_t)(of->typical[j] - column->base);
      bool known = word >= 0 && word < column->words.count;
      ep_writer_member_string(writer, "value", known ? column->words.word[word] : NULL);
    } else {
      ep_writer_member_number_or_null(writer, "value", of->typical[j]);
    }
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, ']');
}

static ep_status axes_find(const ep_plot_model *model, const ep_plot_request *request, grid *of,
                           double *spare, ep_error *error) {
  ep_status status = ep_plot_column_find(model, request->x, 0, &of->x, error);
  if (status == EP_OK)
    status = ep_plot_column_find(model, request->y, request->x[0] ? 0 : of->x + 1, &of->y, error);
  if (status == EP_OK && of->x == of->y && !request->y[0])
    status = ep_plot_column_find(model, "", of->x + 1, &of->y, error);
  if (status != EP_OK) return status;
  if (of->x == of->y) return ep_fail(error, EP_MALFORMED, "x and y are the same column: give two");
  for (int axis = 0; axis < 2; axis++) {
    int64_t column = axis == 0 ? of->x : of->y, count = column_sort(model, column, spare);
    if (ep_plot_column_is_category(model, column))
      return ep_fail(error, EP_MALFORMED, "column \"%.64s\" holds words: give a column of numbers",
                     model->encoding->column[column].name);
    of->low[axis] = count > 0 ? spare[0] : 0;
    of->high[axis] = count > 0 ? spare[count - 1] : 0;
    if (of->low[axis] == of->high[axis]) of->low[axis] -= 1, of->high[axis] += 1;
  }
  return EP_OK;
}

ep_status ep_plot_boundary_write(const ep_plot_model *model, const ep_plot_request *request,
                                 ep_writer *writer, ep_error *error) {
  size_t columns = (size_t)model->rows.columns, size = (size_t)request->size;
  size_t outputs = (size_t)model->outputs, rows = (size_t)model->rows.rows;
  double *memory = malloc((columns + rows + size * (columns + outputs)) * sizeof *memory);
  if (!memory) return ep_fail_memory(error);
  grid of = {.size = request->size, .outputs = model->outputs, .typical = memory};
  double *spare = memory + columns;
  of.rows = spare + rows;
  of.output = of.rows + size * columns;
  ep_status status = axes_find(model, request, &of, spare, error);
  if (status == EP_OK) status = shown_find(model, request->output, &of.which, writer, error);
  if (status == EP_OK) {
    typical_row_find(model, memory, spare);
    axis_write(model, "x", of.x, of.low[0], of.high[0], writer);
    axis_write(model, "y", of.y, of.low[1], of.high[1], writer);
    ep_writer_member_integer(writer, "size", of.size);
    held_write(model, &of, writer);
    rows_write(model, &of, writer);
    status = grid_write(model, &of, writer, error);
  }
  free(memory);
  return status;
}

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
    *mean += shown(model, output + i * model->outputs, which) / (double)rows->rows;
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

static void value_write(const ep_plot_model *model, int64_t column, double value,
                        ep_writer *writer) {
  if (!ep_plot_column_is_category(model, column)) {
    ep_writer_number(writer, value);
    return;
  }
  const ep_column_encoding *encoding = &model->encoding->column[column];
  int64_t word = (int64_t)(value - encoding->base);
  ep_writer_string(writer,
                   word >= 0 && word < encoding->words.count ? encoding->words.word[word] : NULL);
}

ep_status ep_plot_dependence_write(const ep_plot_model *model, const ep_plot_request *request,
                                   ep_writer *writer, ep_error *error) {
  size_t rows = (size_t)model->rows.rows, columns = (size_t)model->rows.columns;
  size_t outputs = (size_t)model->outputs;
  int64_t column, which;
  char label[EP_PLOT_LABEL_BYTES];
  ep_status status = ep_plot_column_find(model, request->column, 0, &column, error);
  if (status == EP_OK) status = shown_find(model, request->output, &which, writer, error);
  if (status != EP_OK) return status;
  double *values =
      malloc((rows * (1 + columns + outputs) + EP_LIMIT_PLOT_COLUMNS) * sizeof *values);
  if (!values) return ep_fail_memory(error);
  double *x = values + rows, *output = x + rows * columns, *mean = output + rows * outputs;
  int64_t count = column_sort(model, column, values);
  if (count > 0) count = values_choose(values, count, ep_plot_column_is_category(model, column));
  for (int64_t i = 0; i < count && status == EP_OK; i++)
    status = dependence_find(model, column, values[i], which, x, output, &mean[i], error);
  ep_plot_column_label(model, column, label);
  ep_writer_member_string(writer, "column", label);
  ep_writer_member_open(writer, "value", '[');
  for (int64_t i = 0; i < count; i++) value_write(model, column, values[i], writer);
  ep_writer_close(writer, ']');
  ep_plot_numbers_write(writer, "mean", mean, count);
  free(values);
  return status;
}

/* Fisher and Yates: what stands where is a function of the seed, the column and the repeat. */
static void column_shuffle(const ep_raw_rows *rows, int64_t column, int64_t repeat, int64_t seed,
                           double *x) {
  uint64_t stream = (uint64_t)column << 8 | (uint64_t)repeat; /* EP_LIMIT_PLOT_REPEATS < 256 */
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
