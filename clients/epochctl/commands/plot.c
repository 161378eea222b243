/* plot.c: epochctl plot. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/wire/plot.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/request.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/terminal/plot.h"

enum { WIDTH_DEFAULT = 80, HEIGHT_DEFAULT = 20, FILE_PATH_BYTES = 4096 };

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
    status = ep_fail(error, EP_INVALID, "this job has no %s: it is not a classifier", titles[0]);
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

/* The body goes to a file that is whole or absent, or to standard output. */
static ep_status body_write(const ep_http_response *response, const char *name, ep_error *error) {
  char part[FILE_PATH_BYTES + 8];
  bool standard = strcmp(name, "-") == 0;
  if (snprintf(part, sizeof part, "%s.part", name) >= FILE_PATH_BYTES)
    return ep_fail(error, EP_INVALID, "--output is too long");
  FILE *file = standard ? stdout : fopen(part, "w");
  if (!file) return ep_fail(error, EP_IO, "%.300s cannot be created: %s", part, strerror(errno));
  bool good =
      fwrite(response->text ? response->text : "", 1, response->bytes, file) == response->bytes;
  good = (standard ? fflush(file) : fclose(file)) == 0 && good;
  if (!standard) good = good && rename(part, name) == 0;
  if (good) return EP_OK;
  if (!standard) unlink(part);
  return ep_fail(error, EP_IO, "%.300s cannot be written: %s", name, strerror(errno));
}

/* The format that a file's ending says. */
static const char *format_of(const char *output) {
  const char *ending = strrchr(output, '.');
  if (ending && strcmp(ending, ".png") == 0) return "png";
  return ending && strcmp(ending, ".json") == 0 ? "json" : "svg";
}

/* Options of a named plot that its request takes as they are. */
static const char *const PASSED[] = {"class",      "column", "x",     "y",     "size",   "cost",
                                     "checkpoint", "epoch",  "layer", "count", "repeats"};

/* A curve has none of the options of a named plot. */
static ep_status curve_check(const ep_arguments *arguments, ep_error *error) {
  static const char *const OTHERS[] = {"output", "normalize", "y-down"};
  const char *found = NULL;
  for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS && !found; i++)
    if (ep_arguments_has(arguments, OTHERS[i])) found = OTHERS[i];
  for (size_t i = 0; i < sizeof PASSED / sizeof *PASSED && !found; i++)
    if (ep_arguments_has(arguments, PASSED[i])) found = PASSED[i];
  if (!found) return EP_OK;
  return ep_fail(error, EP_INVALID, "--%s requires the NAME of a plot, as in epochctl plot JOB roc",
                 found);
}

static ep_status picture_get(ep_client *client, const char *id, const ep_arguments *arguments,
                             ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], list[EP_REQUEST_PATH_BYTES], usual[FILE_PATH_BYTES];
  const char *name = arguments->words[1], *output = ep_arguments_value(arguments, "output");
  snprintf(usual, sizeof usual, "%s-%.64s.svg", id, name);
  if (!output) output = usual;
  ep_path_make(list, "/v1/jobs/", id, "/plots/");
  ep_path_make(path, list, name, "");
  ep_path_query(path, "format", client->json ? "json" : format_of(output));
  for (size_t i = 0; i < sizeof PASSED / sizeof PASSED[0]; i++)
    if (ep_arguments_has(arguments, PASSED[i]))
      ep_path_query(path, PASSED[i], ep_arguments_value(arguments, PASSED[i]));
  if (ep_arguments_has(arguments, "normalize")) ep_path_query(path, "normalize", "true");
  if (ep_arguments_has(arguments, "y-down")) ep_path_query(path, "y_down", "true");
  ep_http_response response;
  ep_http_request request = {.method = "GET", .path = path, .accept = "*/*", .long_lasting = true};
  ep_status status = ep_http_send(&client->session, &request, &response, error);
  if (status == EP_OK) status = body_write(&response, client->json ? "-" : output, error);
  ep_http_response_deinit(&response);
  if (status == EP_OK && !client->json && strcmp(output, "-") != 0) printf("%s\n", output);
  return status;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_REQUEST_PATH_BYTES], points[32];
  json_t *curve = NULL;
  ep_plot_options options = options_read(&client->terminal, arguments);
  ep_status status = ep_job_id_find(&client->session, arguments->words[0], id, error);
  if (status != EP_OK) return status;
  if (arguments->words_count > 1) return picture_get(client, id, arguments, error);
  status = curve_check(arguments, error);
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

