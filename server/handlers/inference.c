/* The Open Inference Protocol (KServe V2): metadata of the server and of models, and inference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/inference/inference.h"
#include "server/handlers/handlers.h"
#include "server/handlers/thresholds.h"
#include "server/jobs/models.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"

enum { INFER_SECONDS = 60 };

ep_route_result ep_route_inference_server(ep_exchange *exchange) {
  static const char TEXT[] = "{\"name\":\"epochd\",\"version\":\"" EP_VERSION
                             "\",\"extensions\":[\"binary_tensor_data\"]}\n";
  ep_response_constant(&exchange->response, 200, "application/json", TEXT, sizeof TEXT - 1);
  return EP_ROUTE_DONE;
}

ep_route_result ep_route_inference_live(ep_exchange *exchange) {
  static const char TEXT[] = "{\"live\":true}\n";
  ep_response_constant(&exchange->response, 200, "application/json", TEXT, sizeof TEXT - 1);
  return EP_ROUTE_DONE;
}

/* As /readyz, with that protocol's body. */
ep_route_result ep_route_inference_ready(ep_exchange *exchange) {
  static const char TEXT[] = "{\"ready\":true}\n";
  bool ready;
  ep_route_result result = ep_ready_await(exchange, &ready);
  if (ready)
    ep_response_constant(&exchange->response, 200, "application/json", TEXT, sizeof TEXT - 1);
  return result;
}

/* The model that the path names; on failure the response is set. */
static ep_status model_find(ep_exchange *exchange, ep_model *out) {
  ep_error error = {0};
  ep_status status = ep_models_get(exchange->server->jobs, exchange->request.id, out, &error);
  if (status != EP_OK) ep_exchange_fail(exchange, &error);
  return status;
}

