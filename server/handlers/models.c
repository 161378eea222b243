/* Published models: names for jobs' weights. */
#include <math.h>
#include <stdlib.h>

#include "server/handlers/handlers.h"
#include "server/handlers/thresholds.h"
#include "server/jobs/models.h"

static ep_route_result model_respond(ep_exchange *exchange, int status) {
  ep_error error = {0};
  ep_model model;
  if (ep_models_get(exchange->server->jobs, exchange->request.id, &model, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  ep_response_take_text(&exchange->response, status, "application/json", ep_model_format(&model));
  return EP_ROUTE_DONE;
}

/* Its faults are those of /threshold. A job that the caller does not see is none. */
static ep_status threshold_take(ep_exchange *exchange, const ep_model_request *model, double *out,
                                char positive[EP_LIMIT_WORD_BYTES + 1], ep_error *error) {
  const ep_viewer by = ep_exchange_viewer(exchange);
  ep_error why = {0};
  *out = NAN;
  positive[0] = 0;
  if (model->threshold.kind == EP_THRESHOLD_NONE) return EP_OK;
  if (ep_threshold_is_searched(&model->threshold) &&
      ep_jobs_see(exchange->server->jobs, &by, EP_OWNED_JOB, model->job, NULL) != EP_OK)
    return EP_OK;
  ep_status status = ep_models_positive_find(exchange->server->jobs, exchange->request.id,
                                             model->job, positive, &why);
  if (status == EP_OK)
    status = ep_threshold_find(exchange, model->job, &model->threshold, positive, out, &why);
  if (status == EP_OK) return EP_OK;
  return ep_fail_at(error, status, "/threshold", "%.400s", why.message);
}

ep_route_result ep_route_model_put(ep_exchange *exchange) {
  ep_request *request = &exchange->request;
  ep_problem problem = {0};
  ep_error error = {0};
  ep_model_request model;
  const ep_viewer by = ep_exchange_viewer(exchange);
  bool created = false;
  double threshold;
  char positive[EP_LIMIT_WORD_BYTES + 1];
  if (ep_model_request_parse(request->body, request->body_bytes, &model, &problem) != EP_OK)
    return ep_exchange_problem(exchange, &problem);
  if (!exchange->works)
    return ep_threshold_is_searched(&model.threshold) ? EP_ROUTE_INGESTS : EP_ROUTE_COMMITS;
  if (threshold_take(exchange, &model, &threshold, positive, &error) != EP_OK ||
      ep_models_put(exchange->server->jobs, request->id, &model, threshold, positive, &by, &created,
                    &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  if (created) ep_exchange_locate(exchange, "/v1/models/%s", request->id);
  return model_respond(exchange, created ? 201 : 200);
}

ep_route_result ep_route_model_label(ep_exchange *exchange) {
  ep_request *request = &exchange->request;
  ep_problem problem = {0};
  ep_error error = {0};
  ep_labels labels;
  const ep_viewer by = ep_exchange_viewer(exchange);
  if (ep_visibility_patch_parse(request->body, request->body_bytes, &labels, &problem) != EP_OK)
    return ep_exchange_problem(exchange, &problem);
  if (labels.has_visibility &&
      ep_models_show(exchange->server->jobs, request->id, &by, labels.private, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return model_respond(exchange, 200);
}

ep_route_result ep_route_model_get(ep_exchange *exchange) {
  return model_respond(exchange, 200);
}

ep_route_result ep_route_model_list(ep_exchange *exchange) {
  ep_error error = {0};
  char *text = NULL;
  const ep_viewer viewer = ep_exchange_viewer(exchange);
  if (ep_models_list(exchange->server->jobs, &viewer, &text, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}

ep_route_result ep_route_model_delete(ep_exchange *exchange) {
  ep_error error = {0};
  if (ep_models_delete(exchange->server->jobs, exchange->request.id, exchange->caller.owner,
                       ep_exchange_is_admin(exchange), &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  ep_response_empty(&exchange->response, 204);
  return EP_ROUTE_DONE;
}
