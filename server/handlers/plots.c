/* Plots of a job that ended: a worker makes the numbers, and they are sent or drawn. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base_path.h"
#include "api/json/json.h"
#include "server/handlers/handlers.h"
#include "server/handlers/thresholds.h"
#include "server/jobs/checkpoints.h"
#include "server/plots/plots.h"
#include "server/process/data_dir.h"

enum {
  SIZE = 100,      /* of a boundary's side, by default */
  REPEATS = 5,     /* as permutation_importance has them */
  COUNT = 24,      /* rows that are shown */
  TREE_BYTES = 24, /* of memory for a byte of numbers, while they are drawn */
  FILM_BYTES = 4   /* of a time-lapse, most of which is one text a frame */
};

static ep_status text_read(int file, int64_t bytes, char **out, ep_error *error) {
  ep_status status = EP_OK;
  char *text = *out = malloc((size_t)bytes + 1);
  if (!text) return ep_fail_memory(error);
  for (int64_t done = 0; done < bytes && status == EP_OK;) {
    ssize_t got = read(file, text + done, (size_t)(bytes - done));
    if (got <= 0) status = ep_fail(error, EP_IO, "the plot's numbers: %s", strerror(errno));
    done += got;
  }
  text[bytes] = 0;
  return status;
}

/* The numbers as a worker writes them. *text: the caller's (free), also on failure. */
static ep_status numbers_make(ep_exchange *exchange, const char *job,
                              const ep_plot_request *request, bool drawn, char **text,
                              ep_error *error) {
  const char *name = ep_request_query(&exchange->request, "checkpoint");
  int64_t checkpoint = 0;
  const char *data_dir = exchange->server->config->data_dir;
  char folder[EP_PATH_BYTES], path[EP_PATH_BYTES];
  int file = -1;
  int64_t bytes = 0;
  const ep_cancellation stop = {ep_exchange_is_abandoned, exchange};
  if (name && ep_checkpoint_name_read(name, &checkpoint, error) != EP_OK) return error->status;
  ep_status status = ep_data_dir_temporary(data_dir, folder, error);
  if (status != EP_OK) return status;
  status = ep_path_join(path, error, folder, "plot.json", NULL);
  if (status == EP_OK)
    status = ep_jobs_plot(exchange->server->jobs, job, checkpoint, request,
                          path + strlen(data_dir) + 1, &stop, error);
  if (status == EP_OK) status = ep_file_open(path, &file, &bytes, error);
  bool film = strcmp(request->name, ep_plot_kind_name(EP_PLOT_TIMELAPSE)) == 0;
  int64_t times = !drawn ? 1 : film ? FILM_BYTES : TREE_BYTES;
  if (status == EP_OK) status = ep_exchange_hold(exchange, bytes * times, error);
  if (status == EP_OK) status = text_read(file, bytes, text, error);
  if (file >= 0) close(file);
  ep_data_dir_remove(folder, NULL);
  return status;
}

/* The probability of the best decision, from the numbers of "pr". EP_CONFLICT: no row is to be
 * taken, which no probability says: some are 1. */
static ep_status decision_read(const char *text, bool cost, double *out, ep_error *error) {
  json_t *root = NULL;
  ep_status status = ep_json_load(text, strlen(text), EP_LIMIT_PLOT_BYTES, &root, error);
  if (status != EP_OK) return status;
  const json_t *best = json_object_get(root, cost ? "best_cost" : "best_f1");
  const json_t *probability = json_object_get(best, "probability");
  *out = json_is_number(probability) ? json_number_value(probability) : 1;
  if (json_array_size(json_object_get(root, "classes")) != 2)
    status = ep_fail(error, EP_CONFLICT, EP_THRESHOLD_NOT_TWO);
  if (status == EP_OK && !json_is_number(json_object_get(best, "threshold")))
    status = ep_fail(
        error, EP_CONFLICT,
        "with these costs, predicting no row as positive is cheapest: there is no threshold");
  json_decref(root);
  return status;
}

ep_status ep_threshold_find(ep_exchange *exchange, const char *job, const ep_threshold *asked,
                            const char *positive, double *out, ep_error *error) {
  ep_plot_request request = {.cost_fp = NAN,
                             .cost_fn = NAN,
                             .size = SIZE,
                             .repeats = REPEATS,
                             .count = COUNT,
                             .epoch = EP_PLOT_NO_EPOCH};
  char *text = NULL;
  bool cost = asked->kind == EP_THRESHOLD_COST;
  *out = asked->kind == EP_THRESHOLD_NUMBER ? asked->probability : NAN;
  if (asked->kind != EP_THRESHOLD_F1 && !cost) return EP_OK;
  if (cost) request.cost_fp = asked->cost_fp, request.cost_fn = asked->cost_fn;
  snprintf(request.name, sizeof request.name, "%s", ep_plot_kind_name(EP_PLOT_PR));
  snprintf(request.output, sizeof request.output, "%s", positive);
  ep_status status = numbers_make(exchange, job, &request, true, &text, error);
  if (status == EP_OK) status = decision_read(text, cost, out, error);
  free(text);
  return status == EP_NO_PLOT ? ep_fail(error, EP_CONFLICT, EP_THRESHOLD_NOT_TWO) : status;
}

