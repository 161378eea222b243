/* Jobs: submit, show, wait, label, cancel, delete, predict. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/spreadsheet.h"
#include "api/responses/predict.h"
#include "engine/data/inputs/series_rows.h"
#include "engine/data/inputs/text_rows.h"
#include "server/handlers/handlers.h"
#include "server/handlers/thresholds.h"
#include "server/jobs/models.h"
#include "server/process/clock.h"

enum { KEY_BYTES = 255, PREDICT_SECONDS = 60, WAIT_SECONDS = 60, LIST_ITEMS = 1000, TAGS = 8 };

/* Longer lists are formatted on a thread of server->work. */
enum { LIST_HERE = 100 };

static bool wants_stream(const ep_request *request, ep_watcher_options *options) {
  enum { EVENTS, LINES, PLAIN };
  static const char *const TYPES[] = {"text/event-stream", "application/x-ndjson",
                                      "application/json", NULL};
  *options = (ep_watcher_options){.every = 1, .follow = true};
  int type = ep_request_accepts(request, TYPES, PLAIN);
  options->sse = type == EVENTS;
  return type != PLAIN;
}

static bool has_good_key(const ep_request *request, const char **key) {
  *key = ep_request_header(request, "Idempotency-Key");
  if (!*key) return true;
  size_t bytes = strlen(*key);
  for (size_t i = 0; i < bytes; i++)
    if ((*key)[i] < 0x20 || (*key)[i] > 0x7e) return false;
  return bytes > 0 && bytes <= KEY_BYTES &&
         ep_request_header_count(request, "Idempotency-Key") == 1;
}

/* The request's tree, parsed at the first of the calls for an exchange. */
static ep_status request_parse(ep_exchange *exchange, ep_problem *problem) {
  const ep_request *request = &exchange->request;
  if (exchange->json) return EP_OK;
  return ep_spec_request_parse(request->body, request->body_bytes, &exchange->json, problem);
}

/* Files that a job names may have to be read whole before it is accepted. */
static bool reads_files(const ep_exchange *exchange) {
  return !exchange->ingests && ep_spec_request_names_files(exchange->json);
}

/* ?replaced=warn, of a job or a sweep. */
static ep_status replaced_read(const ep_exchange *exchange, bool *warn, ep_error *error) {
  static const char *const WORDS[] = {"warn", NULL};
  int word = -1;
  ep_status status = ep_request_word(&exchange->request, "replaced", WORDS, -1, &word, error);
  *warn = word == 0;
  return status;
}

ep_route_result ep_job_validate_route(ep_exchange *exchange, ep_job_validator *validate) {
  ep_problem problem = {0};
  char *text = NULL;
  ep_error error = {0};
  bool warn;
  const ep_viewer by = ep_exchange_viewer(exchange);
  if (replaced_read(exchange, &warn, &error) != EP_OK) return ep_exchange_fail(exchange, &error);
  if (request_parse(exchange, &problem) != EP_OK) return ep_exchange_problem(exchange, &problem);
  if (reads_files(exchange)) return EP_ROUTE_INGESTS;
  if (validate(exchange->server->jobs, &by, exchange->json, warn, &text, &problem) != EP_OK)
    return ep_exchange_problem(exchange, &problem);
  return ep_exchange_json(exchange, text);
}

void ep_job_etag_add(ep_exchange *exchange, uint64_t version) {
  ep_response_header_add(&exchange->response, "ETag", "\"%s-%llx\"", exchange->server->boot,
                         (unsigned long long)version);
}

/* A job that was stored, as text. */
static ep_route_result stored_show(ep_exchange *exchange, const char *id) {
  ep_error error = {0};
  char *text = NULL;
  uint64_t version;
  if (ep_jobs_get(exchange->server->jobs, id, &text, &version, &error) != EP_OK)
    return ep_exchange_fail_with(exchange, EP_UNKNOWN,
                                 "job %s is stored but cannot be shown: request it again (%.300s)",
                                 id, error.message);
  ep_job_etag_add(exchange, version);
  ep_response_take_text(&exchange->response, 201, "application/json", text);
  return EP_ROUTE_DONE;
}

