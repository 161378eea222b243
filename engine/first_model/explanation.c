/* What an automatic job got: the lists of columns and the baseline first, then the sentences. */
#include "engine/first_model/explanation.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/number.h"
#include "api/json/writer.h"
#include "engine/data/cells/unicode.h"
#include "engine/data/columns/rules.h"
#include "engine/data/prepare/columns.h"
#include "engine/data/sources/target.h"
#include "engine/files/excerpt.h"
#include "engine/first_model/baseline.h"
#include "engine/first_model/order.h"

enum {
  NAMES_LISTED = 256, /* in each list */
  NAMES_TOLD = 6,     /* in the summary */
  TEXT_BYTES = 1 << 20
};

/* Its user knows. */
static const char by_the_job[] = "excluded by the job";

/* A text that is cut at its end. */
typedef struct {
  char text[1024];
  size_t used;
} phrase;

__attribute__((format(printf, 2, 3))) static void add(phrase *out, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int bytes = vsnprintf(out->text + out->used, sizeof out->text - out->used, format, arguments);
  va_end(arguments);
  if (bytes > 0) out->used += (size_t)bytes;
  if (out->used >= sizeof out->text) out->used = sizeof out->text - 1;
}

/* "1,460" */
static void number_add(phrase *out, int64_t count) {
  char digits[EP_NUMBER_BYTES];
  ep_grouped_format(count, digits);
  add(out, "%s", digits);
}

/* "1,460 rows", "1 row" */
static void count_add(phrase *out, int64_t count, const char *noun) {
  number_add(out, count);
  add(out, " %s%s", noun, count == 1 ? "" : "s");
}

static void name_add(phrase *out, const char *name) {
  char shown[EP_EXCERPT_BYTES];
  add(out, "\"%s\"", ep_excerpt(shown, name, strlen(name)));
}

typedef struct {
  const ep_explained *of;
  const ep_part *table;        /* NULL: the data are no table */
  ep_encoding *encoding;       /* owned; NULL: a table's columns are used as they are */
  int64_t target;              /* the column */
  int64_t used;                /* columns of a table, else features */
  ep_writer columns, left_out; /* JSON */
  int64_t left_out_count;
  phrase told; /* what the choice leaves out, in words */
  int64_t told_count;
  int64_t classes; /* 0: it predicts numbers */
  ep_baseline baseline;
} explanation;

/* Why a column is no feature; NULL: it is. next: the first of facts->exclude that was not met. */
static const char *left_out_reason(const explanation *e, int64_t column, const char *name,
                                   int64_t *next) {
  const ep_model_facts *facts = e->of->facts;
  const ep_data_spec *data = &e->of->spec->data;
  if (!e->encoding) return NULL;
  bool window = data->window.length > 0;
  const ep_column_encoding *found = &e->encoding->column[column - (!window && column > e->target)];
  bool named = *next < facts->exclude_count && strcmp(facts->exclude[*next].name, name) == 0;
  const char *reason = named ? facts->exclude[(*next)++].reason : by_the_job;
  if (found->encode != EP_ENCODE_NONE) return NULL;
  if (found->left_out) return reason;
  if (ep_text_equals(name, data->group) || ep_text_equals(name, data->window.group))
    return "groups the rows";
  if (window && ep_text_equals(name, data->time)) return "orders the rows";
  return e->table->column[column].type == EP_COLUMN_TEXT ? "text" : "constant";
}

static void left_out_add(explanation *e, const char *name, const char *reason) {
  if (e->left_out_count++ < NAMES_LISTED) {
    ep_writer_open(&e->left_out, '{');
    ep_writer_member_string(&e->left_out, "name", name);
    ep_writer_member_string(&e->left_out, "reason", reason);
    ep_writer_close(&e->left_out, '}');
  }
  if (reason == by_the_job || ++e->told_count > NAMES_TOLD) return;
  if (e->told_count > 1) add(&e->told, ", ");
  name_add(&e->told, name);
  add(&e->told, " (%s)", reason);
}

static void columns_find(explanation *e) {
  char name[EP_LIMIT_NAME_BYTES + 1];
  int64_t next = 0;
  e->used = e->table ? 0 : e->of->shape->features;
  ep_writer_open(&e->columns, '[');
  ep_writer_open(&e->left_out, '[');
  for (int64_t i = 0; e->table && i < e->table->columns; i++) {
    if (i == e->target && e->of->spec->data.window.length == 0) continue;
    ep_column_title(e->table, i, name);
    const char *reason = left_out_reason(e, i, name, &next);
    if (reason)
      left_out_add(e, name, reason);
    else if (e->used++ < NAMES_LISTED)
      ep_writer_string(&e->columns, name);
  }
  ep_writer_close(&e->columns, ']');
  ep_writer_close(&e->left_out, ']');
  if (e->told_count > NAMES_TOLD)
    add(&e->told, " and %lld more", (long long)(e->told_count - NAMES_TOLD));
}

