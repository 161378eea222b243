/* jobs.h: the life of a job: submitted, stored, queued, run by a worker, ended, deleted. Everything
 * that the HTTP routes do to jobs goes through here; the store, the queue and the supervisor sit
 * behind it.
 *
 * Thread-safe: called by every HTTP thread and by the supervisor's. */
#ifndef EP_SERVER_JOBS_JOBS_H
#define EP_SERVER_JOBS_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/names.h"
#include "api/responses/job.h"
#include "api/spec/spec.h"
#include "server/events/event_log.h"
#include "server/store/page.h"

typedef struct ep_jobs ep_jobs;

typedef struct {
  const char *data_dir;
  const char *worker_path; /* the epoch-worker program; NULL = beside epochd */
  const char *plugin_path; /* ep_backend_cuda.so; NULL = found beside the worker */
  const char *devices;     /* "auto", "cpu,cuda:0" */
  int64_t data_bytes_max; /* device memory for training rows; more are streamed; 0 = what is free */
  const char
      *allow_path; /* for the workers: see engine/data/sources/allowed_paths.h; NULL = none */
  int64_t max_data_bytes; /* of a file that a path names and that must be copied; 0 = the limit */
  int64_t max_queued;     /* 429 beyond */
  int cpu_jobs;           /* at once on the CPU, each on a core; 0 = one */
  double stall_seconds;   /* watchdog: no progress for this long and the worker is killed */
} ep_jobs_options;

/* Opens the store below data_dir (a second daemon on the same folder: EP_CONFLICT, by a lock file),
 * requeues what was running, starts a worker for each device and the supervisor's thread. */
ep_status ep_jobs_open(const ep_jobs_options *options, ep_jobs **out, ep_error *error);
/* Stops the workers (their jobs go back to the queue, on disk), waits, closes all. */
void ep_jobs_close(ep_jobs *jobs);

/* Checks the spec against its data and answers ?validate=only: *text is owned by the caller. */
ep_status ep_jobs_validate(ep_jobs *jobs, const char *json, size_t bytes, char **text,
                           ep_problem *problem);

/* Stores and queues; returns when it is on disk. id: [EP_ID_BYTES]. The same idempotency key with
 * the same body gives the first job again (*repeated true); with another body EP_CONFLICT (422 by
 * the IETF draft: use EP_INVALID with a clear detail). */
ep_status ep_jobs_submit(ep_jobs *jobs, const char *json, size_t bytes, const char *idempotency_key,
                         char id[EP_ID_BYTES], bool *repeated, ep_problem *problem);

/* The job as JSON text (api/responses/job.h), and its version for the ETag: it changes whenever the
 * text might. */
ep_status ep_jobs_get(ep_jobs *jobs, const char *id, char **text, uint64_t *version,
                      ep_error *error);

/* Changes name, tags and priority as a PATCH's body says (api/spec/labels.h); returns when it is on
 * disk. EP_CONFLICT for the priority of a job that has ended. */
ep_status ep_jobs_label(ep_jobs *jobs, const char *id, const char *json, size_t bytes,
                        ep_problem *problem);

ep_status ep_jobs_list(ep_jobs *jobs, const ep_job_page *page, char **text, ep_error *error);
/* A version for the list's ETag: it changes whenever its text might. Without reading the jobs. */
ep_status ep_jobs_list_version(ep_jobs *jobs, const ep_job_page *page, uint64_t *version,
                               ep_error *error);

/* A job as plain structs; ep_job_copy_destroy when done. */
typedef struct ep_job_copy ep_job_copy;
ep_status ep_jobs_copy(ep_jobs *jobs, const char *id, ep_job_copy **out, ep_error *error);
const ep_job_view *ep_job_copy_view(const ep_job_copy *copy); /* lives as long as the copy */
uint64_t ep_job_copy_version(const ep_job_copy *copy);        /* for the ETag */
void ep_job_copy_destroy(ep_job_copy *copy);                  /* NULL is allowed */

/* Calls `wake` once, from another thread, when the job's version differs from `version` or it has
 * ended; ?wait= is built on it. Cancel with ep_jobs_unwatch (afterwards wake will not be called).
 */
uint64_t ep_jobs_watch(ep_jobs *jobs, const char *id, uint64_t version, ep_event_log_wake *wake,
                       void *context);
void ep_jobs_unwatch(ep_jobs *jobs, uint64_t token);

ep_status ep_jobs_cancel(ep_jobs *jobs, const char *id, ep_error *error); /* safe to repeat */
ep_status ep_jobs_delete(ep_jobs *jobs, const char *id, ep_error *error); /* 409 unless it ended */

/* The job's log, retained: ep_jobs_release_log when done. Logs of live jobs are shared. */
ep_status ep_jobs_retain_log(ep_jobs *jobs, const char *id, ep_event_log **out, ep_error *error);
void ep_jobs_release_log(ep_jobs *jobs, ep_event_log *log);

/* Path of a file of a job that ended ("weights.safetensors", "predictions.json"): EP_CONFLICT while
 * it runs, EP_NOT_FOUND when it has none. */
ep_status ep_jobs_file(ep_jobs *jobs, const char *id, const char *file, char *path,
                       size_t path_bytes, ep_error *error);

/* Predictions of a finished job for new rows, by a worker. Calls `done` once from another thread:
 * output [rows, columns] is lent for that call; error non-NULL on failure. x is copied. */
typedef void ep_jobs_predicted(void *context, const double *output, int64_t rows, int64_t columns,
                               const ep_error *error);
ep_status ep_jobs_predict(ep_jobs *jobs, const char *id, const double *x, int64_t rows,
                          int64_t columns, ep_jobs_predicted *done, void *context, ep_error *error);

/* Datasets by name. Adding moves the folder `ingested` (see engine/data/datasets/dataset.h) into
 * the store, by its content, and names it; *created false when the name was there and now means the
 * new content. */
ep_status ep_jobs_dataset_put(ep_jobs *jobs, const char *name, const char *ingested, bool *created,
                              ep_error *error);
/* The same of one part (ep_dataset_ingest_part): the name then means this part and all others that
 * it had. EP_CONFLICT when it means a table or weights. */
ep_status ep_jobs_dataset_part_put(ep_jobs *jobs, const char *name, const char *ingested,
                                   bool *created, ep_error *error);
ep_status ep_jobs_dataset_get(ep_jobs *jobs, const char *name, char **text,
                              char sha256[EP_SHA256_HEX_BYTES], ep_error *error);
ep_status ep_jobs_dataset_list(ep_jobs *jobs, char **text, ep_error *error);
ep_status ep_jobs_dataset_delete(ep_jobs *jobs, const char *name, ep_error *error); /* 409 in use */

/* Answers of GET /v1/devices and /v1/queue; owned by the caller. */
ep_status ep_jobs_devices(ep_jobs *jobs, char **text, ep_error *error);
ep_status ep_jobs_queue(ep_jobs *jobs, char **text, ep_error *error);

/* /readyz: asks every device's worker to do a little real work; calls `done` once with what failed,
 * or NULL. A worker that does not answer in timeout_ms counts as failed. */
typedef void ep_jobs_ready(void *context, const ep_error *error);
void ep_jobs_probe(ep_jobs *jobs, int timeout_ms, ep_jobs_ready *done, void *context);

#endif
