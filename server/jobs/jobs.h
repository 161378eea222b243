/* jobs.h: the life of a job: submitted, stored, queued, run by a worker, ended, deleted. All that
 * the HTTP routes do to jobs is here; the rooms of this folder implement it, on the store, the
 * queue and the supervisor:
 *
 *   lifecycle/   from submission to end and deletion, and after a restart of the daemon
 *   placement/   the queue, and which device a job goes to
 *   live/        the jobs that have not ended, in memory; struct ep_jobs
 *   files/       a job's folder and the lines of its log
 *   results/     what a job leaves: its files, its log, predictions, models
 *   views/       jobs, lists, devices, queue and metrics as they are shown
 *
 * Thread-safe: called by every HTTP thread and by the supervisor's. */
#ifndef EP_SERVER_JOBS_JOBS_H
#define EP_SERVER_JOBS_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cancellation.h"
#include "api/names.h"
#include "api/responses/job.h"
#include "api/responses/model.h"
#include "api/responses/predict.h"
#include "api/spec/spec.h"
#include "api/wire/plot.h"
#include "server/datasets/datasets.h"
#include "server/events/event_log.h"
#include "server/slurm/partitions.h"
#include "server/store/page.h"

struct json_t; /* jansson's */
struct ep_row_lines;
struct ep_text_body;

typedef struct ep_jobs ep_jobs;

typedef struct {
  const char *data_dir;
  const char *worker_path;               /* the epoch-worker program; NULL = beside epochd */
  const char *plugin_path;               /* ep_backend_cuda.so; NULL = found beside the worker */
  const char *devices;                   /* "auto", "cpu,cuda:0" */
  ep_slurm_partitions *slurm;            /* of the devices slurm:PARTITION; NULL = none; lent */
  const char *slurm_account, *slurm_qos; /* of workers, unless a job names others; NULL = none */
  int64_t data_bytes_max; /* device memory for training rows; more are streamed; 0 = what is free */
  const char *allow_path; /* of the workers: engine/data/sources/allowed_paths.h; NULL = none */
  int64_t max_data_bytes; /* of a file that a path names and that must be copied; 0 = the limit */
  int64_t memory_bytes_max; /* that jobs on the CPU may take together; 0 = what there is */
  int64_t job_bytes_max;    /* that one may take, which then runs alone; 0 = what there is */
  const char *ingest_path;  /* the program that reads files of others; NULL = this one */
  int64_t ingest_memory_bytes, ingest_seconds; /* server/ingest/ingest.h; 0 = the limits */
  int64_t max_queued;                          /* EP_BUSY beyond; 0 = 10,000 */
  int64_t quota_jobs;           /* of an owner, that have not ended: EP_BUSY beyond; 0 = no limit */
  int64_t quota_cores;          /* of an owner, at once: jobs wait beyond; 0 = no limit */
  int64_t quota_device_seconds; /* of an owner, in a day of UTC: EP_BUSY beyond; 0 = no limit */
  bool private_default;         /* of jobs whose spec does not say who sees them */
  int64_t max_log_bytes; /* of a job's log; each time it has grown by so much, every second report
                            is left out from there on; 0 = EP_LIMIT_LOG_BYTES */
  int64_t keep_seconds;  /* jobs that ended longer ago are deleted; 0 = none */
  int64_t keep_bytes;    /* the oldest are deleted while ended jobs take more; 0 = none */
  int cpu_jobs;          /* at once on the CPU, each on a core; 0 = one */
  int64_t checkpoint_after_seconds; /* of a training, before its first checkpoint */
  const char *webhook_secret_file;  /* NULL = jobs may have no webhooks */
  const char *webhook_allow; /* addresses that are not public, and may be called; NULL = none */
  double stop_seconds;       /* that running jobs have for a checkpoint when the daemon ends */
  int crashes_max; /* deaths of epochd in a row after which a job that ran is paused; 0: never */
  bool new_store;  /* an empty store may begin in a data_dir that has folders of jobs */
  double stall_seconds; /* a worker without progress for so long is killed; 0 = 60 */
  /* Workers that Slurm or Kubernetes starts; all of it counts where `devices` has one of theirs. */
  const char *shared_dir;        /* that nodes see under this name */
  const char *slurm_listen;      /* ADDRESS:PORT that they connect to */
  const char *slurm_worker_path; /* epoch-worker as they see it; NULL = worker_path */
  const char *slurm_options;     /* further words for sbatch; NULL or "" = none */
  /* A Job's manifest, and where its Pods connect to; "" = slurm_listen. NULL or "" = none. */
  const char *kubernetes_template, *kubernetes_address;
  const char *gateway_path; /* the program of the gateway, epochd; NULL = this one */
  int64_t slurm_idle_seconds, slurm_workers_max, slurm_look_seconds, slurm_reconnect_seconds;
} ep_jobs_options;

