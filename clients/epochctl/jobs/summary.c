#include "clients/epochctl/jobs/summary.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/visibility.h"
#include "api/vocabulary.h"
#include "clients/epochctl/client/dialect.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/jobs/network.h"
#include "clients/epochctl/jobs/ranks.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/strip.h"
#include "clients/epochctl/terminal/text.h"
#include "clients/epochctl/terminal/text_table.h"

enum { SHOWN_CLASSES = 12, SHOWN_LAYERS = 16, CLASS_NAME_BYTES = 64, LINE_BYTES = 1024 };

ep_colour ep_job_status_colour(const char *status) {
  switch (ep_state_from_name(status)) {
  case EP_STATE_SUCCEEDED: return EP_COLOUR_GREEN;
  case EP_STATE_FAILED: return EP_COLOUR_RED;
  case EP_STATE_CANCELLED: return EP_COLOUR_YELLOW;
  case EP_STATE_RUNNING: return EP_COLOUR_BLUE;
  default: return EP_COLOUR_PLAIN;
  }
}

void ep_summary_line_print(const ep_client *client, const char *title, const char *text) {
  char safe[LINE_BYTES * 2];
  ep_text_copy(safe, sizeof safe, text);
  printf("  %s%-10s%s %s\n", ep_terminal_colour(&client->terminal, EP_COLOUR_DIM), title,
         ep_terminal_colour(&client->terminal, EP_COLOUR_PLAIN), safe);
}

/* The metrics of a split, the most important first; of two classes with the one that F1 is of. */
static void metrics_print(const ep_client *client, const char *title, const json_t *all) {
  static const char *const NAMES[] = {"loss", "accuracy", "error", "mse",       "rmse",   "mae",
                                      "r2",   "roc_auc",  "f1",    "precision", "recall", "rows"};
  char text[LINE_BYTES], number[EP_HUMAN_BYTES], of[CLASS_NAME_BYTES];
  const json_t *metrics = json_object_get(all, title);
  const char *positive = json_string_value(json_object_get(all, "positive"));
  size_t used = 0;
  for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
    const json_t *value = json_object_get(metrics, NAMES[i]);
    if (!value || json_is_null(value)) continue;
    of[0] = 0;
    if (positive && strcmp(NAMES[i], "f1") == 0) snprintf(of, sizeof of, " (%.40s)", positive);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s %s", used ? "  " : "",
                             NAMES[i], of, ep_human_number(ep_json_number(value), number));
  }
  if (used > 0) ep_summary_line_print(client, title, text);
}

const char *ep_job_baseline_metric(const json_t *job) {
  return ep_json_text_at(job, "metrics.baseline.metric");
}

const char *ep_job_baseline_text(const json_t *job, char *text, size_t capacity) {
  char value[EP_HUMAN_BYTES];
  const json_t *baseline = ep_json_at(job, "metrics.baseline");
  const char *of = ep_json_text_at(baseline, "of");
  snprintf(text, capacity, *of ? "%.200s: %s" : "", of,
           ep_human_number(ep_json_number_at(baseline, "value"), value));
  return text;
}

/* "R² 0.92 (the mean alone: 0)": the test's metric beside what is to be beaten; of a series how far
 * both are off, and of how many rows ahead that is. */
static void baseline_print(const ep_client *client, const json_t *job) {
  char text[LINE_BYTES], a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES], beat[LINE_BYTES];
  const char *metric = ep_job_baseline_metric(job);
  double value = ep_json_number(json_object_get(ep_json_at(job, "metrics.test"), metric));
  if (!*metric || isnan(value)) return;
  snprintf(text, sizeof text, "%.64s %s (%.300s)", strcmp(metric, "r2") == 0 ? "R²" : metric,
           ep_human_number(value, a), ep_job_baseline_text(job, beat, sizeof beat));
  const json_t *mae = ep_json_at(job, "metrics.baseline.mae");
  int64_t ahead = ep_json_integer_at(job, "spec.data.window.horizon");
  size_t used = strlen(text);
  if (mae)
    snprintf(text + used, sizeof text - used, ", mae %s (%s), %lld row%s ahead",
             ep_human_number(ep_json_number_at(job, "metrics.test.mae"), a),
             ep_human_number(ep_json_number(mae), b), (long long)ahead, ahead == 1 ? "" : "s");
  ep_summary_line_print(client, "result", text);
}

