#include "server/handlers/routes.h"

#include "server/handlers/handlers.h"

enum {
  SPEC_BYTES = EP_LIMIT_SPEC_BYTES,
  PREDICT_BYTES = EP_LIMIT_PREDICT_BYTES,
};

/* clang-format off */
static const ep_route rows[] = {
  {"POST",   "/v1/jobs",                  ep_route_job_create,      EP_BODY_JSON, SPEC_BYTES, EP_RUNS_HERE, false, {"validate"}},
  {"GET",    "/v1/jobs",                  ep_route_job_list,        EP_BODY_NONE, 0, EP_RUNS_HERE, false, {"limit", "after", "state", "tag*", "view"}},
  {"GET",    "/v1/jobs/{id}",             ep_route_job_get,         EP_BODY_NONE, 0, EP_RUNS_HERE, false, {"wait"}},
  {"PATCH",  "/v1/jobs/{id}",             ep_route_job_label,       EP_BODY_JSON, EP_LIMIT_LABELS_BYTES, EP_RUNS_COMMIT, false, {NULL}},
  {"DELETE", "/v1/jobs/{id}",             ep_route_job_delete,      EP_BODY_NONE, 0, EP_RUNS_COMMIT, false, {NULL}},
  {"POST",   "/v1/jobs/{id}/cancel",      ep_route_job_cancel,      EP_BODY_NONE, 0, EP_RUNS_COMMIT, false, {NULL}},
  {"POST",   "/v1/jobs/{id}/pause",       ep_route_job_pause,       EP_BODY_NONE, 0, EP_RUNS_COMMIT, false, {NULL}},
  {"POST",   "/v1/jobs/{id}/resume",      ep_route_job_resume,      EP_BODY_NONE, 0, EP_RUNS_COMMIT, false, {NULL}},
  {"GET",    "/v1/jobs/{id}/checkpoints", ep_route_checkpoint_list, EP_BODY_NONE, 0, EP_RUNS_WORK, false, {NULL}},
  {"GET",    "/v1/jobs/{id}/checkpoints/{step}/weights", ep_route_checkpoint_get, EP_BODY_NONE, 0, EP_RUNS_WORK, false, {NULL}},
  {"GET",    "/v1/jobs/{id}/events",      ep_route_events_get,      EP_BODY_NONE, 0, EP_RUNS_HERE, false, {"after", "every", "follow"}},
  {"GET",    "/v1/jobs/{id}/curve",       ep_route_curve_get,       EP_BODY_NONE, 0, EP_RUNS_WORK, false, {"max_points", "format"}},
  {"GET",    "/v1/jobs/{id}/weights",     ep_route_weights_get,     EP_BODY_NONE, 0, EP_RUNS_HERE, false, {"format"}},
  {"GET",    "/v1/jobs/{id}/predictions", ep_route_predictions_get, EP_BODY_NONE, 0, EP_RUNS_HERE, false, {"format"}},
  {"POST",   "/v1/jobs/{id}/predict",     ep_route_job_predict,     EP_BODY_JSON, PREDICT_BYTES, EP_RUNS_HERE, false, {"checkpoint"}},
  {"GET",    "/v1/compare",               ep_route_compare_get,     EP_BODY_NONE, 0, EP_RUNS_WORK, false, {"jobs", "max_points", "format"}},
  {"GET",    "/v1/datasets",              ep_route_dataset_list,    EP_BODY_NONE, 0, EP_RUNS_HERE, false, {NULL}},
  {"PUT",    "/v1/datasets/{id}",         ep_route_dataset_put,     EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, false, {"header", "delimiter"}},
  {"PUT",    "/v1/datasets/{id}/train/x",      ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, false, {"header", "delimiter"}},
  {"PUT",    "/v1/datasets/{id}/train/y",      ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, false, {"header", "delimiter"}},
  {"PUT",    "/v1/datasets/{id}/validation/x", ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, false, {"header", "delimiter"}},
  {"PUT",    "/v1/datasets/{id}/validation/y", ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, false, {"header", "delimiter"}},
  {"PUT",    "/v1/datasets/{id}/test/x",       ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, false, {"header", "delimiter"}},
  {"PUT",    "/v1/datasets/{id}/test/y",       ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, false, {"header", "delimiter"}},
  {"GET",    "/v1/datasets/{id}",         ep_route_dataset_get,     EP_BODY_NONE, 0, EP_RUNS_HERE, false, {NULL}},
  {"DELETE", "/v1/datasets/{id}",         ep_route_dataset_delete,  EP_BODY_NONE, 0, EP_RUNS_COMMIT, false, {NULL}},
  {"GET",    "/v1/models",                ep_route_model_list,      EP_BODY_NONE, 0, EP_RUNS_HERE, false, {NULL}},
  {"PUT",    "/v1/models/{id}",           ep_route_model_put,       EP_BODY_JSON, SPEC_BYTES, EP_RUNS_COMMIT, false, {NULL}},
  {"GET",    "/v1/models/{id}",           ep_route_model_get,       EP_BODY_NONE, 0, EP_RUNS_HERE, false, {NULL}},
  {"DELETE", "/v1/models/{id}",           ep_route_model_delete,    EP_BODY_NONE, 0, EP_RUNS_COMMIT, false, {NULL}},
  {"GET",    "/v2",                       ep_route_inference_server, EP_BODY_NONE, 0, EP_RUNS_HERE, false, {NULL}},
  {"GET",    "/v2/health/live",           ep_route_inference_live,  EP_BODY_NONE, 0, EP_RUNS_HERE, true,  {NULL}},
  {"GET",    "/v2/health/ready",          ep_route_inference_ready, EP_BODY_NONE, 0, EP_RUNS_HERE, true,  {NULL}},
  {"GET",    "/v2/models/{id}",       ep_route_inference_model,       EP_BODY_NONE, 0, EP_RUNS_HERE, false, {NULL}},
  {"GET",    "/v2/models/{id}/ready", ep_route_inference_model_ready, EP_BODY_NONE, 0, EP_RUNS_HERE, false, {NULL}},
  {"POST",   "/v2/models/{id}/infer", ep_route_inference_infer,       EP_BODY_TENSORS, PREDICT_BYTES, EP_RUNS_HERE, false, {NULL}},
  {"GET",    "/v2/models/{id}/versions/1",       ep_route_inference_model,       EP_BODY_NONE, 0, EP_RUNS_HERE, false, {NULL}},
  {"GET",    "/v2/models/{id}/versions/1/ready", ep_route_inference_model_ready, EP_BODY_NONE, 0, EP_RUNS_HERE, false, {NULL}},
  {"POST",   "/v2/models/{id}/versions/1/infer", ep_route_inference_infer,       EP_BODY_TENSORS, PREDICT_BYTES, EP_RUNS_HERE, false, {NULL}},
  {"GET",    "/v1/devices",               ep_route_devices_get,     EP_BODY_NONE, 0, EP_RUNS_HERE, false, {NULL}},
  {"GET",    "/v1/queue",                 ep_route_queue_get,       EP_BODY_NONE, 0, EP_RUNS_HERE, false, {NULL}},
  {"GET",    "/metrics",                  ep_route_metrics_get,     EP_BODY_NONE, 0, EP_RUNS_WORK, false, {NULL}},
  {"GET",    "/livez",                    ep_route_live_get,        EP_BODY_NONE, 0, EP_RUNS_HERE, true,  {NULL}},
  {"GET",    "/readyz",                   ep_route_ready_get,       EP_BODY_NONE, 0, EP_RUNS_HERE, true,  {NULL}},
  {"GET",    "/openapi.json",             ep_route_contract_get,    EP_BODY_NONE, 0, EP_RUNS_HERE, true,  {NULL}},
  {"GET",    "/",                         ep_route_root_get,        EP_BODY_NONE, 0, EP_RUNS_HERE, true,  {NULL}},
  {"GET",    "/assets/{id}",              ep_route_asset_get,       EP_BODY_NONE, 0, EP_RUNS_HERE, true,  {NULL}},
  {"GET",    "/assets/views/{id}",        ep_route_asset_get,       EP_BODY_NONE, 0, EP_RUNS_HERE, true,  {NULL}},
};
/* clang-format on */
const ep_routes EP_ROUTES = {rows, sizeof rows / sizeof rows[0]};