ep_route_result ep_job_submit_route(ep_exchange *exchange, bool sweep, ep_job_show *show) {
  ep_request *request = &exchange->request;
  ep_problem problem = {0};
  ep_watcher_options options;
  const char *key;
  if (!exchange->works) return EP_ROUTE_COMMITS;
  if (!has_good_key(request, &key))
    return ep_exchange_fail_with(exchange, EP_MALFORMED,
                                 "Idempotency-Key must be one of 1 to %d printable characters",
                                 KEY_BYTES);
  if (request_parse(exchange, &problem) != EP_OK) return ep_exchange_problem(exchange, &problem);
  if (reads_files(exchange)) return EP_ROUTE_INGESTS;
  bool stream = wants_stream(request, &options);
  /* First, because a job that was accepted must not get a 503. */
  if (stream && !ep_waiter_admit(&exchange->waiter, ep_jobs_open_logs(exchange->server->jobs)))
    return ep_exchange_fail_with(exchange, EP_UNAVAILABLE, "too many watchers, try again later");
  static const char *const FINDS[] = {"lr", NULL};
  ep_error error = {0};
  int find;
  bool warn;
  if (replaced_read(exchange, &warn, &error) != EP_OK ||
      ep_request_word(request, "find", FINDS, -1, &find, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  if (find >= 0 && sweep)
    return ep_exchange_fail_with(exchange, EP_MALFORMED, "?find= is only for jobs: a sweep trains");
  char id[EP_ID_BYTES];
  bool repeated = false;
  ep_submission submission = {.json = request->body,
                              .bytes = request->body_bytes,
                              .request = exchange->json,
                              .idempotency_key = key,
                              .owner = exchange->caller.owner,
                              .limited = !ep_exchange_is_admin(exchange),
                              .find_lr = find >= 0,
                              .warn_replaced = warn,
                              .sweep = sweep};
  if (ep_jobs_submit(exchange->server->jobs, &submission, id, &repeated, &problem) != EP_OK)
    return ep_exchange_problem(exchange, &problem);
  if (stream) ep_route_follow(exchange, id, 201, &options);
  if (exchange->response.status != 201) { /* or it cannot be followed now, but is accepted */
    ep_response_deinit(&exchange->response);
    show(exchange, id);
  }
  ep_exchange_locate(exchange, "/v1/%s/%s", sweep ? "sweeps" : "jobs", id);
  if (repeated) ep_response_header_add(&exchange->response, "Idempotency-Replayed", "true");
  return EP_ROUTE_DONE;
}

ep_route_result ep_route_job_create(ep_exchange *exchange) {
  static const char *const MODES[] = {"only", NULL};
  ep_error error = {0};
  int mode;
  if (ep_request_word(&exchange->request, "validate", MODES, -1, &mode, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  if (mode != 0) return ep_job_submit_route(exchange, false, stored_show);
  if (!exchange->works && exchange->request.body_bytes > EP_PARSED_HERE_BYTES)
    return EP_ROUTE_WORKS;
  return ep_job_validate_route(exchange, ep_jobs_validate);
}

/* The page of a list that the query names. tags: written, lent to the page. */
static ep_status page_read(const ep_request *request, ep_job_page *page,
                           const char *tags[EP_REQUEST_QUERY], ep_error *error) {
  static const char *const VIEWS[] = {"full", "summary", NULL};
  const char *state = ep_request_query(request, "state");
  int view;
  *page = (ep_job_page){.state = state ? ep_state_from_name(state) : -1,
                        .after = ep_request_query(request, "after"),
                        .owner = ep_request_query(request, "owner"),
                        .search = ep_request_query(request, "search"),
                        .tags = tags,
                        .tags_count = ep_request_queries(request, "tag", tags)};
  if (ep_request_integer(request, "limit", 1, LIST_ITEMS, LIST_HERE, &page->limit, error) !=
          EP_OK ||
      ep_request_word(request, "view", VIEWS, 0, &view, error) != EP_OK)
    return error->status;
  page->summary = view == 1;
  if (page->search && strlen(page->search) > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_MALFORMED, "?search= must be at most %d bytes", EP_LIMIT_NAME_BYTES);
  if (page->search && !*page->search) page->search = NULL;
  if (state && page->state < 0)
    return ep_fail(error, EP_MALFORMED, "?state= must be a state of a job");
  for (int i = 0; i < page->tags_count; i++)
    if (!*tags[i] || strlen(tags[i]) > EP_LIMIT_NAME_BYTES)
      return ep_fail(error, EP_MALFORMED, "?tag= must be a tag of 1 to %d bytes",
                     EP_LIMIT_NAME_BYTES);
  if (page->tags_count > TAGS)
    return ep_fail(error, EP_MALFORMED, "?tag= is given more than %d times", (int)TAGS);
  return EP_OK;
}

ep_route_result ep_job_list_route(ep_exchange *exchange, const char *prefix,
                                  ep_job_lister *lister) {
  ep_request *request = &exchange->request;
  ep_jobs *jobs = exchange->server->jobs;
  ep_error error = {0};
  ep_job_page page;
  const char *tags[EP_REQUEST_QUERY];
  uint64_t version;
  char *text = NULL;
  bool here = strcmp(prefix, EP_JOB_PREFIX) == 0; /* sweeps have results to be read */
  if (page_read(request, &page, tags, &error) != EP_OK) return ep_exchange_fail(exchange, &error);
  page.prefix = prefix;
  page.viewer = ep_exchange_viewer(exchange);
  if (page.search && !exchange->works) return EP_ROUTE_WORKS; /* it looks at every job */
  if (ep_jobs_list_version(jobs, &page, &version, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  exchange->response.headers_count = 0;
  ep_job_etag_add(exchange, version); /* never newer than the text */
  if (ep_request_matches(request, exchange->response.headers[0].value)) {
    ep_response_empty(&exchange->response, 304);
    return EP_ROUTE_DONE;
  }
  bool small = here && page.summary && page.limit <= LIST_HERE; /* specs have up to 1 MiB */
  if (!small && !exchange->works) return EP_ROUTE_WORKS;
  if (lister(jobs, &page, &text, &error) != EP_OK) return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}

ep_route_result ep_route_job_list(ep_exchange *exchange) {
  return ep_job_list_route(exchange, EP_JOB_PREFIX, ep_jobs_list);
}

ep_route_result ep_route_job_label(ep_exchange *exchange) {
  ep_request *request = &exchange->request;
  ep_jobs *jobs = exchange->server->jobs;
  ep_problem problem = {0};
  ep_error error = {0};
  char *text = NULL;
  uint64_t version = 0;
  if (ep_jobs_label(jobs, request->id, request->body, request->body_bytes,
                    !ep_exchange_is_admin(exchange), &problem) != EP_OK)
    return ep_exchange_problem(exchange, &problem);
  if (ep_jobs_get(jobs, request->id, &text, &version, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  ep_job_etag_add(exchange, version);
  return ep_exchange_json(exchange, text);
}

static void exchange_wake(void *context) {
  ep_waiter_wake(&((ep_exchange *)context)->waiter);
}

/* Long poll: true when the exchange waits for another version from here on. */
static bool change_await(ep_exchange *exchange, int64_t seconds, uint64_t version) {
  if (exchange->deadline_us == 0) exchange->deadline_us = ep_clock_steady_us() + seconds * 1000000;
  exchange->watch_token =
      ep_jobs_watch(exchange->server->jobs, exchange->request.id, version, exchange_wake, exchange);
  exchange->watches = exchange->watch_token != 0;
  return exchange->watches;
}

ep_route_result ep_job_get_route(ep_exchange *exchange, ep_job_respond *respond) {
  ep_request *request = &exchange->request;
  ep_error error = {0};
  int64_t seconds;
  ep_job_copy *copy = NULL;
  ep_exchange_unwatch(exchange); /* called again after a wait: its watch is over */
  if (ep_request_integer(request, "wait", 0, WAIT_SECONDS, 0, &seconds, &error) != EP_OK ||
      ep_jobs_copy(exchange->server->jobs, request->id, &copy, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  const ep_job_view *job = ep_job_copy_view(copy);
  uint64_t version = ep_job_copy_version(copy);
  exchange->response.headers_count = 0;
  ep_job_etag_add(exchange, version);
  bool same = ep_request_matches(request, exchange->response.headers[0].value);
  bool conditional = ep_request_header(request, "If-None-Match") != NULL;
  bool waits = seconds > 0 && !exchange->timed_out && !ep_state_has_ended(job->state) &&
               (same || !conditional) && !exchange->works;
  ep_route_result result = EP_ROUTE_DONE;
  if (waits && !ep_waiter_admit(&exchange->waiter, ep_jobs_open_logs(exchange->server->jobs)))
    result = ep_exchange_fail_with(exchange, EP_UNAVAILABLE,
                                   "too many waiting requests, try again later");
  else if (waits && change_await(exchange, seconds, version))
    result = EP_ROUTE_WAITS;
  else if (same) /* the client has this version */
    ep_response_empty(&exchange->response, 304);
  else
    result = respond(exchange, copy);
  ep_job_copy_destroy(copy);
  return result;
}

static ep_route_result job_respond(ep_exchange *exchange, const ep_job_copy *copy) {
  return ep_exchange_json(exchange, ep_job_format(ep_job_copy_view(copy)));
}

ep_route_result ep_route_job_get(ep_exchange *exchange) {
  return ep_job_get_route(exchange, job_respond);
}

typedef ep_status job_change(ep_jobs *jobs, const char *id, ep_error *error);

/* Tells the job something, and responds with it as it is afterwards. */
static ep_route_result job_tell(ep_exchange *exchange, job_change *change, int code) {
  ep_error error = {0};
  char *text = NULL;
  uint64_t version = 0;
  ep_jobs *jobs = exchange->server->jobs;
  if (change(jobs, exchange->request.id, &error) != EP_OK ||
      ep_jobs_get(jobs, exchange->request.id, &text, &version, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  if (code == 200) ep_job_etag_add(exchange, version); /* else it changes at once */
  ep_response_take_text(&exchange->response, code, "application/json", text);
  return EP_ROUTE_DONE;
}

ep_route_result ep_route_job_cancel(ep_exchange *exchange) {
  return job_tell(exchange, ep_jobs_cancel, 200);
}

ep_route_result ep_route_job_pause(ep_exchange *exchange) {
  return job_tell(exchange, ep_jobs_pause, 202);
}

ep_route_result ep_route_job_resume(ep_exchange *exchange) {
  return job_tell(exchange, ep_jobs_resume, 202);
}

ep_route_result ep_route_job_delete(ep_exchange *exchange) {
  ep_error error = {0};
  const ep_viewer by = ep_exchange_viewer(exchange);
  if (ep_jobs_delete(exchange->server->jobs, exchange->request.id, &by, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  ep_response_empty(&exchange->response, 204);
  return EP_ROUTE_DONE;
}

/* What decides between two classes. */
typedef struct {
  double threshold;                       /* NaN: the likelier one */
  char positive[EP_LIMIT_WORD_BYTES + 1]; /* the class that it is of; "": class 1 */
  bool in_body;                           /* of the request, else in its query */
} decision;

/* A fault of the threshold, with its pointer where the body has it. */
static ep_status decision_fail(const decision *decided, ep_status status, const char *message,
                               ep_error *error) {
  return ep_fail_at(error, status, decided->in_body ? "/threshold" : "", "%.400s", message);
}

static bool is_json(const ep_exchange *exchange) {
  return ep_request_has_type(&exchange->request, "application/json");
}

/* Rows of cells as text: whether each line is a JSON object. False: it is something else. */
static bool is_text(const ep_exchange *exchange, bool *lines) {
  const ep_request *request = &exchange->request;
  *lines = ep_request_has_type(request, "application/x-ndjson");
  return *lines || ep_request_has_type(request, "text/csv") ||
         ep_request_has_type(request, "text/tab-separated-values");
}

/* What a prediction is written as. */
typedef struct {
  int kind; /* FORMAT_… */
  int probabilities, spreadsheet;
} text_format;

enum { FORMAT_CSV, FORMAT_NDJSON, FORMAT_JSON };

/* ?format=, or Accept, and ?probabilities=. */
static ep_status format_find(const ep_exchange *exchange, text_format *out, ep_error *error) {
  static const char *const FORMATS[] = {"csv", "ndjson", "json", NULL};
  static const char *const TYPES[] = {"text/csv", "application/x-ndjson", "application/json", NULL};
  static const char *const SWITCH[] = {"false", "true", NULL};
  const ep_request *request = &exchange->request;
  int asked = ep_request_accepts(request, TYPES, FORMAT_JSON);
  bool lines;
  ep_status status = ep_request_word(request, "format", FORMATS, asked, &out->kind, error);
  if (status == EP_OK && out->kind == FORMAT_NDJSON && !(is_text(exchange, &lines) && lines))
    out->kind = FORMAT_JSON; /* there are no lines to write behind */
  if (status == EP_OK)
    status = ep_request_word(request, "probabilities", SWITCH, false, &out->probabilities, error);
  if (status == EP_OK) status = ep_spreadsheet_read(request, &out->spreadsheet, error);
  out->spreadsheet &= out->kind == FORMAT_CSV;
  return status;
}

/* A prediction on its way. Freed by prediction_done. */
typedef struct {
  ep_exchange *exchange; /* retained */
  ep_output_meaning meaning;
  ep_prediction_rows input; /* its names and warnings; x was given on */
  decision decided;
  text_format format;
} prediction;

static void prediction_destroy(prediction *pending) {
  ep_output_meaning_deinit(&pending->meaning);
  ep_prediction_rows_deinit(&pending->input);
  free(pending);
}

/* Warnings of a format that has no place for them. */
static void warnings_head(ep_exchange *exchange, const ep_warnings *warnings) {
  char line[256];
  if (warnings->count == 0) return;
  ep_warnings_line(warnings, line, sizeof line);
  for (char *at = line; *at; at++)
    if ((unsigned char)*at < 0x20 || *at == 0x7F) *at = ' ';
  ep_response_header_add(&exchange->response, "Epochd-Warnings", "%s", line);
}

/* From another thread. */
static void prediction_done(void *context, const double *output, int64_t rows, int64_t columns,
                            const ep_error *error) {
  prediction *pending = context;
  ep_exchange *exchange = pending->exchange;
  const ep_series_rows *series = pending->input.series;
  double *picked = NULL;
  ep_error failed = {0};
  if (!error &&
      ep_prediction_rows_pick(&pending->input, output, columns, &picked, &rows, &failed) != EP_OK)
    error = &failed;
  if (picked) output = picked;
  if (error)
    exchange->error = *error;
  else if (pending->meaning.has_threshold && ep_output_classes(&pending->meaning, columns) != 2)
    decision_fail(&pending->decided, EP_CONFLICT, EP_THRESHOLD_NOT_TWO, &exchange->error);
  else if (pending->format.kind == FORMAT_JSON)
    exchange->result = ep_predict_format(
        exchange->request.id, &pending->meaning,
        series && series->many ? series->name : pending->input.name,
        series && (series->many || series->moved) ? series->last : NULL,
        series ? series->time : NULL, &pending->input.warnings, output, rows, columns);
  else {
    exchange->result = ep_prediction_rows_format(
        &pending->input, &pending->meaning, pending->format.probabilities, output, rows, columns);
    const ep_row_lines *lines = pending->input.copied;
    if (pending->format.spreadsheet)
      exchange->result =
          ep_spreadsheet_text(exchange->result, lines ? lines->dialect.delimiter : ',');
    warnings_head(exchange, &pending->input.warnings);
  }
  free(picked);
  prediction_destroy(pending);
  atomic_store(&exchange->called_back, true);
  ep_waiter_wake(&exchange->waiter);
  ep_exchange_release(exchange);
}

/* Makes room for a copy of rows that come back as they were written: it doubles as it grows, and
 * the response has it again. */
static ep_status copy_make(ep_exchange *exchange, const text_format *format, ep_text_body *body,
                           ep_error *error) {
  if (format->kind != (body->lines ? FORMAT_NDJSON : FORMAT_CSV)) return EP_OK;
  const int64_t times = format->spreadsheet ? 6 : 3; /* a second text, while there is the first */
  ep_status status = ep_exchange_hold(exchange, times * (int64_t)body->bytes, error);
  if (status != EP_OK) return status;
  body->copied = calloc(1, sizeof *body->copied);
  return body->copied ? EP_OK : ep_fail_memory(error);
}

/* Rows of numbers, or of cells by names; or pictures. */
static ep_status predict_read(ep_exchange *exchange, int64_t checkpoint, const text_format *format,
                              ep_prediction_rows *out, ep_problem *problem) {
  const ep_request *request = &exchange->request;
  ep_jobs *jobs = exchange->server->jobs;
  ep_error error = {0};
  bool lines, json = is_json(exchange);
  bool named = json && ep_predict_has_rows(request->body, request->body_bytes);
  *out = (ep_prediction_rows){.windows = 1};
  if (ep_exchange_hold_rows(exchange, named, &error) != EP_OK)
    return ep_problem_from_error(problem, &error);
  ep_text_body body = {.text = request->body, .bytes = request->body_bytes};
  if (ep_request_integer(request, "steps", 1, EP_LIMIT_PREDICT_STEPS, 0, &body.steps, &error) !=
          EP_OK ||
      ep_request_dialect(request, &body.dialect, &error) != EP_OK)
    return ep_problem_from_error(problem, &error);
  if (is_text(exchange, &lines)) {
    body.lines = lines;
    if (ep_request_has_type(request, "text/tab-separated-values") &&
        !ep_dialect_has(&body.dialect, EP_DIALECT_DELIMITER))
      ep_dialect_set(&body.dialect, EP_DIALECT_DELIMITER, "tab", NULL);
    if (body.steps == 0 && copy_make(exchange, format, &body, &error) != EP_OK)
      return ep_problem_from_error(problem, &error);
    return ep_jobs_text_read(jobs, request->id, checkpoint, &body, out, problem);
  }
  if (!named && body.steps > 0)
    return ep_problem_add(problem, EP_INVALID, "/steps",
                          "is of the rows of a series: a table, or \"rows\" of objects");
  if (!json)
    return ep_jobs_pictures_read(jobs, request->id, checkpoint, request->body, request->body_bytes,
                                 out, &error) == EP_OK
               ? EP_OK
               : ep_problem_from_error(problem, &error);
  if (named) return ep_jobs_rows_read(jobs, request->id, checkpoint, &body, out, problem);
  return ep_predict_parse(request->body, request->body_bytes, &out->x, &out->rows, &out->columns,
                          &out->threshold, problem);
}

/* Takes what is in *input, also on failure. */
static ep_status prediction_send(ep_exchange *exchange, int64_t checkpoint, decision decided,
                                 text_format format, ep_prediction_rows *input, ep_error *error) {
  ep_jobs *jobs = exchange->server->jobs;
  const char *id = exchange->request.id;
  prediction *pending = calloc(1, sizeof *pending);
  if (!pending) {
    ep_prediction_rows_deinit(input);
    return ep_fail_memory(error);
  }
  pending->input = *input;
  pending->input.x = NULL;
  ep_status status = ep_jobs_meaning_find(jobs, id, checkpoint, &pending->meaning, error);
  pending->decided = decided;
  pending->format = format;
  if (pending->input.target[0]) pending->meaning.target = pending->input.target;
  if (pending->input.unit[0]) pending->meaning.unit = pending->input.unit;
  ep_output_threshold_set(&pending->meaning, decided.threshold, decided.positive);
  if (status == EP_OK && input->forecast && ep_loss_is_classifier(pending->meaning.loss))
    status =
        ep_fail_at(error, EP_INVALID, "/steps",
                   "the job predicts classes, which a forecast cannot continue from: remove it");
  if (status == EP_OK) {
    exchange->deadline_us = ep_clock_steady_us() + PREDICT_SECONDS * 1000000LL;
    ep_exchange_retain(exchange);
    pending->exchange = exchange;
    status = ep_jobs_predict(jobs, id, checkpoint, input, prediction_done, pending, error);
    if (status != EP_OK) ep_exchange_release(exchange);
  }
  if (status != EP_OK) prediction_destroy(pending); /* else it may be freed already */
  free(input->x);
  return status;
}

/* The threshold of the query, that of the body, or a model's own. A search takes a worker: not for
 * an HTTP thread.
 */
static ep_status decision_find(ep_exchange *exchange, const ep_threshold *query,
                               const ep_threshold *body, decision *out, ep_error *error) {
  ep_error why = {0};
  *out = (decision){.threshold = NAN, .in_body = body->kind != EP_THRESHOLD_NONE};
  if (out->in_body && query->kind != EP_THRESHOLD_NONE)
    return decision_fail(out, EP_INVALID, "the threshold is also given in the query: give only one",
                         error);
  const ep_threshold *asked = out->in_body ? body : query;
  const ep_model *model = &exchange->model;
  ep_status status =
      model->name[0]
          ? ep_threshold_model_find(exchange, model, asked, &out->threshold, &why)
          : ep_threshold_find(exchange, exchange->request.id, asked, "", &out->threshold, &why);
  memcpy(out->positive, model->positive, sizeof out->positive);
  return status == EP_OK ? EP_OK : decision_fail(out, status, why.message, error);
}

/* The rows are read, and are taken, also on failure. */
static ep_status predict_rows(ep_exchange *exchange, int64_t checkpoint, const ep_threshold *query,
                              text_format format, ep_prediction_rows *input, ep_error *error) {
  decision decided;
  ep_status status = decision_find(exchange, query, &input->threshold, &decided, error);
  if (status == EP_OK) return prediction_send(exchange, checkpoint, decided, format, input, error);
  ep_prediction_rows_deinit(input);
  return status;
}

static ep_route_result predict_start(ep_exchange *exchange) {
  ep_problem problem = {0};
  ep_error error = {0};
  ep_prediction_rows input;
  ep_threshold asked;
  text_format format;
  int64_t checkpoint = 0;
  const char *name = ep_request_query(&exchange->request, "checkpoint");
  if (name && ep_checkpoint_name_read(name, &checkpoint, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  if (ep_threshold_parse(ep_request_query(&exchange->request, "threshold"), &asked, &error) !=
          EP_OK ||
      format_find(exchange, &format, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  if (ep_threshold_is_searched(&asked) && !exchange->ingests) return EP_ROUTE_INGESTS;
  bool soon = is_json(exchange) && exchange->request.body_bytes <= EP_PARSED_HERE_BYTES;
  if (!soon && !exchange->works) return EP_ROUTE_WORKS;
  if (predict_read(exchange, checkpoint, &format, &input, &problem) != EP_OK)
    return ep_exchange_problem(exchange, &problem);
  if (ep_threshold_is_searched(&input.threshold) && !exchange->ingests) {
    ep_prediction_rows_deinit(&input);
    ep_exchange_give(exchange);
    return EP_ROUTE_INGESTS; /* where the body is read again: a search takes far longer */
  }
  ep_status status = predict_rows(exchange, checkpoint, &asked, format, &input, &error);
  return status == EP_OK ? EP_ROUTE_WAITS : ep_exchange_fail(exchange, &error);
}

/* Takes `text`. */
static ep_route_result prediction_respond(ep_exchange *exchange, char *text) {
  text_format format;
  format_find(exchange, &format, NULL);
  if (format.kind == FORMAT_JSON) return ep_exchange_json(exchange, text);
  ep_response_take_text(&exchange->response, 200,
                        format.kind == FORMAT_CSV ? EP_CSV_TYPE : "application/x-ndjson", text);
  return EP_ROUTE_DONE;
}

ep_route_result ep_route_job_predict(ep_exchange *exchange) {
  if (exchange->deadline_us == 0) return predict_start(exchange);
  if (atomic_load(&exchange->called_back)) {
    if (exchange->error.status != EP_OK) return ep_exchange_fail(exchange, &exchange->error);
    char *text = exchange->result;
    exchange->result = NULL;
    return prediction_respond(exchange, text);
  }
  if (!exchange->timed_out) return EP_ROUTE_WAITS;
  return ep_exchange_fail_with(exchange, EP_UNAVAILABLE, "no worker responded in %d seconds",
                               PREDICT_SECONDS);
}
