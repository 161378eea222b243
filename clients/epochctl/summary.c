#include "clients/epochctl/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/fields.h"
#include "clients/epochctl/figures.h"
#include "clients/epochctl/table.h"

enum { SHOWN_CLASSES = 12, METRICS = 12, LINE_BYTES = 1024 };

ep_colour ep_state_colour(const char *status) {
  if (strcmp(status, "succeeded") == 0) return EP_COLOUR_GREEN;
  if (strcmp(status, "failed") == 0) return EP_COLOUR_RED;
  if (strcmp(status, "cancelled") == 0) return EP_COLOUR_YELLOW;
  return strcmp(status, "running") == 0 ? EP_COLOUR_BLUE : EP_COLOUR_PLAIN;
}

int ep_metrics_list(const json_t *metrics, const char *names[], double values[], int most) {
  static const char *const KNOWN[] = {"loss", "accuracy", "error", "mse",       "rmse",   "mae",
                                      "r2",   "roc_auc",  "f1",    "precision", "recall", "rows"};
  int count = 0;
  for (size_t i = 0; i < sizeof KNOWN / sizeof KNOWN[0] && count < most; i++) {
    double value = ep_field_number(metrics, KNOWN[i]);
    const json_t *field = ep_field(metrics, KNOWN[i]);
    if (!field || json_is_null(field)) continue;
    names[count] = KNOWN[i];
    values[count++] = value;
  }
  return count;
}

static void line(const ep_session *session, const char *title, const char *text) {
  char safe[LINE_BYTES * 2];
  ep_text_copy(safe, sizeof safe, text);
  printf("  %s%-10s%s %s\n", ep_terminal_colour(&session->terminal, EP_COLOUR_DIM), title,
         ep_terminal_colour(&session->terminal, EP_COLOUR_PLAIN), safe);
}

static void metrics_print(const ep_session *session, const char *title, const json_t *metrics) {
  const char *names[METRICS];
  double values[METRICS];
  char text[LINE_BYTES], figure[EP_FIGURE_BYTES];
  size_t used = 0;
  int count = json_is_object(metrics) ? ep_metrics_list(metrics, names, values, METRICS) : 0;
  if (count == 0) return;
  for (int i = 0; i < count; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", i ? "  " : "", names[i],
                             ep_figure_number(values[i], figure));
  line(session, title, text);
}

static void times_print(const ep_session *session, const json_t *job) {
  char text[LINE_BYTES], a[EP_FIGURE_BYTES], b[EP_FIGURE_BYTES], c[EP_FIGURE_BYTES];
  const json_t *timing = ep_field(job, "timing");
  int64_t epoch = ep_field_integer(job, "progress.epoch");
  int64_t epochs = ep_field_integer(job, "progress.epochs");
  double train = ep_field_number(timing, "train_seconds");
  char *of = ep_figure_count(epochs, b);
  snprintf(text, sizeof text, "%s%s%s", ep_figure_count(epoch, a), epoch < epochs ? " of " : "",
           epoch < epochs ? of : "");
  line(session, "epochs", text);
  if (isnan(train)) return;
  ep_figure_seconds(train, a);
  ep_figure_seconds(ep_field_number(timing, "epoch_microseconds") * 1e-6, b);
  ep_figure_rate(ep_field_number(timing, "samples_per_second"), c);
  snprintf(text, sizeof text, "%s training (%s an epoch, %s samples/s)", a, b, c);
  double test = ep_field_number(timing, "test_seconds");
  size_t used = strlen(text);
  if (!isnan(test))
    snprintf(text + used, sizeof text - used, ", %s testing", ep_figure_seconds(test, a));
  line(session, "seconds", text);
}

static void weights_print(const ep_session *session, const json_t *job) {
  char text[LINE_BYTES * 2], bytes[EP_FIGURE_BYTES];
  const json_t *weights = ep_field(job, "weights");
  if (!json_is_object(weights)) return;
  ep_figure_bytes(ep_field_number(weights, "bytes"), bytes);
  snprintf(text, sizeof text, "%s%.512s (%s)", session->server, ep_field_text(weights, "url"),
           bytes);
  line(session, "weights", text);
}

