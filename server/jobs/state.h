/* state.h: the insides of the jobs, for the jobs*.c files.
 *
 * A job is *live* from its submission until it ended: a small struct in memory, found by id. Jobs
 * that ended are rows of the store alone. `mutex` guards the live jobs and the queue; it is never
 * held while the disk, the store or the supervisor is called. A live job that is running, or
 * ending, belongs to one thread, which alone changes it (the supervisor's, or the one that
 * cancelled it while it was queued); others read it under the mutex.
 *
 * A job is queued while its row is still on its way to the disk, so that a worker may begin with it
 * meanwhile; whoever would show, change or end it waits until the row is there
 * (ep_live_find_stored).
 *
 * What is true after a crash: the row, but for a first start, of which the log has the last word
 * (see jobs_recover.c). A job's end is first written to its row, with the result, then appended to
 * its events; where the second is missing it is made up for from the first (see jobs_end.c), so
 * that there is always exactly one end, which agrees with the row. */
#ifndef EP_SERVER_JOBS_STATE_H
#define EP_SERVER_JOBS_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/data/datasets/dataset.h"
#include "engine/plan/plan.h"
#include "server/events/open_logs.h"
#include "server/events/subscribers.h"
#include "server/jobs/jobs.h"
#include "server/jobs/pins.h"
#include "server/jobs/queue.h"
#include "server/store/store.h"
#include "server/workers/calibrations.h"
#include "server/workers/supervisor.h"

enum { EP_JOBS_BUCKETS = 4096, EP_JOBS_DEATHS_MAX = 3 };

/* What a calibration said of a job: it is held against what the job took on that device. */
typedef struct {
  char device[EP_DEVICE_ID_BYTES], executor[EP_EXECUTOR_BYTES];
  double epoch_seconds; /* 0 = nothing was said */
} ep_expectation;

typedef struct ep_live_job {
  struct ep_live_job *next;        /* in its bucket */
  struct ep_live_job *next_ending; /* in ep_jobs.ending */
  ep_job_row row; /* name and tags NULL, priority not kept; spec owned from its submission until a
                     worker has it or the row is stored; result owned once it is ending */
  char *name;     /* owned; this, labels_version and entry.priority may change at any time: PATCH */
  int64_t labels_version; /* of the labels that these are; 0 = as they were when it came to live */
  uint64_t labelled;      /* version of the last such change; 0 = none */
  ep_queue_entry entry;
  bool storing;            /* its row is not on disk yet: it may run, but nothing of it is shown */
  bool dropped;            /* its row could not be stored: what runs of it ends for nothing */
  bool begun;              /* this attempt's start is in the row; else nothing of it was shown */
  bool cancelled;          /* asked for, while running */
  bool stranded;           /* queued, and no device that is left may run it */
  bool ending;             /* its end is known and being written */
  bool row_ended;          /* the row says so: live for its thread alone, ended for all others */
  ep_state state_before;   /* while ending: what is still shown */
  uint64_t version_before; /* and its version */
  int64_t epoch;
  double eta_seconds;
  ep_event_log *log;            /* held while running or ending */
  char cause[EP_MESSAGE_BYTES]; /* why it starts again, "" = it does not */
  int deaths;                   /* of its workers, in a row without a new highest epoch */
  int deaths_unbegun;           /* of workers that had not begun it, in a row */
  int64_t epoch_at_death;       /* the highest before the last one */
  uint64_t program;             /* ep_plan_signature; 0 = of a job from before this start */
  ep_expectation said_cpu, said_cuda;
  char init_pin[EP_PIN_BYTES]; /* what its first weights come from, pinned; "" = nothing */
} ep_live_job;

struct ep_jobs {
  char *data_dir;    /* owned, absolute */
  char *worker_path; /* owned */
  int workers_most;  /* there are never more at once, of all devices */
  int lock_fd;
  int64_t max_queued, max_data_bytes;
  ep_store *store;
  ep_supervisor *supervisor;
  ep_calibrations calibrations; /* once the supervisor is there */
  ep_open_logs logs;
  ep_pins pins;           /* contents, by SHA-256, and ended jobs, by id, that live jobs need */
  ep_subscribers watches; /* key: see ep_jobs_key */
  int64_t retry_us;       /* when what could not be stored is tried again; supervisor's thread */
  atomic_ullong clock;    /* versions: microseconds at the start, then counted up */
  bool refused;           /* something could not be stored: try again; supervisor's thread */
  ep_device_list devices; /* as they were a moment ago; supervisor's thread */
  int lost_seen; /* lost devices when stranded jobs were last looked for, -1 = never; likewise */

