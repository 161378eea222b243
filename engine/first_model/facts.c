/* facts.c: what a first model depends on, from the description of the data. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/data/cells/unicode.h"
#include "engine/data/columns/encoding.h"
#include "engine/data/columns/rules.h"
#include "engine/data/prepare/shape.h"
#include "engine/data/sources/target.h"
#include "engine/first_model/first_model.h"

enum {
  FEW_CLASSES = 10, /* as many whole numbers may be classes, as ratings and digits are, */
  SURE_CLASSES = 3, /* so few are, wherever they begin, */
  CLASS_MAX = 32    /* below this: each number from 0 on gets an output */
};
static const double name_share = 0.9; /* of words, in as many cells: they are names */

/* Whole numbers from 0 or 1 on, of few values, are taken for classes. */
static bool is_few_classes(const ep_column *column) {
  if (!column->integer || column->min < 0 || column->max >= CLASS_MAX) return false;
  if (column->distinct < 2) return false;
  return column->distinct <= SURE_CLASSES || (column->min <= 1 && column->distinct <= FEW_CLASSES);
}

/* How many whole numbers a target has that may be classes or a number: two are classes. */
static int64_t unsure_values(const ep_column *target) {
  bool may = target->type == EP_COLUMN_NUMBER && target->integer && target->distinct > 2 &&
             target->distinct < CLASS_MAX;
  return may ? target->distinct : 0;
}

/* Of a target whose values were not counted: labels from 0 on, stored as whole numbers. */
static bool is_labels(const ep_data_shape *shape, const ep_part *y) {
  if (shape->one_hot) return true;
  if (shape->target_columns != 1 || shape->classes < 2) return false;
  bool whole = y && y->dtype != EP_DTYPE_F32 && y->dtype != EP_DTYPE_F64;
  return shape->classes <= (whole ? EP_LIMIT_CLASSES : FEW_CLASSES);
}

/* Whether the spec says that the target is a number. */
static bool is_number(const ep_automatic_job *job, const ep_dataset_meta *meta) {
  const ep_data_spec *data = &job->spec->data;
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  char name[EP_LIMIT_NAME_BYTES + 1];
  int64_t target;
  if (ep_target_find(data, table, &target, NULL) != EP_OK) return false;
  ep_column_title(table, target, name);
  for (int i = 0; i < data->columns_count; i++)
    if (ep_text_equals(data->columns[i].name, name))
      return data->columns[i].type == EP_COLUMN_AS_NUMBER;
  return false;
}

static int64_t classes_find(const ep_automatic_job *job, const ep_dataset_meta *meta,
                            const ep_data_shape *shape, const ep_column *target) {
  int64_t classes = shape->one_hot ? shape->target_columns : shape->classes;
  ep_task task = job->spec->data.task;
  if (!job->loss) return ep_loss_is_classifier(job->spec->loss) ? classes : 0;
  if (task == EP_TASK_REGRESSION) return 0;
  if (shape->target_words > 0) return shape->target_words;
  if (task == EP_TASK_CLASSIFICATION) return classes;
  if (target) return is_few_classes(target) && !is_number(job, meta) ? classes : 0;
  if (meta && meta->classes > 0) return classes;
  return is_labels(shape, meta ? &meta->part[EP_SPLIT_TRAIN][EP_ROLE_Y] : NULL) ? classes : 0;
}

/* As many of them as are told apart where they are counted. */
static int64_t counted_rows(int64_t rows) {
  return rows < EP_LIMIT_CATEGORIES ? rows : EP_LIMIT_CATEGORIES;
}

/* "id", "ID", "user_id", "PassengerId". */
static bool is_called_id(const char *name) {
  size_t bytes = strlen(name);
  if (bytes < 2 || strcasecmp(name + bytes - 2, "id") != 0) return false;
  return bytes == 2 || name[bytes - 2] == 'I' || !isalpha((unsigned char)name[bytes - 3]);
}

/* The names that R and pandas write before the rows: the column has none among columns that do, and
 * all of its cells differ. */
static bool is_row_names(const ep_part *table, int64_t index) {
  const ep_column *column = &table->column[index];
  int64_t other = index == 0 ? 1 : 0;
  if (column->name[0] || other >= table->columns || !table->column[other].name[0]) return false;
  if (column->type == EP_COLUMN_CATEGORY) return column->words.count == table->rows;
  return column->integer && column->distinct >= counted_rows(table->rows);
}

/* Why the column names a row, and says nothing about the next one: a count of the rows, or words of
 * which hardly any comes twice, or numbers that are called so. NULL: it does not. */
static const char *identifier_reason(const ep_part *table, int64_t index) {
  const ep_column *column = &table->column[index];
  int64_t rows = table->rows, present = rows - column->missing;
  if (is_row_names(table, index)) return "names the rows";
  if (rows < EP_LIMIT_IDENTIFIER_ROWS) return NULL;
  bool category = column->type == EP_COLUMN_CATEGORY;
  double most = name_share * (double)(category ? present : counted_rows(present));
  if (category) return (double)column->words.count > most ? "almost every value is unique" : NULL;
  if (column->type != EP_COLUMN_NUMBER || !column->integer) return NULL;
  if (is_called_id(column->name))
    return (double)column->distinct > most ? "an id of each row" : NULL;
  bool counts = column->missing == 0 && (column->min == 0 || column->min == 1) &&
                column->max - column->min + 1 == (double)rows &&
                column->distinct >= counted_rows(rows);
  return counts ? "counts the rows" : NULL;
}

