/* Published models: names for jobs' weights. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/handlers/handlers.h"
#include "server/handlers/thresholds.h"
#include "server/jobs/models.h"

/* changes: NULL: it was not published just now. */
static ep_route_result model_respond(ep_exchange *exchange, int status,
                                     const ep_model_changes *changes) {
  ep_error error = {0};
  ep_model model;
  if (ep_models_get(exchange->server->jobs, exchange->request.id, &model, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  ep_response_take_text(&exchange->response, status, "application/json",
                        ep_model_format(&model, changes));
  return EP_ROUTE_DONE;
}

/* What the request leaves out stays as it was: the threshold of a model that has the name, unless
 * its classes are others. */
static ep_status threshold_keep(ep_exchange *exchange, const ep_model_request *request,
                                double *threshold, char positive[EP_LIMIT_WORD_BYTES + 1],
                                ep_model_changes *changes, ep_error *error) {
  ep_jobs *jobs = exchange->server->jobs;
  ep_model before;
  bool keeps;
  const char *name = exchange->request.id;
  ep_status status = ep_models_changes_find(jobs, name, request->job, changes, &keeps, error);
  if (status != EP_OK || request->threshold_given ||
      ep_models_get(jobs, name, &before, NULL) != EP_OK || isnan(before.threshold))
    return status;
  if (keeps) {
    *threshold = before.threshold;
    return ep_models_positive_find(jobs, name, request->job, positive, error);
  }
  snprintf(changes->line[changes->count++], EP_MESSAGE_BYTES,
           "the threshold %.4g was of \"%.128s\" and is not kept: give one for the classes that "
           "there are",
           before.threshold, before.positive[0] ? before.positive : "1");
  return EP_OK;
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

ep_status ep_threshold_model_find(ep_exchange *exchange, const ep_model *model,
                                  const ep_threshold *asked, double *out, ep_error *error) {
  const ep_viewer by = ep_exchange_viewer(exchange);
  *out = model->threshold;
  if (asked->kind == EP_THRESHOLD_NONE) return EP_OK;
  if (ep_threshold_is_searched(asked) &&
      ep_jobs_see(exchange->server->jobs, &by, EP_OWNED_JOB, model->job, NULL) != EP_OK)
    return ep_fail(error, EP_INVALID, "its search needs the job of the model, which is private");
  return ep_threshold_find(exchange, model->job, asked, model->positive, out, error);
}

/* The job that the body names, in the place of its name. */
static ep_status job_find(ep_exchange *exchange, ep_model_request *model, ep_error *error) {
  const ep_viewer by = ep_exchange_viewer(exchange);
  ep_error why = {0};
  ep_job_found found;
  ep_status status =
      ep_jobs_find(exchange->server->jobs, &by, EP_JOB_PREFIX, false, model->job, &found, &why);
  if (status != EP_OK) return ep_fail_at(error, status, "/job", "%.400s", why.message);
  snprintf(model->job, sizeof model->job, "%s", found.id);
  return EP_OK;
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
  ep_model_changes changes;
  if (ep_model_request_parse(request->body, request->body_bytes, &model, &problem) != EP_OK)
    return ep_exchange_problem(exchange, &problem);
  if (!exchange->works)
    return ep_threshold_is_searched(&model.threshold) ? EP_ROUTE_INGESTS : EP_ROUTE_COMMITS;
  if (job_find(exchange, &model, &error) != EP_OK ||
      threshold_take(exchange, &model, &threshold, positive, &error) != EP_OK ||
      threshold_keep(exchange, &model, &threshold, positive, &changes, &error) != EP_OK ||
      ep_models_put(exchange->server->jobs, request->id, &model, threshold, positive, &by, &created,
                    &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  if (created) ep_exchange_locate(exchange, "/v1/models/%s", request->id);
  return model_respond(exchange, created ? 201 : 200, &changes);
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
  return model_respond(exchange, 200, NULL);
}

ep_route_result ep_route_model_get(ep_exchange *exchange) {
  return model_respond(exchange, 200, NULL);
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
