/* command_curve.c: plot. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/commands.h"
#include "clients/epochctl/fields.h"
#include "clients/epochctl/http.h"
#include "clients/epochctl/job_name.h"
#include "clients/epochctl/plot.h"

enum { WIDTH = 80, HEIGHT = 20 };

/* [count], the caller's; all NaN where the column is null. */
static double *column_read(const json_t *curve, const char *key, size_t count) {
  double *values = calloc(count ? count : 1, sizeof *values);
  const json_t *list = ep_field(curve, key);
  for (size_t i = 0; values && i < count; i++) values[i] = ep_field_value(json_array_get(list, i));
  return values;
}

static ep_status draw(const ep_session *session, const json_t *curve, const ep_arguments *arguments,
                      const ep_plot_options *options, ep_error *error) {
  bool error_rate = ep_arguments_has(arguments, "error");
  const char *keys[EP_PLOT_SERIES] = {error_rate ? "error" : "loss",
                                      error_rate ? "validation_error" : "validation_loss"};
  const char *titles[EP_PLOT_SERIES] = {error_rate ? "training error" : "training loss",
                                        error_rate ? "validation error" : "validation loss"};
  size_t count = json_array_size(ep_field(curve, "epoch"));
  double *x = column_read(curve, options->seconds ? "elapsed_seconds" : "epoch", count);
  double *y[EP_PLOT_SERIES] = {0};
  ep_series series[EP_PLOT_SERIES];
  int series_count = 0;
  bool good = x != NULL;
  for (int i = 0; i < EP_PLOT_SERIES && good; i++) {
    if (json_array_size(ep_field(curve, keys[i])) != count) continue; /* null: there is none */
    y[i] = column_read(curve, keys[i], count);
    good = y[i] != NULL;
    series[series_count++] = (ep_series){titles[i], x, y[i], count};
  }
  ep_status status = EP_OK;
  if (!good)
    status = ep_fail(error, EP_NO_MEMORY, "not enough memory for a plot");
  else if (series_count == 0)
    status = ep_fail(error, EP_INVALID, "this job has no %s: it is no classifier", titles[0]);
  else
    status = ep_plot_print(series, series_count, options, &session->terminal, error);
  for (int i = 0; i < EP_PLOT_SERIES; i++) free(y[i]);
  free(x);
  return status;
}

ep_status ep_command_plot(ep_session *session, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_PATH_MAX_BYTES], points[32];
  const char *by = ep_arguments_value(arguments, "by");
  json_t *curve = NULL;
  int own = ep_terminal_width(&session->terminal);
  int64_t width = ep_arguments_integer(arguments, "width", own > EP_PLOT_LEAST_WIDTH ? own : WIDTH);
  int64_t height = ep_arguments_integer(arguments, "height", HEIGHT);
  ep_status status = ep_job_find(session, arguments->words[0], id, error);
  if (status) return status;
  ep_plot_options options = {.width = (int)width,
                             .height = (int)height,
                             .logarithmic = ep_arguments_has(arguments, "log"),
                             .braille =
                                 session->terminal.unicode && !ep_arguments_has(arguments, "ascii"),
                             .seconds = by && strcmp(by, "seconds") == 0};
  ep_path_make(path, "/v1/jobs/", id, "/curve");
  snprintf(points, sizeof points, "%lld", (long long)width * 4); /* two a dot: peaks stay */
  ep_path_query(path, "max_points", points);
  status = ep_get_ask(session, path, &curve, error);
  if (!status && curve) status = draw(session, curve, arguments, &options, error);
  json_decref(curve);
  return status;
}