/* Opens the store in data_dir, requeues what was running, starts a worker for each device and the
 * supervisor's thread. EP_CONFLICT: another daemon has the data_dir. */
ep_status ep_jobs_open(const ep_jobs_options *options, ep_jobs **out, ep_error *error);
/* Begins the end: running jobs write a checkpoint, and requests to workers and those that read
 * files fail, also later ones. Returns at once. */
void ep_jobs_stop(ep_jobs *jobs);
/* Stops the workers, whose jobs go back to the queue on disk, and frees. NULL is allowed. */
void ep_jobs_close(ep_jobs *jobs);

/* Lent; lives as long as the jobs. */
ep_datasets *ep_jobs_datasets(ep_jobs *jobs);

/* Checks the request's job against its data, and fills in what it leaves open. by: whose it is.
 * warn_replaced: as of ep_submission. *text: the response to ?validate=only, the caller's. */
ep_status ep_jobs_validate(ep_jobs *jobs, const ep_viewer *by, struct json_t *request,
                           bool warn_replaced, char **text, ep_problem *problem);

enum { EP_OWN_KEY = 1 }; /* begins a key that no client can send */

/* What is to be stored and queued. */
typedef struct {
  const char *json; /* [bytes] */
  size_t bytes;
  struct json_t *request; /* its tree, lent: what it leaves open is filled in; NULL: the text is
                             parsed */
  const char *idempotency_key; /* NULL = none */
  const char *owner;           /* NULL or "" = nobody */
  bool limited;                /* has no scope "admin": sees nothing private of others, and has a
                                  priority of at most 0 */
  bool sweep;                  /* it is a sweep, not a job */
  bool find_lr;                /* it is to find a learning rate, as the spec's find says */
  bool warn_replaced;          /* warns where the data are others than its sha256 names: else they
                                  are refused, at /data/sha256 */
  bool same_data;              /* of a dataset, the content that the spec names by its sha256 */
} ep_submission;

/* Stores and queues; returns when the job is on disk. With the key and body of an earlier
 * submission, `id` is that job and *repeated is true; with its key and another body EP_INVALID. */
ep_status ep_jobs_submit(ep_jobs *jobs, const ep_submission *submission, char id[EP_ID_BYTES],
                         bool *repeated, ep_problem *problem);

/* All three are on disk when they return, and safe to repeat. EP_CONFLICT: the job has ended, and
 * cannot be paused or resumed. */
ep_status ep_jobs_cancel(ep_jobs *jobs, const char *id, ep_error *error);
ep_status ep_jobs_pause(ep_jobs *jobs, const char *id, ep_error *error);
ep_status ep_jobs_resume(ep_jobs *jobs, const char *id, ep_error *error);
/* by: who deletes it, its owner or an admin; NULL = an admin. A job from which other owners alone
 * have published models goes from its owner to that of the first of them, and is private then; an
 * admin takes the models back first. EP_CONFLICT: the job has not ended, or another job or a model
 * needs its weights. */