/* A parameter that names something. */
static ep_status name_read(const ep_request *request, const char *key,
                           char name[EP_LIMIT_NAME_BYTES + 1], ep_error *error) {
  const char *value = ep_request_query(request, key);
  if (!value) return EP_OK;
  if (strlen(value) > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_MALFORMED, "?%s= must be at most %d bytes", key, EP_LIMIT_NAME_BYTES);
  snprintf(name, EP_LIMIT_NAME_BYTES + 1, "%s", value);
  return EP_OK;
}

static ep_status cost_read(const ep_request *request, ep_plot_request *out, ep_error *error) {
  const char *text = ep_request_query(request, "cost");
  out->cost_fp = out->cost_fn = NAN;
  return text ? ep_cost_parse(text, &out->cost_fp, &out->cost_fn, error) : EP_OK;
}

/* "latest", or an epoch. */
static ep_status epoch_read(const ep_request *request, int64_t *out, ep_error *error) {
  const char *text = ep_request_query(request, "epoch");
  *out = text ? EP_PLOT_LATEST_EPOCH : EP_PLOT_NO_EPOCH;
  if (!text || strcmp(text, "latest") == 0) return EP_OK;
  return ep_request_integer(request, "epoch", 0, INT64_MAX, 0, out, error);
}

static ep_status request_read(const ep_request *request, ep_plot_request *out, ep_error *error) {
  static const char *const SWITCH[] = {"false", "true", NULL};
  int normalize, y_down;
  snprintf(out->name, sizeof out->name, "%.*s", (int)sizeof out->name - 1, request->part);
  ep_status status = ep_request_word(request, "normalize", SWITCH, 0, &normalize, error);
  out->normalize = normalize;
  if (status == EP_OK) status = ep_request_word(request, "y_down", SWITCH, 0, &y_down, error);
  out->y_down = status == EP_OK && y_down;
  if (status == EP_OK) status = epoch_read(request, &out->epoch, error);
  if (status == EP_OK) status = name_read(request, "layer", out->column, error);
  if (status == EP_OK) status = cost_read(request, out, error);
  if (status == EP_OK) status = name_read(request, "class", out->output, error);
  if (status == EP_OK) status = name_read(request, "x", out->x, error);
  if (status == EP_OK) status = name_read(request, "y", out->y, error);
  if (status == EP_OK) status = name_read(request, "column", out->column, error);
  if (status == EP_OK)
    status = ep_request_integer(request, "size", 2, EP_LIMIT_PLOT_SIDE, SIZE, &out->size, error);
  if (status == EP_OK)
    status = ep_request_integer(request, "repeats", 1, EP_LIMIT_PLOT_REPEATS, REPEATS,
                                &out->repeats, error);
  if (status == EP_OK)
    status = ep_request_integer(request, "seed", 0, INT64_MAX, 0, &out->seed, error);
  if (status == EP_OK)
    status = ep_request_integer(request, "count", 1, EP_LIMIT_PLOT_SHOWN_ROWS, COUNT, &out->count,
                                error);
  return status;
}

/* The picture's title is the job's name, or its id where it has none. */
static ep_status title_find(ep_exchange *exchange, char title[EP_LIMIT_NAME_BYTES + 1],
                            ep_error *error) {
  ep_job_copy *copy = NULL;
  ep_status status = ep_jobs_copy(exchange->server->jobs, exchange->request.id, &copy, error);
  if (status != EP_OK) return status;
  const ep_job_view *job = ep_job_copy_view(copy);
  snprintf(title, EP_LIMIT_NAME_BYTES + 1, "%s", job->name[0] ? job->name : job->id);
  ep_job_copy_destroy(copy);
  return EP_OK;
}