static void times_print(const ep_client *client, const json_t *job) {
  char text[LINE_BYTES], a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES], c[EP_HUMAN_BYTES];
  const json_t *timing = ep_json_at(job, "timing");
  int64_t epoch = ep_json_integer_at(job, "progress.epoch");
  int64_t epochs = ep_json_integer_at(job, "progress.epochs");
  double train = ep_json_number_at(timing, "train_seconds");
  char *of = ep_human_count(epochs, b);
  snprintf(text, sizeof text, "%s%s%s", ep_human_count(epoch, a), epoch < epochs ? " of " : "",
           epoch < epochs ? of : "");
  ep_summary_line_print(client, "epochs", text);
  if (isnan(train)) return;
  ep_human_seconds(train, a);
  ep_human_seconds(ep_json_number_at(timing, "epoch_microseconds") * 1e-6, b);
  ep_human_rate(ep_json_number_at(timing, "samples_per_second"), c);
  snprintf(text, sizeof text, "%s training (%s an epoch, %s samples/s)", a, b, c);
  double test = ep_json_number_at(timing, "test_seconds");
  size_t used = strlen(text);
  if (!isnan(test))
    snprintf(text + used, sizeof text - used, ", %s testing", ep_human_seconds(test, a));
  ep_summary_line_print(client, "seconds", text);
}

/* Of a learning rate search: what it found, and the loss over the rates; what has exploded is a
 * gap. */
static void found_print(const ep_client *client, const json_t *job) {
  char text[LINE_BYTES], a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES], c[EP_HUMAN_BYTES];
  char strip[EP_STRIP_BYTES];
  double values[EP_STRIP_BARS];
  const json_t *found = ep_json_at(job, "found"), *losses = ep_json_at(found, "smoothed");
  const json_t *rates = ep_json_at(found, "lr");
  size_t count = json_array_size(losses);
  if (count == 0) return;
  double proposal = ep_json_number_at(found, "proposal");
  snprintf(text, sizeof text, "train with %s; the loss falls fastest at %s and is lowest at %s",
           ep_human_number(proposal, a), ep_human_number(ep_json_number_at(found, "steepest"), b),
           ep_human_number(ep_json_number_at(found, "least"), c));
  ep_summary_line_print(client, "rate",
                        isnan(proposal) ? "the loss does not fall at any rate: no proposal" : text);
  int bars = count < EP_STRIP_BARS ? (int)count : EP_STRIP_BARS;
  double first = ep_json_number(json_array_get(losses, 0));
  for (int i = 0; i < bars; i++) {
    size_t at = bars > 1 ? (size_t)i * (count - 1) / (size_t)(bars - 1) : 0;
    values[i] = ep_json_number(json_array_get(losses, at));
    if (!(values[i] <= 2 * fabs(first))) values[i] = NAN;
  }
  ep_strip_write(&client->terminal, values, bars, strip);
  snprintf(text, sizeof text, "%s %s %s",
           ep_human_number(ep_json_number(json_array_get(rates, 0)), a), strip,
           ep_human_number(ep_json_number(json_array_get(rates, count - 1)), b));
  ep_summary_line_print(client, "loss", text);
}

static void weights_print(const ep_client *client, const json_t *job) {
  char text[LINE_BYTES * 2], bytes[EP_HUMAN_BYTES];
  const json_t *weights = ep_json_at(job, "weights");
  if (!json_is_object(weights)) return;
  ep_human_bytes(ep_json_number_at(weights, "bytes"), bytes);
  snprintf(text, sizeof text, "%s/v1/jobs/%.64s/weights (%s)", client->session.server,
           ep_json_text_at(job, "id"), bytes);
  ep_summary_line_print(client, "weights", text);
}

/* The name of class `index`, escaped: that of the metrics, or its number. */
static void class_name_copy(const json_t *job, size_t index, char out[CLASS_NAME_BYTES]) {
  const char *name =
      json_string_value(json_array_get(ep_json_at(job, "metrics.class_names"), index));
  if (name)
    ep_text_copy(out, CLASS_NAME_BYTES, name);
  else
    snprintf(out, CLASS_NAME_BYTES, "%zu", index);
}