ep_status ep_jobs_delete(ep_jobs *jobs, const char *id, const ep_viewer *by, ep_error *error);

/* Changes labels as the body of a PATCH says (api/spec/labels.h); returns when they are on
 * disk. EP_CONFLICT: the priority of a job that has ended. EP_FORBIDDEN: a priority above 0, of one
 * who is `limited` (ep_submission). */
ep_status ep_jobs_label(ep_jobs *jobs, const char *id, const char *json, size_t bytes, bool limited,
                        ep_problem *problem);

/* Whose a job, a dataset or a model is, and who sees it. EP_NOT_FOUND. */
ep_status ep_jobs_owner(ep_jobs *jobs, ep_owned kind, const char *name, ep_ownership *out,
                        ep_error *error);
/* For an error while the files of the job or sweep `id` were read: EP_NOT_FOUND in its place where
 * the job has been deleted meanwhile. */
void ep_jobs_deleted_explain(ep_jobs *jobs, const char *id, ep_error *error);
/* EP_NOT_FOUND: it is hidden from the viewer, or not there, which reads the same. */
ep_status ep_jobs_see(ep_jobs *jobs, const ep_viewer *viewer, ep_owned kind, const char *name,
                      ep_error *error);

/* What a word means. */
typedef struct {
  char id[EP_ID_BYTES];
  ep_model model; /* the published model that it names; its name "" = it names none */
} ep_job_found;

/* The job or the sweep, by what ids of it begin with, that a word of a user means: an id, which may
 * be one of no job; the beginning of one, or the end; "last", the newest; a name: the newest that
 * the viewer sees; or "job:NAME", "sweep:NAME", and the job of "model:NAME". models: a name alone
 * is first that of a model. EP_NOT_FOUND; EP_CONFLICT: several ids begin or end so. */
ep_status ep_jobs_find(ep_jobs *jobs, const ep_viewer *viewer, const char *prefix, bool models,
                       const char *word, ep_job_found *out, ep_error *error);

/* A job as plain structs; ep_job_copy_destroy when done. */
typedef struct ep_job_copy ep_job_copy;
ep_status ep_jobs_copy(ep_jobs *jobs, const char *id, ep_job_copy **out, ep_error *error);
const ep_job_view *ep_job_copy_view(const ep_job_copy *copy); /* lives as long as the copy */
/* For the ETag: differs whenever the view may. */
uint64_t ep_job_copy_version(const ep_job_copy *copy);
void ep_job_copy_destroy(ep_job_copy *copy); /* NULL is allowed */

/* The job as JSON text (api/responses/job.h), the caller's, and its version. */
ep_status ep_jobs_get(ep_jobs *jobs, const char *id, char **text, uint64_t *version,
                      ep_error *error);

ep_status ep_jobs_list(ep_jobs *jobs, const ep_job_page *page, char **text, ep_error *error);
/* For the list's ETag: differs whenever its text may. Does not read the jobs. */
ep_status ep_jobs_list_version(ep_jobs *jobs, const ep_job_page *page, uint64_t *version,
                               ep_error *error);

/* Calls `wake` once, from another thread, when the job's version differs from `version` or the job
 * has ended. Returns a token; 0: memory is short. */
uint64_t ep_jobs_watch(ep_jobs *jobs, const char *id, uint64_t version, ep_event_log_wake *wake,
                       void *context);
/* Afterwards wake is not called. */
void ep_jobs_unwatch(ep_jobs *jobs, uint64_t token);

/* The job's log, shared by all who hold it; ep_jobs_release_log when done. */
ep_status ep_jobs_retain_log(ep_jobs *jobs, const char *id, ep_event_log **out, ep_error *error);
void ep_jobs_release_log(ep_jobs *jobs, ep_event_log *log);
/* How many logs are open: each takes a file descriptor. */
int64_t ep_jobs_open_logs(ep_jobs *jobs);

