#include "api/wire/plot.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"

typedef struct {
  const char *name, *shows, *fits;
} plot_words;

static const plot_words WORDS[EP_PLOT_COUNT] = {
#define EP_PLOT_WORDS(code, name, shows, fits) {name, shows, fits},
    EP_PLOT_TABLE(EP_PLOT_WORDS)
#undef EP_PLOT_WORDS
};

const char *ep_plot_kind_name(ep_plot_kind kind) {
  return WORDS[kind].name;
}

const char *ep_plot_kind_shows(ep_plot_kind kind) {
  return WORDS[kind].shows;
}

const char *ep_plot_kind_fits(ep_plot_kind kind) {
  return WORDS[kind].fits;
}

int ep_plot_kind_from_name(const char *name) {
  for (int kind = 0; kind < EP_PLOT_COUNT; kind++)
    if (strcmp(WORDS[kind].name, name) == 0) return kind;
  return -1;
}

void ep_plot_request_write(ep_writer *writer, const ep_plot_request *request) {
  ep_writer_member_string(writer, "plot", request->name);
  ep_writer_member_string(writer, "base", request->base);
  ep_writer_member_string(writer, "output", request->output);
  ep_writer_member_string(writer, "x", request->x);
  ep_writer_member_string(writer, "y", request->y);
  ep_writer_member_string(writer, "column", request->column);
  ep_writer_member_boolean(writer, "normalize", request->normalize);
  ep_writer_member_number_or_null(writer, "cost_fp", request->cost_fp);
  ep_writer_member_number_or_null(writer, "cost_fn", request->cost_fn);
  ep_writer_member_integer(writer, "size", request->size);
  ep_writer_member_integer(writer, "repeats", request->repeats);
  ep_writer_member_integer(writer, "seed", request->seed);
  ep_writer_member_integer(writer, "epoch", request->epoch);
  ep_writer_member_integer(writer, "count", request->count);
  ep_writer_member_boolean(writer, "y_down", request->y_down);
}

static double number_or_nan(const json_t *object, const char *key) {
  double value;
  return ep_json_get_number(object, key, &value) ? value : NAN;
}

bool ep_plot_request_read(const json_t *object, ep_plot_request *out) {
  out->y_down = json_is_true(json_object_get(object, "y_down"));
  out->normalize = json_is_true(json_object_get(object, "normalize"));
  out->cost_fp = number_or_nan(object, "cost_fp");
  out->cost_fn = number_or_nan(object, "cost_fn");
  return ep_json_get_text(object, "plot", out->name, sizeof out->name) &&
         ep_json_get_text(object, "base", out->base, sizeof out->base) &&
         ep_json_get_text(object, "output", out->output, sizeof out->output) &&
         ep_json_get_text(object, "x", out->x, sizeof out->x) &&
         ep_json_get_text(object, "y", out->y, sizeof out->y) &&
         ep_json_get_text(object, "column", out->column, sizeof out->column) &&
         ep_json_get_integer(object, "size", 2, EP_LIMIT_PLOT_SIDE, &out->size) &&
         ep_json_get_integer(object, "repeats", 1, EP_LIMIT_PLOT_REPEATS, &out->repeats) &&
         ep_json_get_integer(object, "seed", 0, INT64_MAX, &out->seed) &&
         ep_json_get_integer(object, "epoch", EP_PLOT_LATEST_EPOCH, INT64_MAX, &out->epoch) &&
         ep_json_get_integer(object, "count", 1, EP_LIMIT_PLOT_SHOWN_ROWS, &out->count);
}

ep_status ep_cost_parse(const char *text, double *fp, double *fn, ep_error *error) {
  char *end = NULL;
  *fp = *fn = NAN;
  if (strncmp(text, "fp:", 3) == 0) {
    *fp = strtod(text + 3, &end);
    if (strncmp(end, ",fn:", 4) == 0) *fn = strtod(end + 4, &end);
  }
  if (end && !*end && isfinite(*fp) && isfinite(*fn) && *fp >= 0 && *fn >= 0) return EP_OK;
  return ep_fail(error, EP_MALFORMED,
                 "cost \"%.64s\" must be fp:A,fn:B, the costs of a false positive and a false "
                 "negative, at least 0",
                 text);
}

static ep_status number_take(double value, ep_threshold *out, ep_error *error) {
  *out = (ep_threshold){.kind = EP_THRESHOLD_NUMBER, .probability = value};
  if (value >= 0 && value <= 1) return EP_OK;
  return ep_fail(error, EP_MALFORMED, "a threshold must be a probability from 0 to 1, not %g",
                 value);
}

ep_status ep_threshold_parse(const char *text, ep_threshold *out, ep_error *error) {
  char *end;
  *out = (ep_threshold){.kind = EP_THRESHOLD_NONE};
  if (!text) return EP_OK;
  if (strncmp(text, "fp:", 3) == 0) {
    out->kind = EP_THRESHOLD_COST;
    return ep_cost_parse(text, &out->cost_fp, &out->cost_fn, error);
  }
  out->kind = EP_THRESHOLD_F1;
  if (strcmp(text, "f1") == 0) return EP_OK;
  double value = strtod(text, &end);
  if (end != text && !*end) return number_take(value, out, error);
  return ep_fail(
      error, EP_MALFORMED,
      "threshold \"%.64s\" must be a probability, \"f1\", or a cost such as \"fp:1,fn:5\"", text);
}

ep_status ep_threshold_take(const json_t *value, ep_threshold *out, ep_error *error) {
  *out = (ep_threshold){.kind = EP_THRESHOLD_NONE};
  if (!value || json_is_null(value)) return EP_OK;
  if (json_is_number(value)) return number_take(json_number_value(value), out, error);
  if (json_is_string(value)) return ep_threshold_parse(json_string_value(value), out, error);
  return ep_fail(error, EP_MALFORMED,
                 "must be a probability, \"f1\", or a cost such as \"fp:1,fn:5\"");
}