/* What of a network a sentence has. */
typedef struct {
  phrase channels, widths;
  const char *activation; /* the first; NULL: none */
  double dropout;
} network;

static void layers_look(const ep_layer_spec *layers, int count, network *out) {
  for (int i = 0; i < count; i++) {
    const ep_layer_spec *layer = &layers[i];
    phrase *list = layer->type == EP_LAYER_CONV2D ? &out->channels : &out->widths;
    long long width = layer->type == EP_LAYER_CONV2D ? layer->out_channels : layer->out_features;
    if (layer->type == EP_LAYER_CONV2D || layer->type == EP_LAYER_LINEAR)
      add(list, "%s%lld", list->used > 0 ? "-" : "", width);
    else if (layer->type == EP_LAYER_RESIDUAL)
      layers_look(layer->layers, layer->layers_count, out);
    else if (ep_layer_type_group(layer->type) == EP_LAYER_GROUP_ACTIVATIONS && !out->activation)
      out->activation = ep_layer_type_name((int)layer->type);
    else if (layer->type == EP_LAYER_DROPOUT && layer->p > 0)
      out->dropout = layer->p;
  }
}

/* "convolutions 16-32, dense 64, relu": all but the last layer. */
static void network_add(const ep_job_spec *spec, phrase *out) {
  network found = {0};
  int hidden = spec->layers_count;
  while (hidden > 0 && spec->layers[hidden - 1].type != EP_LAYER_LINEAR) hidden--;
  layers_look(spec->layers, hidden > 0 ? hidden - 1 : 0, &found);
  if (found.channels.used > 0) add(out, "convolutions %s, ", found.channels.text);
  if (found.widths.used > 0)
    add(out, "dense %s", found.widths.text);
  else
    add(out, "one linear layer");
  if (found.activation) add(out, ", %s", found.activation);
  if (found.dropout > 0) add(out, ", dropout %g", found.dropout);
}

/* Which of the two tasks was taken for a target that leaves it open, and how to have the other. */
static void task_hint_add(const explanation *e, const char *target, phrase *out) {
  const ep_model_facts *facts = e->of->facts;
  if (facts->unsure == 0) return;
  name_add(out, target);
  add(out, " has %lld whole numbers, taken for %s: \"task\": \"%s\" in data (--task %s) %s",
      (long long)facts->unsure, e->classes > 0 ? "classes" : "amounts",
      e->classes > 0 ? "regression" : "classification",
      e->classes > 0 ? "regression" : "classification",
      e->classes > 0 ? "predicts an amount" : "makes classes of them");
}

/* That rows in the order of a date were split at random, and how to split them by it. */
static void order_hint_add(const explanation *e, phrase *out) {
  const ep_data_spec *data = &e->of->spec->data;
  char name[EP_LIMIT_NAME_BYTES + 1];
  if (e->of->facts->ordered || data->test == 0 || !e->table) return;
  int64_t date = ep_order_find(e->of, e->table, e->target);
  if (date < 0) return;
  ep_column_title(e->table, date, name);
  if (out->used > 0) add(out, ". ");
  add(out, "The rows are in the order of ");
  name_add(out, name);
  add(out,
      ", and the test has random ones: \"time\": \"%.100s\" in data (--set /data/time=%.100s) "
      "tests with the newest",
      name, name);
}

static void task_add(const explanation *e, const char *target, phrase *out) {
  const ep_window_spec *window = &e->of->spec->data.window;
  const ep_data_shape *shape = e->of->shape;
  bool forecast = window->length > 0 && e->classes == 0;
  add(out, forecast ? "Forecasts " : "Predicts ");
  if (target)
    name_add(out, target);
  else if (e->classes == 0 && shape->target_columns > 1)
    count_add(out, shape->target_columns, "target");
  else
    add(out, "the target");
  if (e->classes > 0) add(out, ", one of %lld classes,", (long long)e->classes);
  if (e->classes == 0 && shape->target_columns == 1) add(out, ", a number,");
  if (forecast) {
    add(out, " ");
    count_add(out, window->horizon, "row");
    add(out, " ahead,");
  }
  add(out, " from ");
  if (window->length > 0) {
    count_add(out, window->length, "row");
    add(out, " of ");
  }
  if (shape->row.height > 1 && !e->table)
    add(out, "images of %lld × %lld", (long long)shape->row.height, (long long)shape->row.width);
  else
    count_add(out, e->used, "column");
}

static void rest_add(int64_t rows, const char *purpose, phrase *out) {
  if (rows == 0) return;
  add(out, ", ");
  number_add(out, rows);
  add(out, " to %s", purpose);
}