/* The path of a file (api/names.h) of a job that ended. EP_CONFLICT: it has not ended;
 * EP_NOT_FOUND: it has no such file. */
ep_status ep_jobs_file(ep_jobs *jobs, const char *id, const char *file, char *path,
                       size_t path_bytes, ep_error *error);

/* A file was added to the folder of a job that ended: --keep-bytes counts it from here on. */
void ep_jobs_note_file(ep_jobs *jobs, const char *id);

/* What is to be predicted. */
typedef struct {
  double *x; /* [rows, columns], owned (free) */
  int64_t rows, columns;
  int64_t windows; /* predictions of a row: 1, or, of a series, those of all examples in it */
  bool forecast;   /* of them some are made from others */
  struct ep_series_rows *series; /* owned: which of them are meant, its x given on; NULL: all */
  char **name;                   /* [rows], owned, and each; NULL: they have no names */
  ep_threshold threshold;        /* what the body says of it beside the rows */
  ep_warnings warnings;          /* of what was read otherwise than may be thought */
  char target[EP_LIMIT_NAME_BYTES + 1];  /* the column that is predicted; "": not known */
  char time[EP_LIMIT_NAME_BYTES + 1];    /* the column that orders a series, and */
  char group[EP_LIMIT_NAME_BYTES + 1];   /* that tells several apart; "" = none */
  char unit[EP_UNIT_BYTES];              /* the sign of its numbers, or "" */
  char unit_form[EP_UNIT_FORM_BYTES];    /* and how they have it: "0 €", or "" */
  char column[EP_LIMIT_NAME_BYTES + 96]; /* what a column of predictions is called */
  struct ep_row_lines *copied; /* owned: the rows as they were written, of a text whose body asks
                                  for them; NULL: none */
} ep_prediction_rows;

void ep_prediction_rows_deinit(ep_prediction_rows *rows); /* a zeroed one is allowed */

/* Predictions as text: the rows as they were written, with new cells behind them, or of rows that
 * were not copied a CSV of the new cells alone. A class is a word, a number has its unit and no
 * exponent; a window's prediction stands behind its last row. probabilities: of each class, too.
 * output: [count, columns]. The caller's (free); NULL where memory is short. */
char *ep_prediction_rows_format(const ep_prediction_rows *rows, const ep_output_meaning *meaning,
                                bool probabilities, const double *output, int64_t count,
                                int64_t columns);

/* The outputs that are meant, and how many: of [rows * windows, columns] of the worker. *picked: to
 * be freed; NULL: they are `output` itself. EP_NO_MEMORY. */
ep_status ep_prediction_rows_pick(const ep_prediction_rows *rows, const double *output,
                                  int64_t columns, double **picked, int64_t *count,
                                  ep_error *error);

/* Reads {"rows": [{"age": 31, "city": "Oslo"}, …]}, cells by the columns of the job's table, or a
 * text of rows as ep_jobs_text_read has it, for ep_jobs_predict; "steps" and "future" of a series
 * may be beside them, and "threshold". query: the body, and what the query says. *out: its x is the
 * caller's. Faults have pointers. */
ep_status ep_jobs_rows_read(ep_jobs *jobs, const char *id, int64_t checkpoint,
                            const struct ep_text_body *query, ep_prediction_rows *out,
                            ep_problem *problem);

/* The same of rows as text: a JSON object a line (`lines`), or delimited text with a header, as
 * text_rows.h of engine/data/inputs has them. Takes body->copied, also on failure. */
ep_status ep_jobs_text_read(ep_jobs *jobs, const char *id, int64_t checkpoint,
                            const struct ep_text_body *body, ep_prediction_rows *out,
                            ep_problem *problem);