static ep_route_result picture_respond(ep_exchange *exchange, const char *numbers, bool png,
                                       ep_theme theme) {
  char title[EP_LIMIT_NAME_BYTES + 1];
  ep_error error = {0};
  void *picture = NULL;
  size_t bytes = 0;
  ep_status status = title_find(exchange, title, &error);
  if (status == EP_OK)
    status = png ? ep_plot_format_png(numbers, &picture, &bytes, &error)
                 : ep_plot_format_svg(title, numbers, theme, (char **)&picture, &error);
  if (status != EP_OK) return ep_exchange_fail(exchange, &error);
  if (png)
    ep_response_take_bytes(&exchange->response, 200, "image/png", picture, bytes);
  else
    ep_response_take_text(&exchange->response, 200, "image/svg+xml", picture);
  ep_response_header_add(&exchange->response, "Content-Disposition",
                         "inline; filename=\"%s-%s.%s\"", exchange->request.id,
                         exchange->request.part, png ? "png" : "svg");
  /* a picture that is opened by itself needs its style, and the picture within it */
  ep_response_header_add(&exchange->response, "Content-Security-Policy",
                         "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox");
  return EP_ROUTE_DONE;
}

/* The numbers of a learning rate search, or the list of its one plot. */
static char *found_format(const ep_found_lr *found, const char *id, bool list) {
  ep_writer writer;
  ep_writer_init(&writer, EP_LIMIT_PLOT_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", list ? "list" : "plot");
  if (list) {
    ep_writer_member_open(&writer, "data", '[');
    ep_writer_open(&writer, '{');
    ep_writer_member_string(&writer, "name", "lr");
    ep_writer_member_string(&writer, "shows", "the loss over the learning rate");
    ep_writer_member_string(&writer, "fits", "a learning rate search");
    ep_writer_close(&writer, '}');
    ep_writer_close(&writer, ']');
  } else {
    ep_writer_member_string(&writer, "job", id);
    ep_writer_member_string(&writer, "plot", "lr");
    ep_found_lr_write_members(&writer, found);
  }
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

/* Of a job that was a learning rate search *text is the numbers, or the list; it has no
 * weights, and so no other plot. *text NULL: it was none. */
static ep_status found_make(ep_exchange *exchange, const char *plot, char **text, ep_error *error) {
  ep_job_copy *copy = NULL;
  const char *id = exchange->request.id;
  *text = NULL;
  ep_status status = ep_jobs_copy(exchange->server->jobs, id, &copy, error);
  if (status != EP_OK) return status;
  const ep_job_result *result = ep_job_copy_view(copy)->result;
  if (result && result->found.count > 0) {
    if (plot && strcmp(plot, "lr") != 0)
      status = ep_fail(error, EP_NO_PLOT,
                       "the plot \"%.64s\" requires weights, and this job was a learning rate "
                       "search; its plots are: lr",
                       plot);
    else if (!(*text = found_format(&result->found, id, !plot)))
      status = ep_fail_memory(error);
  }
  ep_job_copy_destroy(copy);
  return status;
}

ep_route_result ep_route_plot_list(ep_exchange *exchange) {
  ep_plot_request request = {
      .cost_fp = NAN, .cost_fn = NAN, .size = SIZE, .repeats = REPEATS, .count = COUNT};
  ep_error error = {0};
  char *text = NULL;
  snprintf(request.base, sizeof request.base, "%s", ep_base_path());
  ep_status status = epoch_read(&exchange->request, &request.epoch, &error);
  if (status == EP_OK) status = found_make(exchange, NULL, &text, &error);
  if (status == EP_OK && !text)
    status = numbers_make(exchange, exchange->request.id, &request, false, &text, &error);
  if (status == EP_OK) return ep_exchange_json(exchange, text);
  free(text);
  return ep_exchange_fail(exchange, &error);
}

ep_route_result ep_route_plot_get(ep_exchange *exchange) {
  enum { JSON, SVG, PNG };
  static const char *const FORMATS[] = {"json", "svg", "png", NULL};
  static const char *const TYPES[] = {"application/json", "text/html", "image/svg+xml", NULL};
  const ep_request *request = &exchange->request;
  ep_plot_request asked = {0};
  ep_error error = {0};
  char *text = NULL;
  int format, theme;
  int fallback = ep_request_accepts(request, TYPES, JSON) == JSON ? JSON : SVG;
  ep_status status = ep_request_word(request, "format", FORMATS, fallback, &format, &error);
  if (status == EP_OK)
    status = ep_request_word(request, "theme", EP_THEME_WORDS, EP_THEME_AUTO, &theme, &error);
  if (status == EP_OK) status = request_read(request, &asked, &error);
  if (status == EP_OK) status = found_make(exchange, asked.name, &text, &error);
  if (status == EP_OK && !text)
    status = numbers_make(exchange, exchange->request.id, &asked, format != JSON, &text, &error);
  if (status != EP_OK) {
    free(text);
    return ep_exchange_fail(exchange, &error);
  }
  if (format == JSON) return ep_exchange_json(exchange, text);
  ep_route_result result = picture_respond(exchange, text, format == PNG, (ep_theme)theme);
  free(text);
  return result;
}
