/* plot.c: epochctl plot. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/terminal/plot.h"

enum { WIDTH_DEFAULT = 80, HEIGHT_DEFAULT = 20 };

/* [count], the caller's (free); NaN where a value is null. NULL when memory is short. */
static double *column_read(const json_t *curve, const char *key, size_t count) {
  double *values = calloc(count ? count : 1, sizeof *values);
  const json_t *list = ep_json_at(curve, key);
  for (size_t i = 0; values && i < count; i++) values[i] = ep_json_number(json_array_get(list, i));
  return values;
}

static ep_status curve_draw(const ep_terminal *terminal, const json_t *curve,
                            const ep_arguments *arguments, const ep_plot_options *options,
                            ep_error *error) {
  bool error_rate = ep_arguments_has(arguments, "error");
  const char *keys[EP_PLOT_SERIES] = {error_rate ? "error" : "loss",
                                      error_rate ? "validation_error" : "validation_loss"};
  const char *titles[EP_PLOT_SERIES] = {error_rate ? "training error" : "training loss",
                                        error_rate ? "validation error" : "validation loss"};
  size_t count = json_array_size(ep_json_at(curve, "epoch"));
  double *x = column_read(curve, options->seconds ? "elapsed_seconds" : "epoch", count);
  double *y[EP_PLOT_SERIES] = {0};
  ep_series series[EP_PLOT_SERIES];
  int series_count = 0;
  bool good = x != NULL;
  for (int i = 0; i < EP_PLOT_SERIES && good; i++) {
    if (json_array_size(ep_json_at(curve, keys[i])) != count) continue; /* null: there is none */
    y[i] = column_read(curve, keys[i], count);
    good = y[i] != NULL;
    series[series_count++] = (ep_series){titles[i], x, y[i], count};
  }
  ep_status status = EP_OK;
  if (!good)
    status = ep_fail_memory(error);
  else if (series_count == 0)
    status = ep_fail(error, EP_INVALID, "this job has no %s: it is no classifier", titles[0]);
  else
    status = ep_plot_print(series, series_count, options, terminal, error);
  for (int i = 0; i < EP_PLOT_SERIES; i++) free(y[i]);
  free(x);
  return status;
}

static ep_plot_options options_read(const ep_terminal *terminal, const ep_arguments *arguments) {
  int own = ep_terminal_width(terminal);
  const char *by = ep_arguments_value(arguments, "by");
  int64_t width =
      ep_arguments_integer(arguments, "width", own > EP_PLOT_WIDTH_MIN ? own : WIDTH_DEFAULT);
  int64_t height = ep_arguments_integer(arguments, "height", HEIGHT_DEFAULT);
  return (ep_plot_options){.width = (int)width,
                           .height = (int)height,
                           .logarithmic = ep_arguments_has(arguments, "log"),
                           .braille = terminal->unicode && !ep_arguments_has(arguments, "ascii"),
                           .seconds = by && strcmp(by, "seconds") == 0};
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_REQUEST_PATH_BYTES], points[32];
  json_t *curve = NULL;
  ep_plot_options options = options_read(&client->terminal, arguments);
  ep_status status = ep_job_id_find(&client->session, arguments->words[0], id, error);
  if (status != EP_OK) return status;
  ep_path_make(path, "/v1/jobs/", id, "/curve");
  snprintf(points, sizeof points, "%d", options.width * 4); /* two a dot: peaks stay */
  ep_path_query(path, "max_points", points);
  status = ep_client_get(client, path, &curve, error);
  if (status == EP_OK && curve)
    status = curve_draw(&client->terminal, curve, arguments, &options, error);
  json_decref(curve);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "log", .kind = EP_OPTION_SWITCH, .doc = "a logarithmic axis"},
  {.name = "error", .kind = EP_OPTION_SWITCH,
   .doc = "a classifier's error rate instead of the loss"},
  {.name = "by", .kind = EP_OPTION_CHOICE, .value = "epochs|seconds",
   .doc = "the x axis (epochs)"},
  {.name = "width", .letter = 'w', .kind = EP_OPTION_INTEGER, .value = "COLUMNS",
   .min = EP_PLOT_WIDTH_MIN, .max = EP_PLOT_SIDE_MAX, .doc = "of the whole plot (the terminal's; 80 in a pipe)"},
  {.name = "height", .kind = EP_OPTION_INTEGER, .value = "LINES", .min = EP_PLOT_HEIGHT_MIN,
   .max = EP_PLOT_SIDE_MAX, .doc = "of the whole plot (20)"},
  {.name = "ascii", .kind = EP_OPTION_SWITCH, .doc = "no braille"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_plot = {
  .name = "plot", .words = "JOB", .kind = EP_WORD_JOB, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "draw a job's curve in the terminal",
  .details =
    "The training loss, and the validation loss where there is one, in braille dots, or in letters "
    "where the locale is not UTF-8. With --json the curve as the server thins it.",
  .examples = "epochctl plot last --log"};
/* clang-format on */