/* The columns of the table that identify rows; none where nothing else would be left. */
static ep_status identifiers_find(const ep_part *table, int64_t target, ep_model_facts *out,
                                  ep_problem *problem) {
  int64_t left = 0;
  out->exclude = calloc((size_t)table->columns, sizeof *out->exclude);
  if (!out->exclude) return ep_problem_fail_memory(problem);
  for (int64_t i = 0; i < table->columns; i++) {
    const ep_column *column = &table->column[i];
    if (i == target || column->type == EP_COLUMN_TEXT) continue;
    ep_identifier *found = &out->exclude[out->exclude_count];
    found->reason = identifier_reason(table, i);
    if (found->reason) {
      ep_column_title(table, i, found->name);
      out->exclude_count++;
    } else {
      left += column->distinct != 1;
    }
  }
  if (left == 0) out->exclude_count = 0;
  return EP_OK;
}

static ep_status table_find(const ep_automatic_job *job, const ep_part *table,
                            const ep_column **target, ep_model_facts *out, ep_problem *problem) {
  ep_error error = {0};
  int64_t index;
  if (ep_target_find(&job->spec->data, table, &index, &error) != EP_OK)
    return ep_problem_from_error(problem, &error);
  *target = &table->column[index];
  out->table = out->columns;
  return out->table ? identifiers_find(table, index, out, problem) : EP_OK;
}

static void shape_take(const ep_data_shape *shape, ep_model_facts *out) {
  out->rows = shape->train_rows;
  out->features = shape->features;
  out->row = shape->row.channels > 0 ? shape->row : (ep_shape){shape->features, 1, 1};
  out->target_columns = shape->target_columns;
  out->test = out->test && shape->test_rows == 0;
  out->validated = shape->validation_rows > 0;
  out->validation = out->validation && !out->validated;
  bool deep = shape->x_deep && out->row.height * out->row.width > 1 && shape->x_min < shape->x_max;
  out->pixels = shape->x_type == EP_X_UINT8 || deep;
  if (!deep) return;
  out->least = shape->x_min;
  out->most = shape->x_max;
}

static ep_status target_check(const ep_data_shape *shape, const ep_column *target,
                              ep_problem *problem) {
  bool one = target ? target->distinct == 1
                    : shape->target_columns == 1 && shape->target_min == shape->target_max;
  if (!one) return EP_OK;
  return ep_problem_add(problem, EP_INVALID, "/data/target",
                        "the target has the same value in all rows: nothing to learn");
}

/* What is to be told apart has to be few. */
static ep_status classes_check(const ep_automatic_job *job, const ep_data_shape *shape,
                               const char *target, const ep_model_facts *facts,
                               ep_problem *problem) {
  bool task = job->spec->data.task == EP_TASK_CLASSIFICATION;
  bool asked = job->loss ? task : ep_loss_takes_classes(job->spec->loss);
  if (!job->model || !asked || (facts->classes >= 2 && facts->classes <= EP_LIMIT_CLASSES))
    return EP_OK;
  return ep_problem_add(problem, EP_INVALID, job->loss ? "/data/task" : "/loss",
                        "\"%s\" requires at most %d classes, and %s%.100s%s has numbers from %g to "
                        "%g: use \"%s\", or choose another target",
                        job->loss ? "classification" : ep_loss_type_name((int)job->spec->loss),
                        EP_LIMIT_CLASSES, target ? "the target \"" : "the target",
                        target ? target : "", target ? "\"" : "", shape->target_min,
                        shape->target_max, job->loss ? "regression" : "mse");
}

ep_status ep_model_facts_find(const ep_automatic_job *job, const ep_dataset_meta *meta,
                              ep_model_facts *out, ep_problem *problem) {
  ep_data_shape shape;
  char name[EP_LIMIT_NAME_BYTES + 1];
  const ep_column *target = NULL;
  const ep_part *table = meta ? &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE] : NULL;
  *out = (ep_model_facts){.model = job->model,
                          .loss = job->loss,
                          .given_loss = job->spec->loss,
                          .last = job->last,
                          .last_outputs = job->last_outputs,
                          .test = job->test,
                          .validation = job->validation,
                          .compared = job->compared,
                          .columns = job->columns};
  ep_status status = ep_data_shape_find(&job->spec->data, meta, &shape, problem);
  if (status == EP_OK && table && table->rows > 0)
    status = table_find(job, table, &target, out, problem);
  if (status == EP_OK) status = target_check(&shape, target, problem);
  if (status != EP_OK) {
    ep_model_facts_deinit(out);
    return status;
  }
  shape_take(&shape, out);
  const ep_data_spec *data = &job->spec->data;
  out->ordered = data->time[0] || data->group[0] || data->window.length > 0;
  out->grouped = data->group[0] || data->window.group[0];
  if (data->window.length > 0) out->example_rows = data->window.length + data->window.horizon;
  out->classes = classes_find(job, meta, &shape, target);
  out->labels = out->classes > 0 && target ? target->distinct : out->classes;
  if (job->loss && target && data->task == EP_TASK_AUTO && !is_number(job, meta))
    out->unsure = unsure_values(target);
  if (target) ep_column_title(table, target - table->column, name);
  status = classes_check(job, &shape, target ? name : NULL, out, problem);
  if (status != EP_OK) ep_model_facts_deinit(out);
  return status;
}

void ep_model_facts_deinit(ep_model_facts *facts) {
  free(facts->exclude);
  facts->exclude = NULL;
}