/* The same of such objects as a tree: jansson's list, of one at least. EP_INVALID of a series. */
ep_status ep_jobs_rows_take(ep_jobs *jobs, const char *id, int64_t checkpoint,
                            const struct json_t *objects, ep_prediction_rows *out,
                            ep_problem *problem);

/* Reads a PNG or JPEG, or a ZIP or TAR of them, for a job that trained on pictures: resized, and in
 * its channels. bytes: [size]. *out is the caller's. EP_CONFLICT: it trained on something else;
 * EP_INVALID, EP_TOO_LARGE: as picture_rows.h of engine/data/inputs has them. */
ep_status ep_jobs_pictures_read(ep_jobs *jobs, const char *id, int64_t checkpoint,
                                const void *bytes, size_t size, ep_prediction_rows *out,
                                ep_error *error);

/* What the outputs of the job's weights, or of a checkpoint (as below), mean; the caller's
 * (ep_output_meaning_deinit), on success alone. */
ep_status ep_jobs_meaning_find(ep_jobs *jobs, const char *id, int64_t checkpoint,
                               ep_output_meaning *out, ep_error *error);

/* What a row to predict has, by the job's weights, or a checkpoint's (as below), as JSON text, the
 * caller's. */
ep_status ep_jobs_inputs(ep_jobs *jobs, const ep_viewer *viewer, const char *id, int64_t checkpoint,
                         char **text, ep_error *error);

/* Has a worker write the job's weights as a C header at `file`, below the data folder; quantize: as
 * int8. Returns when it is there, or has failed: not for an HTTP thread. EP_CANCELLED: `stop`
 * asked for that; the worker may still write. EP_TOO_LARGE: the header would be over
 * EP_LIMIT_C_SOURCE_BYTES. */
ep_status ep_jobs_export(ep_jobs *jobs, const char *id, bool quantize, const char *file,
                         const ep_cancellation *stop, ep_error *error);

/* Has a worker write the numbers of a plot of the job as JSON at `file`, below the data folder, or,
 * where the request names none, the list of those that fit; with the weights of a checkpoint as
 * ep_jobs_predict has them, or of the time-lapse's moment that the request names. Returns as
 * ep_jobs_export does. EP_NOT_FOUND: the job has no weights, or the plot does not fit it. */
ep_status ep_jobs_plot(ep_jobs *jobs, const char *id, int64_t checkpoint,
                       const ep_plot_request *request, const char *file,
                       const ep_cancellation *stop, ep_error *error);

/* Predictions of a job that ended, or of a checkpoint (its step, EP_CHECKPOINT_LATEST of
 * checkpoints.h; 0 = the job's last weights), for new rows, copied. Unless this fails, `done` is
 * called once, from another thread: output: [rows times windows, columns] is lent for that call;
 * error: NULL = none. */
typedef void ep_jobs_predicted(void *context, const double *output, int64_t rows, int64_t columns,
                               const ep_error *error);
ep_status ep_jobs_predict(ep_jobs *jobs, const char *id, int64_t checkpoint,
                          const ep_prediction_rows *input, ep_jobs_predicted *done, void *context,
                          ep_error *error);

/* Texts of GET /v1/devices and /v1/queue, the caller's. What is hidden from the viewer is counted
 * and has its position, and no more. */
ep_status ep_jobs_devices(ep_jobs *jobs, const ep_viewer *viewer, char **text, ep_error *error);
ep_status ep_jobs_queue(ep_jobs *jobs, const ep_viewer *viewer, char **text, ep_error *error);

/* /readyz: has a worker of every device do a little real work, and the data folder take a file.
 * Calls `done` once with the first failure, or NULL, and with why there is no room for new work, or
 * NULL. A worker that does not reply in timeout_ms has failed. */
typedef void ep_jobs_ready(void *context, const ep_error *error, const ep_error *full);
void ep_jobs_probe(ep_jobs *jobs, int timeout_ms, ep_jobs_ready *done, void *context);

#endif