  pthread_mutex_t naming; /* held while a dataset's name is moved from one content to another, with
                             nothing else of this struct locked */

  pthread_cond_t stored; /* a job is no longer `storing` */
  pthread_mutex_t mutex; /* guards what follows */
  ep_live_job *buckets[EP_JOBS_BUCKETS];
  ep_queue queue;
  int64_t running, submitting;
  uint64_t queue_version;
  uint64_t ends; /* counts the jobs that ended: whoever reads rows and memory sees it change */
  ep_live_job *ending; /* whose end could not be written yet */
};

/* jobs_live.c: the live jobs. Those with "locked" in the comment want the mutex held. */
ep_live_job *ep_live_find(ep_jobs *jobs, const char *id); /* locked; NULL = not live */
/* The same of a job whose row is on disk or could not be: waits for that. Locked. */
ep_live_job *ep_live_find_stored(ep_jobs *jobs, const char *id);
void ep_live_add(ep_jobs *jobs, ep_live_job *job);    /* locked */
void ep_live_remove(ep_jobs *jobs, ep_live_job *job); /* locked; does not free */
void ep_live_destroy(ep_live_job *job);               /* NULL is allowed */
ep_live_job *ep_live_create(const ep_job_row *row);   /* copies; NULL: memory is short */
bool ep_live_enqueue(ep_jobs *jobs, ep_live_job *job, bool again); /* locked */
/* Gives the job a new version; the queue too where it changed. Locked. */
void ep_live_touch(ep_jobs *jobs, ep_live_job *job);
void ep_queue_touch(ep_jobs *jobs);
uint64_t ep_live_version(const ep_jobs *jobs, const ep_live_job *job); /* locked */
/* Wakes those who watch the job; without the mutex. */
void ep_live_announce(ep_jobs *jobs, const char *id);
void ep_queue_announce(ep_jobs *jobs);
/* A watch's key: a hash of the id, whose lowest bit says that the job was queued. */
uint64_t ep_jobs_key(const char *id);
uint64_t ep_jobs_tick(ep_jobs *jobs); /* a new version */

/* jobs_view.c: what memory knows of a live job and its row does not. */
typedef struct {
  bool live, stranded;
  ep_state state;
  uint64_t version;
  int64_t position, epoch, started_us;
  double eta_seconds;
  int attempt;
  char device[EP_DEVICE_ID_BYTES], executor[EP_EXECUTOR_BYTES];
} ep_live_view;
void ep_live_read(ep_jobs *jobs, const char *id, ep_live_view *view);

/* A row with what memory knows of it. The view points into the row, into `live` and into the
 * struct; result is the caller's to deinit. */
typedef struct {
  ep_job_view view;
  ep_job_result result;
  char warning[EP_MESSAGE_BYTES];
} ep_job_shown;
void ep_job_show(const ep_job_row *row, const ep_live_view *live, ep_job_shown *out);
/* Its text; the caller's (free). NULL: memory is short. */
char *ep_job_row_format(const ep_job_row *row, const ep_live_view *live, bool summary);

/* jobs_end.c */
/* Begins the end of a job that the caller owns. result_text: owned by the job afterwards, NULL for
 * one that never ran. When the disk refuses, the end is tried again every second. */
void ep_job_end(ep_jobs *jobs, ep_live_job *job, ep_state state, char *result_text);
/* Tries again what could not be written; true when something is left. Supervisor's thread. */
bool ep_jobs_end_retry(ep_jobs *jobs);
/* Appends the end to the log of a job whose row has ended, if it is not there. */
ep_status ep_job_end_append(const ep_job_row *row, ep_event_log *log, ep_error *error);
/* A result that says only why: text owned by the caller; NULL when memory is short. */
char *ep_job_failure(const ep_job_row *row, int64_t epochs_done, ep_status status,
                     const char *message);

/* jobs_run.c: the supervisor's events. */
void ep_jobs_events(ep_jobs *jobs, ep_supervisor_events *out);
/* Takes back an attempt of which nobody was shown more than that it was tried. A device that was
 * chosen at an earlier start stays. */
