/* Sweeps: submit, show, wait, and their trials. What they have in common with jobs is in jobs.c. */
#include "server/jobs/sweeps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/handlers/handlers.h"

enum { TRIALS = 100, TRIALS_MOST = 10000 };

/* The sweep as text, and its ETag, unless it changes at once (202). */
static ep_route_result sweep_show(ep_exchange *exchange, const char *id, int code) {
  ep_error error = {0};
  ep_job_copy *copy = NULL;
  char *text = NULL;
  ep_status status = ep_jobs_copy(exchange->server->jobs, id, &copy, &error);
  if (status == EP_OK) status = ep_sweeps_format(exchange->server->jobs, copy, &text, &error);
  if (status == EP_OK && code != 202) ep_job_etag_add(exchange, ep_job_copy_version(copy));
  ep_job_copy_destroy(copy);
  if (status != EP_OK) return ep_exchange_fail(exchange, &error);
  ep_response_take_text(&exchange->response, code, "application/json", text);
  return EP_ROUTE_DONE;
}

/* A sweep that was stored. */
static ep_route_result stored_show(ep_exchange *exchange, const char *id) {
  return sweep_show(exchange, id, 201);
}

ep_route_result ep_route_sweep_create(ep_exchange *exchange) {
  int mode;
  ep_error error = {0};
  static const char *const MODES[] = {"only", NULL};
  if (ep_request_word(&exchange->request, "validate", MODES, -1, &mode, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  if (mode != 0) return ep_job_submit_route(exchange, true, stored_show);
  if (!exchange->works) return EP_ROUTE_WORKS;
  return ep_job_validate_route(exchange, ep_sweeps_validate);
}

ep_route_result ep_route_sweep_list(ep_exchange *exchange) {
  return ep_job_list_route(exchange, EP_SWEEP_PREFIX, ep_sweeps_list);
}

/* Its results are read on a thread that may wait for the disk. */
static ep_route_result sweep_respond(ep_exchange *exchange, const ep_job_copy *copy) {
  ep_error error = {0};
  char *text = NULL;
  if (!exchange->works) return EP_ROUTE_WORKS;
  if (ep_sweeps_format(exchange->server->jobs, copy, &text, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}

ep_route_result ep_route_sweep_get(ep_exchange *exchange) {
  return ep_job_get_route(exchange, sweep_respond);
}

ep_route_result ep_route_sweep_label(ep_exchange *exchange) {
  ep_problem problem = {0};
  ep_request *request = &exchange->request;
  if (ep_jobs_label(exchange->server->jobs, request->id, request->body, request->body_bytes,
                    !ep_exchange_is_admin(exchange), &problem) != EP_OK)
    return ep_exchange_problem(exchange, &problem);
  return sweep_show(exchange, request->id, 200);
}

typedef ep_status sweep_change(ep_jobs *jobs, const char *id, ep_error *error);

static ep_route_result sweep_tell(ep_exchange *exchange, sweep_change *change, int code) {
  ep_error error = {0};
  if (change(exchange->server->jobs, exchange->request.id, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return sweep_show(exchange, exchange->request.id, code);
}

ep_route_result ep_route_sweep_cancel(ep_exchange *exchange) {
  return sweep_tell(exchange, ep_jobs_cancel, 200);
}

ep_route_result ep_route_sweep_pause(ep_exchange *exchange) {
  return sweep_tell(exchange, ep_jobs_pause, 202);
}

ep_route_result ep_route_sweep_resume(ep_exchange *exchange) {
  return sweep_tell(exchange, ep_jobs_resume, 202);
}

ep_route_result ep_route_trial_list(ep_exchange *exchange) {
  static const char *const SORTS[] = {"metric", "trial", NULL}, *const FORMATS[] = {"json", "csv",
                                                                                    NULL};
  ep_request *request = &exchange->request;
  ep_error error = {0};
  ep_trials_page page = {0};
  int sort, format;
  char *text = NULL;
  int fallback = ep_accepts_csv(request);
  if (ep_request_word(request, "sort", SORTS, 0, &sort, &error) != EP_OK ||
      ep_request_word(request, "format", FORMATS, fallback, &format, &error) != EP_OK ||
      ep_request_integer(request, "limit", 1, format == 1 ? EP_LIMIT_TRIALS : TRIALS_MOST,
                         format == 1 ? EP_LIMIT_TRIALS : TRIALS, &page.limit, &error) != EP_OK ||
      ep_request_integer(request, "offset", 0, EP_LIMIT_TRIALS, 0, &page.offset, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  page.by_trial = sort == 1;
  page.csv = format == 1;
  if (ep_sweeps_trials(exchange->server->jobs, request->id, &page, &text, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return page.csv ? ep_csv_respond(exchange, text) : ep_exchange_json(exchange, text);
}

ep_route_result ep_route_study_get(ep_exchange *exchange) {
  ep_error error = {0};
  char *text = NULL;
  if (ep_sweeps_study(exchange->server->jobs, exchange->request.id, &text, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}

/* The number of the trial in the path. */
static ep_status trial_read(const ep_request *request, int64_t *trial, ep_error *error) {
  char *end;
  errno = 0;
  *trial = strtoll(request->part, &end, 10);
  if (errno == 0 && request->part[0] >= '0' && request->part[0] <= '9' && !*end) return EP_OK;
  return ep_fail(error, EP_NOT_FOUND, "a trial must be a number from 0, not %.40s", request->part);
}

ep_route_result ep_route_trial_get(ep_exchange *exchange) {
  ep_error error = {0};
  int64_t trial;
  char *text = NULL;
  ep_status status = trial_read(&exchange->request, &trial, &error);
  if (status == EP_OK)
    status = ep_sweeps_trial(exchange->server->jobs, exchange->request.id, trial, &text, &error);
  if (status != EP_OK) return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}

/* Makes the trial a job, unless it is one already. */
static ep_status trial_promote(ep_exchange *exchange, char job[EP_ID_BYTES], bool *repeated,
                               ep_problem *problem) {
  ep_error error = {0};
  int64_t trial, part;
  ep_status status = trial_read(&exchange->request, &trial, &error);
  if (status == EP_OK)
    status = ep_request_integer(&exchange->request, "part", 0, EP_LIMIT_TRIALS, -1, &part, &error);
  if (status != EP_OK) return ep_problem_from_error(problem, &error);
  const ep_viewer by = ep_exchange_viewer(exchange);
  return ep_sweeps_promote(exchange->server->jobs, exchange->request.id, trial, (int)part, &by, job,
                           repeated, problem);
}

static ep_route_result job_show(ep_exchange *exchange, const char *job, int code) {
  ep_error error = {0};
  char *text = NULL;
  uint64_t version;
  if (ep_jobs_get(exchange->server->jobs, job, &text, &version, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  ep_response_take_text(&exchange->response, code, "application/json", text);
  ep_exchange_locate(exchange, "/v1/jobs/%s", job);
  return EP_ROUTE_DONE;
}

ep_route_result ep_route_trial_promote(ep_exchange *exchange) {
  ep_problem problem = {0};
  char job[EP_ID_BYTES];
  bool repeated;
  if (trial_promote(exchange, job, &repeated, &problem) != EP_OK)
    return ep_exchange_problem(exchange, &problem);
  return job_show(exchange, job, repeated ? 200 : 201);
}

/* A trial leaves its figures alone: what else it had comes of the same training once more. Until
 * that has ended the response is the job's; afterwards it says where the thing is. */
static ep_route_result trial_thing(ep_exchange *exchange, const char *thing) {
  ep_problem problem = {0};
  ep_error error = {0};
  char job[EP_ID_BYTES];
  bool repeated;
  ep_job_copy *copy = NULL;
  if (trial_promote(exchange, job, &repeated, &problem) != EP_OK)
    return ep_exchange_problem(exchange, &problem);
  if (ep_jobs_copy(exchange->server->jobs, job, &copy, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  bool ended = ep_state_has_ended(ep_job_copy_view(copy)->state);
  ep_job_copy_destroy(copy);
  if (!ended) {
    ep_route_result result = job_show(exchange, job, 202);
    ep_response_header_add(&exchange->response, "Retry-After", "1");
    return result;
  }
  const char *format = ep_request_query(&exchange->request, "format");
  if (format && strspn(format, "abcdefghijklmnopqrstuvwxyz") != strlen(format)) format = NULL;
  const char *quantize = ep_request_query(&exchange->request, "quantize");
  int spreadsheet;
  if (ep_spreadsheet_read(&exchange->request, &spreadsheet, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  char query[64] = "";
  int bytes = format ? snprintf(query, sizeof query, "&format=%.16s", format) : 0;
  if (quantize && strcmp(quantize, "int8") == 0)
    bytes += snprintf(query + bytes, sizeof query - (size_t)bytes, "&quantize=int8");
  if (spreadsheet) snprintf(query + bytes, sizeof query - (size_t)bytes, "&spreadsheet=1");
  if (*query) *query = '?';
  ep_response_empty(&exchange->response, 307);
  ep_exchange_locate(exchange, "/v1/jobs/%s/%s%s", job, thing, query);
  return EP_ROUTE_DONE;
}

ep_route_result ep_route_trial_curve(ep_exchange *exchange) {
  return trial_thing(exchange, "curve");
}

ep_route_result ep_route_trial_weights(ep_exchange *exchange) {
  return trial_thing(exchange, "weights");
}

ep_route_result ep_route_trial_predictions(ep_exchange *exchange) {
  return trial_thing(exchange, "predictions");
}