void ep_confusion_print(const ep_client *client, const json_t *job) {
  const json_t *confusion = ep_json_at(job, "metrics.test.confusion");
  size_t classes = json_array_size(confusion);
  char names[SHOWN_CLASSES][CLASS_NAME_BYTES];
  if (classes == 0 || classes > SHOWN_CLASSES) return;
  ep_text_table table = {0};
  ep_text_table_column(&table, "true \\ said", true, false);
  for (size_t c = 0; c < classes; c++) {
    class_name_copy(job, c, names[c]);
    ep_text_table_column(&table, names[c], true, false);
  }
  for (size_t row = 0; row < classes; row++) {
    ep_text_table_cell(&table, names[row], EP_COLOUR_BOLD);
    for (size_t c = 0; c < classes; c++) {
      char text[EP_HUMAN_BYTES];
      const json_t *cell = json_array_get(json_array_get(confusion, row), c);
      ep_human_count((int64_t)json_integer_value(cell), text);
      ep_text_table_cell(&table, text, row == c ? EP_COLOUR_GREEN : EP_COLOUR_PLAIN);
    }
  }
  printf("\n");
  ep_text_table_print(&table, &client->terminal, true);
  ep_text_table_deinit(&table);
}

/* Appends to a text, which is cut at its end. */
static void text_add(char text[LINE_BYTES], const char *format, ...) {
  size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, LINE_BYTES - used, format, arguments);
  va_end(arguments);
}

/* A value of a spec, or its type where it is an object with one; NULL: there is none, or it is 0.
 */
static const char *value_text(const json_t *value, char text[EP_HUMAN_BYTES]) {
  const char *type = json_string_value(json_object_get(value, "type"));
  if (type) return type;
  if (json_is_string(value)) return json_string_value(value);
  double number = json_number_value(value);
  return number != 0 ? ep_human_number(number, text) : NULL;
}

/* Appends "KEY VALUE" of each key that the object has; an empty key: the value alone. */
static void fields_add(char text[LINE_BYTES], const json_t *object, const char *const *keys) {
  char number[EP_HUMAN_BYTES];
  for (; *keys; keys++) {
    const char *value = value_text(json_object_get(object, *keys), number);
    bool named = strcmp(*keys, "type") != 0 && strcmp(*keys, "dataset") != 0 &&
                 strcmp(*keys, "generator") != 0;
    if (value)
      text_add(text, "%s%s%s%.200s", *text ? ", " : "", named ? *keys : "", named ? " " : "",
               value);
  }
}

/* "linear 64, silu, dropout 0.5, linear 2"; of a graph a line a layer. */
static void layers_print(const ep_client *client, const json_t *layers) {
  char text[LINE_BYTES] = "", line[EP_NETWORK_LINE_BYTES];
  bool graph = ep_network_is_graph(layers);
  for (size_t i = 0; i < json_array_size(layers); i++) {
    if (!graph && i == SHOWN_LAYERS) {
      text_add(text, ", … (%zu layers)", json_array_size(layers));
      break;
    }
    ep_network_line(layers, i, graph, line);
    if (graph)
      ep_summary_line_print(client, i > 0 ? "" : "network", line);
    else
      text_add(text, "%s%s", i > 0 ? ", " : "", line);
  }
  if (*text) ep_summary_line_print(client, "network", text);
}

/* What the job is, in three lines. */
static void settings_print(const ep_client *client, const json_t *spec) {
  static const char *const DATA[] = {"dataset",    "generator", "target", "test",
                                     "validation", "time",      NULL};
  static const char *const OPTIMIZER[] = {"type", "lr", "momentum", "weight_decay", NULL};
  static const char *const TRAINING[] = {"loss", "schedule", "batch_size", "precision", NULL};
  char text[LINE_BYTES] = "";
  fields_add(text, ep_json_at(spec, "data"), DATA);
  if (*text) ep_summary_line_print(client, "data", text);
  layers_print(client, ep_json_at(spec, "model.layers"));
  *text = 0;
  fields_add(text, ep_json_at(spec, "optimizer"), OPTIMIZER);
  fields_add(text, spec, TRAINING);
  if (*text) ep_summary_line_print(client, "training", text);
}