void ep_job_start_undo(ep_jobs *jobs, ep_live_job *job);
/* Holds the line of a job's first start, made from the row that says so, for what comes next. */
ep_status ep_job_start_hold(const ep_job_row *row, ep_event_log *log, ep_error *error);
/* True when the job may run on that device now. */
bool ep_job_fits(const ep_live_job *job, const char *device, const ep_device_list *devices);

/* jobs_stranded.c: when devices were lost or came back, marks the queued jobs that none may run,
 * and warns of them in their events. Supervisor's thread. */
void ep_jobs_stranded_check(ep_jobs *jobs, const ep_device_list *devices);
void ep_job_stranded_text(const char *requested_device, char *text, size_t bytes);

/* jobs_estimate.c: of the devices that are there and can do it, in the supervisor's order. */
ep_status ep_jobs_estimate(ep_jobs *jobs, const ep_plan *plan, const ep_job_spec *spec,
                           ep_estimate estimates[EP_LIMIT_DEVICES], int *count, ep_error *error);
/* Of the fastest device of a kind ("cpu", "cuda"); NULL where there is none. */
const ep_estimate *ep_estimates_least(const ep_estimate *estimates, int count, const char *kind);
/* What the calibration alone says of an epoch; nothing where there is none. NULL is allowed. */
ep_expectation ep_estimate_said(const ep_estimate *estimate, int64_t epochs);
/* The job began on the device, which has its program now: the next one like it starts faster. And
 * it ended: how long an epoch took is known for the next one. */
void ep_job_note_start(ep_jobs *jobs, const ep_live_job *job, const char *device);
void ep_job_note_end(ep_jobs *jobs, const ep_live_job *job, const ep_job_result *result);

/* jobs_recover.c: makes the folder agree with the store, and live jobs of the rows. */
ep_status ep_jobs_recover(ep_jobs *jobs, ep_error *error);
/* Writes what a queued job's folder holds: spec.json and the `queued` event. `fresh`: of a new job;
 * otherwise what is missing. */
ep_status ep_job_folder_write(ep_jobs *jobs, const ep_job_row *row, bool fresh, ep_error *error);
/* The job's first event. Its time is the row's, so that the line is the same whenever it is
 * written. */
ep_event ep_job_queued_event(const ep_job_row *row);
/* Takes away what a training had put in place that did not come to its end: after a crash of the
 * machine it may be torn, and the job may yet end without such a file. */
ep_status ep_job_results_remove(ep_jobs *jobs, const char *id, ep_error *error);

/* jobs_datasets.c: removes the content if neither a name nor a live job needs it. */
void ep_jobs_content_collect(ep_jobs *jobs, const char *sha256);
/* Pins what a dataset's name means now, and writes it: [EP_PIN_BYTES]. A name that means nothing
 * goes into *problem, at `pointer`. */
ep_status ep_jobs_content_pin(ep_jobs *jobs, const char *name, const char *pointer,
                              char sha256[EP_PIN_BYTES], ep_problem *problem);

/* Moves an ingested folder to datasets/<sha256>, or removes it when that content is there. The
 * content is pinned by the caller. */
ep_status ep_jobs_content_place(ep_jobs *jobs, const char *ingested, const ep_dataset_meta *meta,
                                ep_error *error);

/* jobs_paths.c: describes the files that {"path": …} names. What can be used where it lies gets
 * sha256 "" and nothing is pinned; other files are read into a content without a name, which is
 * then pinned. *meta is the caller's to deinit. */
ep_status ep_jobs_path_resolve(ep_jobs *jobs, ep_data_spec *data, ep_dataset_meta *meta,
                               ep_problem *problem);

/* jobs_init.c: finds and pins what model.init names, holds it against the plan, and fills in
 * spec->init_sha256. Faults go into *problem. pin: what is pinned, also on failure; "" = nothing.
 */
ep_status ep_jobs_init_resolve(ep_jobs *jobs, ep_job_spec *spec, const ep_plan *plan,
                               char pin[EP_PIN_BYTES], ep_problem *problem);
/* The pin of a spec that was resolved before. */
void ep_init_pin_name(const ep_job_spec *spec, char pin[EP_PIN_BYTES]);
void ep_init_unpin(ep_jobs *jobs, const char *pin); /* "" is allowed */

#endif
