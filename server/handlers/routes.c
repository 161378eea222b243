#include "server/handlers/routes.h"

#include "engine/data/dialect/dialect.h"
#include "server/handlers/handlers.h"

enum {
  SPEC_BYTES = EP_LIMIT_SPEC_BYTES,
  PREDICT_BYTES = EP_LIMIT_PREDICT_BYTES,
  OPEN = 0, /* to all */
  READ = EP_SCOPE_READ,
  SUBMIT = EP_SCOPE_SUBMIT,
  PUBLISH = EP_SCOPE_PUBLISH
};

/* How a text is written. */
#define EP_DIALECT_QUERY_KEY(code, key, member) key,
#define DIALECT EP_DIALECT_TABLE(EP_DIALECT_QUERY_KEY)

/* clang-format off */
static const ep_route rows[] = {
  {"POST",   "/v1/jobs",                  ep_route_job_create,      EP_BODY_JSON, SPEC_BYTES, EP_RUNS_HERE, SUBMIT, EP_OWNED_NONE, {"validate", "find"}, NULL},
  {"GET",    "/v1/jobs",                  ep_route_job_list,        EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_NONE, {"limit", "after", "state", "tag*", "view", "owner", "search"}, NULL},
  {"GET",    "/v1/jobs/{id}",             ep_route_job_get,         EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_JOB, {"wait"}, EP_JOB_PREFIX},
  {"PATCH",  "/v1/jobs/{id}",             ep_route_job_label,       EP_BODY_JSON, EP_LIMIT_LABELS_BYTES, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_JOB, {NULL}, EP_JOB_PREFIX},
  {"DELETE", "/v1/jobs/{id}",             ep_route_job_delete,      EP_BODY_NONE, 0, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_JOB, {NULL}, EP_JOB_PREFIX},
  {"POST",   "/v1/jobs/{id}/cancel",      ep_route_job_cancel,      EP_BODY_NONE, 0, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_JOB, {NULL}, EP_JOB_PREFIX},
  {"POST",   "/v1/jobs/{id}/pause",       ep_route_job_pause,       EP_BODY_NONE, 0, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_JOB, {NULL}, EP_JOB_PREFIX},
  {"POST",   "/v1/jobs/{id}/resume",      ep_route_job_resume,      EP_BODY_NONE, 0, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_JOB, {NULL}, EP_JOB_PREFIX},
  {"GET",    "/v1/jobs/{id}/checkpoints", ep_route_checkpoint_list, EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_JOB, {NULL}, EP_JOB_PREFIX},
  {"GET",    "/v1/jobs/{id}/checkpoints/{step}/weights", ep_route_checkpoint_get, EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_JOB, {NULL}, EP_JOB_PREFIX},
  {"GET",    "/v1/jobs/{id}/webhooks",    ep_route_webhooks_get,    EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_JOB, {NULL}, EP_JOB_PREFIX},
  {"GET",    "/v1/jobs/{id}/events",      ep_route_events_get,      EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_JOB, {"after", "every", "follow"}, EP_JOB_PREFIX},
  {"GET",    "/v1/jobs/{id}/curve",       ep_route_curve_get,       EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_JOB, {"max_points", "format"}, EP_JOB_PREFIX},
  {"GET",    "/v1/jobs/{id}/weights",     ep_route_weights_get,     EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_JOB, {"format", "quantize"}, EP_JOB_PREFIX},
  {"GET",    "/v1/jobs/{id}/predictions", ep_route_predictions_get, EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_JOB, {"format"}, EP_JOB_PREFIX},
  {"GET",    "/v1/jobs/{id}/plots",       ep_route_plot_list,       EP_BODY_NONE, 0, EP_RUNS_INGEST, READ, EP_OWNED_JOB, {"checkpoint", "epoch"}, EP_JOB_PREFIX},
  {"GET",    "/v1/jobs/{id}/plots/{name}", ep_route_plot_get,       EP_BODY_NONE, 0, EP_RUNS_INGEST, READ, EP_OWNED_JOB, {"format", "class", "normalize", "cost", "x", "y", "size", "column", "repeats", "seed", "checkpoint", "epoch", "layer", "count", "y_down"}, EP_JOB_PREFIX},
  {"POST",   "/v1/jobs/{id}/predict",     ep_route_job_predict,     EP_BODY_ROWS, PREDICT_BYTES, EP_RUNS_HERE, READ, EP_OWNED_JOB, {DIALECT "checkpoint", "threshold"}, EP_JOB_PREFIX},
  {"POST",   "/v1/sweeps",                ep_route_sweep_create,    EP_BODY_JSON, SPEC_BYTES, EP_RUNS_HERE, SUBMIT, EP_OWNED_NONE, {"validate"}, NULL},
  {"GET",    "/v1/sweeps",                ep_route_sweep_list,      EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_NONE, {"limit", "after", "state", "tag*", "owner", "search"}, NULL},
  {"GET",    "/v1/sweeps/{id}",           ep_route_sweep_get,       EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_JOB, {"wait"}, EP_SWEEP_PREFIX},
  {"PATCH",  "/v1/sweeps/{id}",           ep_route_sweep_label,     EP_BODY_JSON, EP_LIMIT_LABELS_BYTES, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_JOB, {NULL}, EP_SWEEP_PREFIX},
  {"DELETE", "/v1/sweeps/{id}",           ep_route_job_delete,      EP_BODY_NONE, 0, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_JOB, {NULL}, EP_SWEEP_PREFIX},
  {"POST",   "/v1/sweeps/{id}/cancel",    ep_route_sweep_cancel,    EP_BODY_NONE, 0, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_JOB, {NULL}, EP_SWEEP_PREFIX},
  {"POST",   "/v1/sweeps/{id}/pause",     ep_route_sweep_pause,     EP_BODY_NONE, 0, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_JOB, {NULL}, EP_SWEEP_PREFIX},
  {"POST",   "/v1/sweeps/{id}/resume",    ep_route_sweep_resume,    EP_BODY_NONE, 0, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_JOB, {NULL}, EP_SWEEP_PREFIX},
  {"GET",    "/v1/sweeps/{id}/webhooks",  ep_route_webhooks_get,    EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_JOB, {NULL}, EP_SWEEP_PREFIX},
  {"GET",    "/v1/sweeps/{id}/events",    ep_route_events_get,      EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_JOB, {"after", "every", "follow"}, EP_SWEEP_PREFIX},
  {"GET",    "/v1/sweeps/{id}/trials",    ep_route_trial_list,      EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_JOB, {"sort", "limit", "offset", "format"}, EP_SWEEP_PREFIX},
  {"GET",    "/v1/sweeps/{id}/study",     ep_route_study_get,       EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_JOB, {NULL}, EP_SWEEP_PREFIX},
  {"GET",    "/v1/sweeps/{id}/trials/{n}",             ep_route_trial_get,         EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_JOB, {NULL}, EP_SWEEP_PREFIX},
  {"POST",   "/v1/sweeps/{id}/trials/{n}/promote",     ep_route_trial_promote,     EP_BODY_NONE, 0, EP_RUNS_COMMIT, READ | SUBMIT, EP_OWNED_JOB, {"part"}, EP_SWEEP_PREFIX},
  {"GET",    "/v1/sweeps/{id}/trials/{n}/curve",       ep_route_trial_curve,       EP_BODY_NONE, 0, EP_RUNS_COMMIT, READ | SUBMIT, EP_OWNED_JOB, {"part", "format"}, EP_SWEEP_PREFIX},
  {"GET",    "/v1/sweeps/{id}/trials/{n}/weights",     ep_route_trial_weights,     EP_BODY_NONE, 0, EP_RUNS_COMMIT, READ | SUBMIT, EP_OWNED_JOB, {"part", "format", "quantize"}, EP_SWEEP_PREFIX},
  {"GET",    "/v1/sweeps/{id}/trials/{n}/predictions", ep_route_trial_predictions, EP_BODY_NONE, 0, EP_RUNS_COMMIT, READ | SUBMIT, EP_OWNED_JOB, {"part", "format"}, EP_SWEEP_PREFIX},
  {"GET",    "/v1/compare",               ep_route_compare_get,     EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_NONE, {"jobs", "max_points", "format"}, NULL},
  {"GET",    "/v1/datasets",              ep_route_dataset_list,    EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_NONE, {"limit", "after"}, NULL},
  {"PUT",    "/v1/datasets/{id}",         ep_route_dataset_put,     EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, SUBMIT, EP_OWNED_DATASET, {DIALECT "size", "channels", "broken", "table", "visibility"}, NULL},
  {"PUT",    "/v1/datasets/{id}/train/x",      ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, SUBMIT, EP_OWNED_DATASET, {DIALECT "visibility"}, NULL},
  {"PUT",    "/v1/datasets/{id}/train/y",      ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, SUBMIT, EP_OWNED_DATASET, {DIALECT "visibility"}, NULL},
  {"PUT",    "/v1/datasets/{id}/validation/x", ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, SUBMIT, EP_OWNED_DATASET, {DIALECT "visibility"}, NULL},
  {"PUT",    "/v1/datasets/{id}/validation/y", ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, SUBMIT, EP_OWNED_DATASET, {DIALECT "visibility"}, NULL},
  {"PUT",    "/v1/datasets/{id}/test/x",       ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, SUBMIT, EP_OWNED_DATASET, {DIALECT "visibility"}, NULL},
  {"PUT",    "/v1/datasets/{id}/test/y",       ep_route_part_put, EP_BODY_UPLOAD, 0, EP_RUNS_INGEST, SUBMIT, EP_OWNED_DATASET, {DIALECT "visibility"}, NULL},
  {"PATCH",  "/v1/datasets/{id}",         ep_route_dataset_label,   EP_BODY_JSON, EP_LIMIT_LABELS_BYTES, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_DATASET, {NULL}, NULL},
  {"GET",    "/v1/datasets/{id}",         ep_route_dataset_get,     EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_DATASET, {NULL}, NULL},
  {"GET",    "/v1/datasets/{id}/rows",    ep_route_dataset_rows,    EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_DATASET, {"split", "limit", "offset"}, NULL},
  {"DELETE", "/v1/datasets/{id}",         ep_route_dataset_delete,  EP_BODY_NONE, 0, EP_RUNS_COMMIT, SUBMIT, EP_OWNED_DATASET, {NULL}, NULL},
  {"GET",    "/v1/models",                ep_route_model_list,      EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_NONE, {NULL}, NULL},
  {"PUT",    "/v1/models/{id}",           ep_route_model_put,       EP_BODY_JSON, SPEC_BYTES, EP_RUNS_HERE, PUBLISH, EP_OWNED_MODEL, {NULL}, NULL},
  {"PATCH",  "/v1/models/{id}",           ep_route_model_label,     EP_BODY_JSON, EP_LIMIT_LABELS_BYTES, EP_RUNS_COMMIT, PUBLISH, EP_OWNED_MODEL, {NULL}, NULL},
  {"GET",    "/v1/models/{id}",           ep_route_model_get,       EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_MODEL, {NULL}, NULL},
  {"DELETE", "/v1/models/{id}",           ep_route_model_delete,    EP_BODY_NONE, 0, EP_RUNS_COMMIT, PUBLISH, EP_OWNED_MODEL, {NULL}, NULL},
  {"GET",    "/v2",                       ep_route_inference_server, EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_NONE, {NULL}, NULL},
  {"GET",    "/v2/health/live",           ep_route_inference_live,  EP_BODY_NONE, 0, EP_RUNS_HERE, OPEN, EP_OWNED_NONE, {NULL}, NULL},
  {"GET",    "/v2/health/ready",          ep_route_inference_ready, EP_BODY_NONE, 0, EP_RUNS_HERE, OPEN, EP_OWNED_NONE, {NULL}, NULL},
  {"GET",    "/v2/models/{id}",       ep_route_inference_model,       EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_MODEL, {NULL}, NULL},
  {"GET",    "/v2/models/{id}/ready", ep_route_inference_model_ready, EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_MODEL, {NULL}, NULL},
  {"POST",   "/v2/models/{id}/infer", ep_route_inference_infer,       EP_BODY_TENSORS, PREDICT_BYTES, EP_RUNS_HERE, READ, EP_OWNED_MODEL, {NULL}, NULL},
  {"GET",    "/v2/models/{id}/versions/1",       ep_route_inference_model,       EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_MODEL, {NULL}, NULL},
  {"GET",    "/v2/models/{id}/versions/1/ready", ep_route_inference_model_ready, EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_MODEL, {NULL}, NULL},
  {"POST",   "/v2/models/{id}/versions/1/infer", ep_route_inference_infer,       EP_BODY_TENSORS, PREDICT_BYTES, EP_RUNS_HERE, READ, EP_OWNED_MODEL, {NULL}, NULL},
  {"GET",    "/v1/devices",               ep_route_devices_get,     EP_BODY_NONE, 0, EP_RUNS_HERE, READ, EP_OWNED_NONE, {NULL}, NULL},
  {"GET",    "/v1/queue",                 ep_route_queue_get,       EP_BODY_NONE, 0, EP_RUNS_WORK, READ, EP_OWNED_NONE, {NULL}, NULL},
  {"GET",    "/metrics",                  ep_route_metrics_get,     EP_BODY_NONE, 0, EP_RUNS_METRICS, READ, EP_OWNED_NONE, {NULL}, NULL},
  {"GET",    "/livez",                    ep_route_live_get,        EP_BODY_NONE, 0, EP_RUNS_HERE, OPEN, EP_OWNED_NONE, {NULL}, NULL},
  {"GET",    "/readyz",                   ep_route_ready_get,       EP_BODY_NONE, 0, EP_RUNS_HERE, OPEN, EP_OWNED_NONE, {NULL}, NULL},
  {"GET",    "/openapi.json",             ep_route_contract_get,    EP_BODY_NONE, 0, EP_RUNS_HERE, OPEN, EP_OWNED_NONE, {NULL}, NULL},
  {"GET",    "/",                         ep_route_root_get,        EP_BODY_NONE, 0, EP_RUNS_HERE, OPEN, EP_OWNED_NONE, {NULL}, NULL},
  {"GET",    "/assets/{id}",              ep_route_asset_get,       EP_BODY_NONE, 0, EP_RUNS_HERE, OPEN, EP_OWNED_NONE, {NULL}, NULL},
  {"GET",    "/assets/views/{id}/{name}", ep_route_asset_get,       EP_BODY_NONE, 0, EP_RUNS_HERE, OPEN, EP_OWNED_NONE, {NULL}, NULL},
};
/* clang-format on */
const ep_routes EP_ROUTES = {rows, sizeof rows / sizeof rows[0]};