static void details_print(const ep_client *client, const json_t *job) {
  char text[LINE_BYTES], a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES];
  const json_t *tags = ep_json_at(job, "tags"), *tag;
  size_t index, used = 0;
  if (!tags) tags = ep_json_at(job, "spec.tags");
  json_array_foreach(tags, index, tag) {
    if (used + 1 < sizeof text)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "",
                               json_string_value(tag) ? json_string_value(tag) : "");
  }
  if (used > 0) ep_summary_line_print(client, "tags", text);
  if (*ep_json_text_at(job, "spec.notes"))
    ep_summary_line_print(client, "notes", ep_json_text_at(job, "spec.notes"));
  if (json_is_true(ep_json_at(job, "pinned"))) ep_summary_line_print(client, "pinned", "yes");
  if (ep_visibility_from_name(ep_json_text_at(job, "visibility")) == true)
    ep_summary_line_print(client, "visibility", ep_visibility_name(true));
  snprintf(text, sizeof text, "%s parameters, %s while it trains",
           ep_human_count(ep_json_integer_at(job, "model.parameters"), a),
           ep_human_bytes(ep_json_number_at(job, "model.bytes"), b));
  ep_summary_line_print(client, "model", text);
  snprintf(text, sizeof text, "%s (%s)", ep_json_text_at(job, "created_at"),
           ep_human_age(ep_json_text_at(job, "created_at"), a));
  ep_summary_line_print(client, "created", text);
  if (*ep_json_text_at(job, "warning"))
    ep_summary_line_print(client, "warning", ep_json_text_at(job, "warning"));
  json_array_foreach(ep_json_at(job, "warnings"), index, tag) {
    ep_dialect_words(text, sizeof text, json_is_string(tag) ? json_string_value(tag) : "", NULL);
    ep_summary_line_print(client, "warning", text);
  }
  if (json_is_integer(ep_json_at(job, "queue_position"))) {
    const char *reason = ep_json_text_at(job, "queue_reason"); /* of Slurm; "" = none */
    snprintf(text, sizeof text, "place %lld%s%s",
             (long long)ep_json_integer_at(job, "queue_position"), reason[0] ? ", Slurm: " : "",
             reason);
    ep_summary_line_print(client, "queue", text);
  }
}

void ep_summary_head_print(const ep_client *client, const json_t *job) {
  char text[LINE_BYTES], name[LINE_BYTES];
  const char *status = ep_json_text_at(job, "status"),
             *error = ep_json_text_at(job, "error.message");
  ep_text_copy(name, sizeof name, ep_json_text_at(job, "name"));
  ep_text_copy(text, sizeof text, status);
  printf("%s%s%s  ", ep_terminal_colour(&client->terminal, ep_job_status_colour(status)), text,
         ep_terminal_colour(&client->terminal, EP_COLOUR_PLAIN));
  ep_text_copy(text, sizeof text, ep_json_text_at(job, "id"));
  printf("%s%s%s\n", text, *name ? "  " : "", name);
  if (*error) ep_summary_line_print(client, "error", error);
  if (*ep_json_text_at(job, "stopped"))
    ep_summary_line_print(client, "stopped", ep_json_text_at(job, "stopped"));
}

void ep_job_summary_print(const ep_client *client, const json_t *job, bool whole) {
  char text[LINE_BYTES];
  ep_summary_head_print(client, job);
  if (whole && *ep_json_text_at(job, "auto.summary"))
    ep_summary_line_print(client, "chosen", ep_json_text_at(job, "auto.summary"));
  if (whole) settings_print(client, ep_json_at(job, "spec"));
  if (whole) details_print(client, job);
  if (*ep_json_text_at(job, "device")) {
    snprintf(text, sizeof text, "%s, %s", ep_json_text_at(job, "device"),
             ep_json_text_at(job, "executor"));
    ep_summary_line_print(client, "device", text);
  }
  if (!json_is_object(ep_json_at(job, "found"))) times_print(client, job);
  found_print(client, job);
  const json_t *metrics = ep_json_at(job, "metrics");
  metrics_print(client, "train", metrics);
  metrics_print(client, "validation", metrics);
  metrics_print(client, "test", metrics);
  baseline_print(client, job);
  if (*ep_json_text_at(job, "kept.reason"))
    ep_summary_line_print(client, "kept", ep_json_text_at(job, "kept.reason"));
  weights_print(client, job);
  if (!whole) return;
  ep_confusion_print(client, job);
  ep_parallel_print(&client->terminal, ep_json_at(job, "parallel"));
  ep_ranks_print(&client->terminal, ep_json_at(job, "parallel"), ep_json_at(job, "ranks"));
}