static void summary_add(const explanation *e, const char *target, const phrase *layers,
                        const phrase *hint, phrase *out) {
  const ep_data_shape *shape = e->of->shape;
  const ep_job_spec *spec = e->of->spec;
  task_add(e, target, out);
  add(out, ": ");
  count_add(out, shape->train_rows, e->of->spec->data.window.length > 0 ? "window" : "row");
  add(out, " to train");
  rest_add(shape->validation_rows, "validate", out);
  rest_add(shape->test_rows, "test", out);
  if (e->told_count > 0) add(out, "; left out: %s", e->told.text);
  add(out, ". ");
  if (!e->of->model_varies) add(out, "The network is %s", layers->text);
  if (!e->of->epochs_vary) {
    add(out, "%s%s", e->of->model_varies ? "It trains " : ", ",
        spec->early_stopping_patience > 0 ? "up to " : "");
    count_add(out, spec->epochs, "epoch");
  }
  if (e->baseline.of[0])
    add(out, "; to beat: %s %.3g, %s", e->baseline.metric == EP_METRIC_R2 ? "R²" : "accuracy",
        e->baseline.value, e->baseline.of);
  if (e->baseline.of[0] && !isnan(e->baseline.mae)) add(out, " (MAE %.3g)", e->baseline.mae);
  add(out, ".");
  if (hint->used > 0) add(out, " %s.", hint->text);
}

/* columns, left_out: JSON. */
static char *explanation_write(const explanation *e, const char *columns, const char *left_out) {
  char target[EP_LIMIT_NAME_BYTES + 1];
  phrase layers = {0}, hint = {0}, summary = {0};
  ep_writer writer;
  const ep_job_spec *spec = e->of->spec;
  const ep_data_shape *shape = e->of->shape;
  const char *task = e->classes > 0                 ? "classification"
                     : spec->data.window.length > 0 ? "forecast"
                                                    : "regression";
  if (e->table) ep_column_title(e->table, e->target, target);
  network_add(spec, &layers);
  task_hint_add(e, target, &hint);
  order_hint_add(e, &hint);
  summary_add(e, e->table ? target : NULL, &layers, &hint, &summary);
  ep_writer_init(&writer, TEXT_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "summary", summary.text);
  ep_writer_member_string(&writer, "task", task);
  ep_writer_member_string(&writer, "target", e->table ? target : NULL);
  ep_writer_key(&writer, "classes");
  if (e->classes > 0)
    ep_writer_integer(&writer, e->classes);
  else
    ep_writer_null(&writer);
  ep_writer_member_integer(&writer, "rows",
                           shape->train_rows + shape->validation_rows + shape->test_rows);
  ep_writer_member_raw(&writer, "columns", columns);
  ep_writer_member_integer(&writer, "columns_count", e->used);
  ep_writer_member_raw(&writer, "left_out", left_out);
  ep_writer_member_integer(&writer, "left_out_count", e->left_out_count);
  ep_writer_member_string(&writer, "network", e->of->model_varies ? NULL : layers.text);
  ep_writer_key(&writer, "epochs");
  if (e->of->epochs_vary)
    ep_writer_null(&writer);
  else
    ep_writer_integer(&writer, spec->epochs);
  ep_writer_key(&writer, "baseline");
  ep_baseline_write(&writer, &e->baseline);
  ep_writer_member_string(&writer, "hint", hint.used > 0 ? hint.text : NULL);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

ep_status ep_first_model_explain(const ep_explained *explained, char **out, ep_error *error) {
  const ep_data_spec *data = &explained->spec->data;
  const ep_dataset_meta *meta = explained->meta;
  const ep_part *table = meta ? &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE] : NULL;
  const ep_data_shape *shape = explained->shape;
  explanation e = {.of = explained, .table = table && table->rows > 0 ? table : NULL};
  ep_status status = EP_OK;
  *out = NULL;
  if (e.table) status = ep_target_find(data, table, &e.target, error);
  if (e.table && status == EP_OK) status = ep_columns_plan(data, meta, &e.encoding, error);
  if (status != EP_OK) return status;
  if (ep_loss_is_classifier(explained->spec->loss))
    e.classes = shape->target_words > 0        ? shape->target_words
                : explained->facts->labels > 0 ? explained->facts->labels
                                               : shape->classes;
  ep_writer_init(&e.columns, TEXT_BYTES);
  ep_writer_init(&e.left_out, TEXT_BYTES);
  columns_find(&e);
  e.baseline = ep_baseline_find(explained, e.table, e.target, e.classes);
  char *columns = ep_writer_take(&e.columns), *left_out = ep_writer_take(&e.left_out);
  if (columns && left_out) *out = explanation_write(&e, columns, left_out);
  free(columns);
  free(left_out);
  if (e.encoding) ep_encoding_deinit(e.encoding);
  free(e.encoding);
  return *out ? EP_OK : ep_fail_memory(error);
}
