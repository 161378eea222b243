/* handlers.h: the calls of the table of routes. A resource is a file of this folder with its calls.
 */
#ifndef EP_SERVER_HANDLERS_HANDLERS_H
#define EP_SERVER_HANDLERS_HANDLERS_H

#include "api/responses/curve.h"
#include "server/http/routes.h"

#define EP_CSV_TYPE "text/csv; charset=utf-8"
/* csv.c: whether Accept prefers CSV to JSON. */
bool ep_accepts_csv(const ep_request *request);
/* ?spreadsheet= as 0 or 1. EP_MALFORMED. */
ep_status ep_spreadsheet_read(const ep_request *request, int *out, ep_error *error);
/* Responds with CSV, for spreadsheets where the query says so. Takes `text`; NULL: memory was
 * short. */
ep_route_result ep_csv_respond(ep_exchange *exchange, char *text);
/* Replaces an open file of CSV by a copy for spreadsheets; closes it, also on failure. */
ep_status ep_csv_copy(const ep_exchange *exchange, int *file, int64_t *bytes, ep_error *error);
/* checkpoints.c */
ep_route_call ep_route_checkpoint_list, ep_route_checkpoint_get;
/* compare.c */
ep_route_call ep_route_compare_get;
/* dashboard.c */
ep_route_call ep_route_root_get, ep_route_asset_get;
/* datasets.c */
ep_route_call ep_route_dataset_create, ep_route_dataset_put, ep_route_part_put,
    ep_route_dataset_label, ep_route_dataset_get, ep_route_dataset_list, ep_route_dataset_rows,
    ep_route_dataset_delete;
/* webhooks.c */
ep_route_call ep_route_webhooks_get;
/* events.c */
ep_route_call ep_route_events_get;
/* inference.c */
ep_route_call ep_route_inference_server, ep_route_inference_live, ep_route_inference_ready,
    ep_route_inference_model, ep_route_inference_model_ready, ep_route_inference_infer;
/* jobs.c. A sweep is submitted, listed and awaited as a job is, and shown in its own way. */
typedef ep_route_result ep_job_show(ep_exchange *exchange, const char *id);
typedef ep_route_result ep_job_respond(ep_exchange *exchange, const ep_job_copy *copy);
typedef ep_status ep_job_lister(ep_jobs *jobs, const ep_job_page *page, char **text,
                                ep_error *error);
typedef ep_status ep_job_validator(ep_jobs *jobs, const ep_viewer *by, struct json_t *request,
                                   bool warn_replaced, char **text, ep_problem *problem);
ep_route_result ep_job_validate_route(ep_exchange *exchange, ep_job_validator *validate);
ep_route_result ep_job_submit_route(ep_exchange *exchange, bool sweep, ep_job_show *show);
ep_route_result ep_job_get_route(ep_exchange *exchange, ep_job_respond *respond);
ep_route_result ep_job_list_route(ep_exchange *exchange, const char *prefix, ep_job_lister *lister);
void ep_job_etag_add(ep_exchange *exchange, uint64_t version);
ep_route_call ep_route_job_create, ep_route_job_list, ep_route_job_get, ep_route_job_label,
    ep_route_job_cancel, ep_route_job_pause, ep_route_job_resume, ep_route_job_delete,
    ep_route_job_predict, ep_route_job_inputs;
/* metrics.c */
ep_route_call ep_route_metrics_get;
/* models.c */
ep_route_call ep_route_model_put, ep_route_model_label, ep_route_model_get, ep_route_model_list,
    ep_route_model_delete;
/* plots.c */
ep_route_call ep_route_plot_list, ep_route_plot_get;
/* results.c */
ep_route_call ep_route_curve_get, ep_route_weights_get, ep_route_predictions_get;
/* service.c */
ep_route_call ep_route_devices_get, ep_route_queue_get, ep_route_live_get, ep_route_ready_get,
    ep_route_contract_get;
/* Waits for /readyz. *ready: all is; else, once it is done, the response says what is not. */
ep_route_result ep_ready_await(ep_exchange *exchange, bool *ready);

/* sweeps.c */
ep_route_call ep_route_sweep_create, ep_route_sweep_list, ep_route_sweep_get, ep_route_sweep_label,
    ep_route_sweep_cancel, ep_route_sweep_pause, ep_route_sweep_resume, ep_route_trial_list,
    ep_route_trial_get, ep_route_trial_promote, ep_route_trial_curve, ep_route_trial_weights,
    ep_route_trial_predictions, ep_route_study_get;

/* Responds with a job's log as it grows: events.c, for a submission that streams too. */
ep_route_result ep_route_follow(ep_exchange *exchange, const char *job, int status,
                                const ep_watcher_options *options);

/* A job's curve of at most max_points. *points: the caller's (free). EP_CANCELLED: the client has
 * gone. results.c. */
ep_status ep_job_curve_read(ep_exchange *exchange, const char *job, int64_t max_points,
                            ep_curve_point **points, int64_t *count, ep_error *error);

/* Longer bodies are read on a thread of server->work: numbers of 1 MiB take 10 ms, a spec 0.1 s. */
enum { EP_PARSED_HERE_BYTES = 32 << 10 };

enum { EP_FILE_ETAG_BYTES = 96 }; /* a SHA-256, the name of a format, quotes */

/* Opens a regular file to be served. files.c. */
ep_status ep_file_open(const char *path, int *file, int64_t *bytes, ep_error *error);
/* Responds with the file, or with the part that Range names if If-Range matches. etag may be "".
 * Takes `file`. files.c. */
ep_route_result ep_file_serve(ep_exchange *exchange, int file, int64_t bytes, const char *type,
                              const char *name, const char *etag);

/* "1200" or "latest" as a step or EP_CHECKPOINT_LATEST. checkpoints.c. */
ep_status ep_checkpoint_name_read(const char *name, int64_t *step, ep_error *error);

/* The keys of a dialect that the query has (engine/data/dialect/dialect.h). EP_MALFORMED. */
ep_status ep_request_dialect(const ep_request *request, ep_dialect *out, ep_error *error);

#endif