#define PLOT_NAME(code, name, shows, fits) name "|"
#define PLOT_WORD(code, name, shows, fits) name ", "

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "log", .kind = EP_OPTION_SWITCH, .doc = "a logarithmic axis"},
  {.name = "error", .kind = EP_OPTION_SWITCH,
   .doc = "a classifier's error rate instead of the loss"},
  {.name = "by", .kind = EP_OPTION_CHOICE, .value = "epochs|seconds",
   .doc = "the x axis (epochs)"},
  {.name = "width", .letter = 'w', .kind = EP_OPTION_INTEGER, .value = "COLUMNS",
   .min = EP_PLOT_WIDTH_MIN, .max = EP_PLOT_SIDE_MAX, .doc = "of the whole plot (the width of the terminal; 80 in a pipe)"},
  {.name = "height", .kind = EP_OPTION_INTEGER, .value = "LINES", .min = EP_PLOT_HEIGHT_MIN,
   .max = EP_PLOT_SIDE_MAX, .doc = "of the whole plot (20)"},
  {.name = "ascii", .kind = EP_OPTION_SWITCH, .doc = "no braille"},
  {.name = "output", .letter = 'o', .kind = EP_OPTION_FILE, .value = "FILE",
   .doc = "of a named plot: FILE.svg, .png or .json; - is standard output (JOB-NAME.svg)"},
  {.name = "class", .kind = EP_OPTION_TEXT, .value = "NAME", .doc = "the class to compare with the others"},
  {.name = "normalize", .kind = EP_OPTION_SWITCH, .doc = "confusion: shares of each true class"},
  {.name = "cost", .kind = EP_OPTION_TEXT, .value = "fp:A,fn:B", .doc = "roc, pr: the costs of a false positive and a false negative"},
  {.name = "x", .kind = EP_OPTION_TEXT, .value = "COLUMN", .doc = "boundary: the input on the x axis"},
  {.name = "y", .kind = EP_OPTION_TEXT, .value = "COLUMN", .doc = "boundary: the input on the y axis"},
  {.name = "y-down", .kind = EP_OPTION_SWITCH, .doc = "boundary, timelapse: y grows downwards, as rows of pictures do"},
  {.name = "size", .kind = EP_OPTION_INTEGER, .value = "POINTS", .min = 2, .max = EP_LIMIT_PLOT_SIDE,
   .doc = "boundary, timelapse: points a side (100)"},
  {.name = "layer", .kind = EP_OPTION_TEXT, .value = "NAME", .doc = "weights: the layer (the first that can be drawn)"},
  {.name = "count", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_PLOT_SHOWN_ROWS,
   .doc = "mistakes, uncertain: rows (24)"},
  {.name = "epoch", .kind = EP_OPTION_TEXT, .value = "N|latest",
   .doc = "of a named plot: the network at this epoch of the time-lapse, also while the job trains"},
  {.name = "repeats", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_PLOT_REPEATS,
   .doc = "importance: shuffles of each column (5)"},
  {.name = "column", .kind = EP_OPTION_TEXT, .value = "COLUMN", .doc = "dependence: the column"},
  {.name = "checkpoint", .letter = 'c', .kind = EP_OPTION_TEXT, .value = "STEP|latest",
   .doc = "of a named plot: with these weights, also while the job trains"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_plot = {
  .name = "plot", .words = "JOB [NAME]", .kind = EP_WORD_JOB, .then = EP_WORD_CHOICE,
  .choices = EP_PLOT_TABLE(PLOT_NAME) "lr", .least = 1, .most = 2,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "draw a job's curve in the terminal, or write one of its plots",
  .details =
    "The training loss, and the validation loss where there is one, in braille dots, or in letters "
    "where the locale is not UTF-8. With --json the curve as the server thins it. "
    "With a NAME (" EP_PLOT_TABLE(PLOT_WORD) "lr of find-lr) that plot of a job that ended goes to a file.",
  .examples = "epochctl plot last --log\n"
              "epochctl plot last roc -o roc.svg\n"
              "epochctl plot last timelapse --size 200 -o film.png"};
/* clang-format on */