ep_route_result ep_route_inference_model(ep_exchange *exchange) {
  char *text = NULL;
  ep_error error = {0};
  if (ep_models_metadata(exchange->server->jobs, exchange->request.id, &text, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}

ep_route_result ep_route_inference_model_ready(ep_exchange *exchange) {
  ep_model model;
  ep_error error = {0};
  char path[EP_PATH_BYTES];
  if (model_find(exchange, &model) != EP_OK) return EP_ROUTE_DONE;
  if (ep_jobs_file(exchange->server->jobs, model.job, EP_WEIGHTS_FILE, path, sizeof path, &error) !=
      EP_OK)
    return ep_exchange_fail_with(exchange, EP_UNAVAILABLE, "%.400s", error.message);
  return ep_exchange_json(exchange, ep_model_ready_format(&model));
}

/* An inference on its way. Freed by inference_done. */
typedef struct {
  ep_exchange *exchange; /* retained */
  ep_model model;
  ep_output_meaning meaning;
  ep_inference_request request;
} inference;

static void inference_destroy(inference *pending) {
  if (!pending) return;
  ep_inference_request_deinit(&pending->request);
  ep_output_meaning_deinit(&pending->meaning);
  free(pending);
}

/* From another thread. What is written here is read once called_back is seen. */
static void inference_done(void *context, const double *output, int64_t rows, int64_t columns,
                           const ep_error *error) {
  inference *pending = context;
  ep_exchange *exchange = pending->exchange;
  ep_inference_response response = {0};
  if (error)
    exchange->error = *error;
  else if (rows != pending->request.rows || columns != pending->model.outputs)
    ep_fail(&exchange->error, EP_INTERNAL, "the worker responded with an unexpected shape");
  else
    ep_inference_response_format(&pending->model, &pending->meaning, &pending->request, output,
                                 &response, &exchange->error);
  exchange->result = response.body;
  exchange->result_bytes = response.body_bytes;
  exchange->result_json_bytes = response.binary ? response.json_bytes : 0;
  inference_destroy(pending);
  atomic_store(&exchange->called_back, true);
  ep_waiter_wake(&exchange->waiter);
  ep_exchange_release(exchange);
}

/* Columns by their names become rows: a fault's place is that of the cell in these. */
static ep_status columns_take(ep_exchange *exchange, inference *pending, ep_error *error) {
  ep_inference_request *request = &pending->request;
  ep_problem problem = {0};
  ep_prediction_rows rows;
  ep_status status = ep_jobs_rows_take(exchange->server->jobs, pending->model.job, 0,
                                       request->named, &rows, &problem);
  request->x = rows.x;
  request->rows = rows.rows;
  request->columns = rows.columns;
  request->warnings = rows.warnings;
  if (status == EP_OK) return EP_OK;
  if (status == EP_INVALID || status == EP_CONFLICT) status = EP_MALFORMED;
  if (problem.errors_count == 0) return ep_fail(error, status, "%s", problem.detail);
  return ep_fail(error, status, "%s: %s", problem.errors[0].pointer, problem.errors[0].detail);
}

static ep_status request_read(ep_exchange *exchange, inference *pending, ep_error *error) {
  const ep_request *request = &exchange->request;
  const char *length = ep_request_header(request, EP_INFERENCE_LENGTH_HEADER);
  size_t json_bytes = request->body_bytes;
  ep_status status = ep_exchange_hold_rows(exchange, false, error);
  if (status == EP_OK)
    status = ep_models_get(exchange->server->jobs, request->id, &pending->model, error);
  if (status == EP_OK && ep_request_header_count(request, EP_INFERENCE_LENGTH_HEADER) > 1)
    status = ep_fail(error, EP_MALFORMED, "%s is given twice", EP_INFERENCE_LENGTH_HEADER);
  if (status == EP_OK && length)
    status = ep_inference_length_parse(length, request->body_bytes, &json_bytes, error);
  if (status == EP_OK)
    status = ep_jobs_meaning_find(exchange->server->jobs, pending->model.job, 0, &pending->meaning,
                                  error);
  if (status == EP_OK)
    status = ep_inference_parse(&pending->model, &pending->meaning, request->body,
                                request->body_bytes, json_bytes, &pending->request, error);
  if (status == EP_OK && pending->request.named) status = columns_take(exchange, pending, error);
  return status;
}

static ep_status threshold_find(ep_exchange *exchange, inference *pending, ep_error *error) {
  double found;
  ep_error why = {0};
  ep_status status =
      ep_threshold_model_find(exchange, &pending->model, &pending->request.threshold, &found, &why);
  ep_output_threshold_set(&pending->meaning, found, pending->model.positive);
  if (status == EP_OK) return EP_OK;
  if (status == EP_INVALID || status == EP_CONFLICT) status = EP_MALFORMED;
  return ep_fail(error, status, "parameter \"threshold\": %.400s", why.message);
}

static ep_route_result infer_start(ep_exchange *exchange) {
  ep_error error = {0};
  if (!exchange->works && exchange->request.body_bytes > EP_PARSED_HERE_BYTES)
    return EP_ROUTE_WORKS;
  inference *pending = calloc(1, sizeof *pending);
  if (!pending) return ep_exchange_fail_memory(exchange);
  ep_status status = request_read(exchange, pending, &error);
  if (status == EP_OK && ep_threshold_is_searched(&pending->request.threshold) &&
      !exchange->ingests) {
    inference_destroy(pending);
    ep_exchange_give(exchange);
    return EP_ROUTE_INGESTS; /* where the body is read again: a search takes far longer */
  }
  if (status == EP_OK) status = threshold_find(exchange, pending, &error);
  if (status == EP_OK) {
    const ep_inference_request *request = &pending->request;
    exchange->deadline_us = ep_clock_steady_us() + INFER_SECONDS * 1000000LL;
    ep_exchange_retain(exchange);
    pending->exchange = exchange;
    const ep_prediction_rows input = {
        .x = request->x, .rows = request->rows, .columns = request->columns, .windows = 1};
    status = ep_jobs_predict(exchange->server->jobs, pending->model.job, 0, &input, inference_done,
                             pending, &error);
    if (status == EP_OK) return EP_ROUTE_WAITS; /* `pending` may be freed already */
    ep_exchange_release(exchange);
  }
  inference_destroy(pending);
  return ep_exchange_fail(exchange, &error);
}

static ep_route_result infer_end(ep_exchange *exchange) {
  char *body = exchange->result;
  if (exchange->error.status != EP_OK) return ep_exchange_fail(exchange, &exchange->error);
  exchange->result = NULL;
  bool binary = exchange->result_json_bytes > 0;
  ep_response_take_bytes(&exchange->response, 200,
                         binary ? "application/octet-stream" : "application/json", body,
                         exchange->result_bytes);
  if (binary)
    ep_response_header_add(&exchange->response, EP_INFERENCE_LENGTH_HEADER, "%zu",
                           exchange->result_json_bytes);
  return EP_ROUTE_DONE;
}

ep_route_result ep_route_inference_infer(ep_exchange *exchange) {
  if (exchange->deadline_us == 0) return infer_start(exchange);
  if (atomic_load(&exchange->called_back)) return infer_end(exchange);
  if (!exchange->timed_out) return EP_ROUTE_WAITS;
  return ep_exchange_fail_with(exchange, EP_UNAVAILABLE, "no worker responded in %d seconds",
                               INFER_SECONDS);
}