static void confusion_print(const ep_session *session, const json_t *job) {
  const json_t *confusion = ep_field(job, "metrics.test.confusion");
  size_t classes = json_array_size(confusion);
  if (classes == 0 || classes > SHOWN_CLASSES) return;
  static const char *const NUMBERS[SHOWN_CLASSES] = {"0", "1", "2", "3", "4",  "5",
                                                     "6", "7", "8", "9", "10", "11"};
  ep_table table = {0};
  ep_table_column(&table, "true \\ said", true, false);
  for (size_t c = 0; c < classes; c++) ep_table_column(&table, NUMBERS[c], true, false);
  for (size_t row = 0; row < classes; row++) {
    ep_table_cell(&table, NUMBERS[row], EP_COLOUR_BOLD);
    for (size_t c = 0; c < classes; c++) {
      char text[EP_FIGURE_BYTES];
      const json_t *cell = json_array_get(json_array_get(confusion, row), c);
      ep_figure_count((int64_t)json_integer_value(cell), text);
      ep_table_cell(&table, text, row == c ? EP_COLOUR_GREEN : EP_COLOUR_PLAIN);
    }
  }
  printf("\n");
  ep_table_print(&table, &session->terminal, true);
  ep_table_deinit(&table);
}

static void spec_print(const ep_session *session, const json_t *job) {
  char *text = json_dumps(ep_field(job, "spec"), JSON_INDENT(2) | JSON_REAL_PRECISION(6));
  ep_writer writer;
  if (!text) return;
  ep_writer_init(&writer, strlen(text) * 8 + 1);
  for (char *at = text; *at;) { /* line by line: their ends are to stay */
    size_t bytes = strcspn(at, "\n");
    bool more = at[bytes] != 0;
    at[bytes] = 0;
    ep_text_escape(&writer, at);
    ep_writer_bytes(&writer, "\n", 1);
    at += bytes + more;
  }
  char *safe = ep_writer_take(&writer);
  printf("\n%sas submitted, with all defaults%s\n%s",
         ep_terminal_colour(&session->terminal, EP_COLOUR_DIM),
         ep_terminal_colour(&session->terminal, EP_COLOUR_PLAIN), safe ? safe : "");
  free(safe);
  free(text);
}

static void more_print(const ep_session *session, const json_t *job) {
  char text[LINE_BYTES], a[EP_FIGURE_BYTES], b[EP_FIGURE_BYTES];
  const json_t *tags = ep_field(job, "tags"), *tag;
  size_t index, used = 0;
  if (!tags) tags = ep_field(job, "spec.tags");
  json_array_foreach(tags, index, tag) {
    if (used + 1 < sizeof text)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "",
                               json_string_value(tag) ? json_string_value(tag) : "");
  }
  if (used > 0) line(session, "tags", text);
  snprintf(text, sizeof text, "%s parameters, %s while it trains",
           ep_figure_count(ep_field_integer(job, "model.parameters"), a),
           ep_figure_bytes(ep_field_number(job, "model.bytes"), b));
  line(session, "model", text);
  snprintf(text, sizeof text, "%s (%s)", ep_field_text(job, "created_at"),
           ep_figure_age(ep_field_text(job, "created_at"), a));
  line(session, "created", text);
  if (*ep_field_text(job, "warning")) line(session, "warning", ep_field_text(job, "warning"));
  if (json_is_integer(ep_field(job, "queue_position"))) {
    snprintf(text, sizeof text, "%lld jobs go first",
             (long long)ep_field_integer(job, "queue_position"));
    line(session, "queue", text);
  }
}

void ep_summary_print(const ep_session *session, const json_t *job, bool whole) {
  char text[LINE_BYTES], name[LINE_BYTES];
  const char *status = ep_field_text(job, "status"), *error = ep_field_text(job, "error.message");
  ep_text_copy(name, sizeof name, ep_field_text(job, "name"));
  ep_text_copy(text, sizeof text, status);
  printf("%s%s%s  ", ep_terminal_colour(&session->terminal, ep_state_colour(status)), text,
         ep_terminal_colour(&session->terminal, EP_COLOUR_PLAIN));
  ep_text_copy(text, sizeof text, ep_field_text(job, "id"));
  printf("%s%s%s\n", text, *name ? "  " : "", name);
  if (*error) line(session, "error", error);
  if (whole) more_print(session, job);
  if (*ep_field_text(job, "device")) {
    snprintf(text, sizeof text, "%s, %s", ep_field_text(job, "device"),
             ep_field_text(job, "executor"));
    line(session, "device", text);
  }
  times_print(session, job);
  metrics_print(session, "train", ep_field(job, "metrics.train"));
  metrics_print(session, "validation", ep_field(job, "metrics.validation"));
  metrics_print(session, "test", ep_field(job, "metrics.test"));
  weights_print(session, job);
  if (!whole) return;
  confusion_print(session, job);
  spec_print(session, job);
}
