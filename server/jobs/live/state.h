/* state.h: struct ep_jobs and its live jobs, for the rooms of server/jobs.
 *
 * A job is *live* from its submission until it ended: a struct in memory, found by its id. A job
 * that ended is a row of the store alone. A live job that is running, or ending, belongs to one
 * thread, which alone changes it: the supervisor's, or the one that cancelled it while it was
 * queued. Others read it under the mutex.
 *
 * A job is queued while its row is still being written to the disk, so that a worker may begin it
 * in the meantime. Whoever shows, changes or ends such a job waits for the row:
 * ep_live_find_stored.
 *
 * After a crash the row is what is true, but for a first start: there it is the log's last line
 * (lifecycle/recover.c). A job's end is written to its row first, with the result, then appended to
 * its log. Where the line is missing it is made from the row (files/events.h), so there is always
 * exactly one end, which agrees with the row. */
#ifndef EP_SERVER_JOBS_LIVE_STATE_H
#define EP_SERVER_JOBS_LIVE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "api/sweep/sweep_spec.h"
#include "server/datasets/datasets.h"
#include "server/events/log_flusher.h"
#include "server/events/open_logs.h"
#include "server/events/subscribers.h"
#include "server/jobs/jobs.h"
#include "server/jobs/placement/allocation.h"
#include "server/jobs/placement/estimate.h"
#include "server/jobs/placement/gang.h"
#include "server/jobs/placement/queue.h"
#include "server/jobs/placement/shares.h"
#include "server/process/disk_probe.h"
#include "server/slurm/control/control.h"
#include "server/store/store.h"
#include "server/webhooks/webhooks.h"
#include "server/workers/calibrations.h"
#include "server/workers/supervisor.h"

enum { EP_JOBS_BUCKETS = 4096, EP_JOBS_DEATHS_MAX = 3 };

/* best.c: of a job that has a webhook for it. */
typedef struct {
  bool wanted;      /* it has: as its spec says (live.h) */
  bool looked;      /* for a value that was stored, after a restart of epochd */
  ep_metric metric; /* the figure, of the validation split */
  bool owed;        /* a new best has no message yet */
  double value;     /* NaN: none yet */
  int64_t epoch;
  int64_t sent_us; /* of the last message, on the steady clock; 0 = none */
} ep_live_best;

typedef struct ep_live_job {
  struct ep_live_job *next;        /* in its bucket */
  struct ep_live_job *next_ending; /* in ep_jobs.ending */
  ep_job_row
      row;      /* name and tags are NULL, priority is not kept up; spec: owned from the submission
                   until a worker has it or the row is stored; result: owned once it is ending */
  char *name;   /* owned; this and the next two and entry.priority may change at any time: PATCH */
  bool private; /* visible only to its owner and admins; row.private is not kept up */
  int64_t labels_version; /* 0 = as they were when the job came to live */
  uint64_t labelled;      /* version of the job at the last such change; 0 = none */
  ep_queue_entry entry;
  bool storing;            /* its row is not on disk yet: it may run, but is not shown */
  bool dropped;            /* its row could not be stored: an attempt that runs ends for nothing */
  int64_t device_since_us; /* its time with a worker is counted up to there; 0 = it has none */
  bool begun;              /* this attempt's start is in the row; else none of it was shown */
  bool cancelled;          /* while running: it is to end */
  bool pause;              /* it is paused, or is to be */
  bool settling;           /* paused, which is being stored and logged: its thread's alone */
  bool resume_owed;        /* paused, and told to go on, which could not be stored: tried again */
  bool resumed;            /* it was paused before this attempt */
  int64_t epoch_paused;    /* then, its epoch */
  bool stranded;           /* queued, and no device that is there may run it */
  bool ending;             /* its end is known and being written */
  bool row_ended;        /* the row has the end: live for its thread alone, ended for all others */
  ep_state state_before; /* while ending: what is still shown */
  uint64_t version_before; /* and its version */
  int64_t epoch;
  double eta_seconds;
  int64_t eta_us;    /* when that was told, or the job was given to a worker; on the steady clock */
  ep_event_log *log; /* retained while running or ending */
  char cause[EP_MESSAGE_BYTES]; /* why it starts again; "" = it does not */
  int deaths;                   /* of its workers, in a row without a new highest epoch */
  int crashes;                  /* of epochd, for which the job is paused; 0 = none */
  int deaths_unbegun;           /* of workers that had not begun it, in a row */
  int64_t epoch_at_death;       /* the highest before the last one */
  int64_t checkpoint_step;      /* of its last checkpoint that was reported */
  int64_t step_at_death;        /* the same before the last death */
  bool checkpoint_failed;       /* its last one could not be written */
  bool waits_told; /* this attempt: a warning says that its results wait for the disk */
  ep_expectations expected;
  ep_live_best best;
  ep_slurm_request allocation;     /* on a partition of Slurm; partition "" = by its defaults */
  ep_sweep_spec *sweep;            /* of a sweep while a worker has it; owned */
  char spills[EP_DEVICE_ID_BYTES]; /* `auto`: the partition that starts it first; "" = none */
  bool exclusive;                  /* no other job runs beside it */
  bool shareable;                  /* a sweep that several workers may train */
  int workers;                     /* how many at most; 0 = as many as are idle */
  int helpers;                     /* of them, beside its own worker, while it runs */
  int helpers_wanted;              /* that its worker has work for, and it may have */
  int64_t memory_bytes;            /* that its worker may allocate for it; 0 = no limit */
  ep_gang gang;                    /* GPUs of a job of several ranks */
  ep_slurm_spec *slurm;            /* of its spec; owned; NULL = none */
  int64_t sweep_epoch;             /* its results when this attempt began */
  int64_t sweep_us;                /* and when that was, on the steady clock */
  char init_pin[EP_PIN_BYTES];     /* what its first weights come from, pinned; "" = nothing */
} ep_live_job;

/* Device-seconds of an owner that are not stored yet (live/usage.h). */
typedef struct {
  char owner[EP_OWNER_BYTES];
  double seconds;
} ep_used;

/* lifecycle/retention.c, which deletes ended jobs. */
typedef struct {
  int64_t keep_us, keep_bytes; /* 0 = no matter */
  bool summed;                 /* keep_bytes was held once; the thread's */
  bool started;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards stop */
  pthread_cond_t stopped;
  bool stop;
} ep_retention;

/* What a prediction by an ended job's weights needs of the job's row. */
typedef struct {
  char job[EP_ID_BYTES]; /* "": nobody's */
  char device[EP_DEVICE_ID_BYTES], sha256[EP_SHA256_HEX_BYTES];
  struct stat weights; /* the file at that time: another is another inode or time */
} ep_predicting;

struct ep_jobs {
  char *data_dir;            /* owned, absolute */
  char *worker_path;         /* owned */
  ep_allocator allocator;    /* of workers that Slurm starts */
  ep_gateway_setup *gateway; /* owned; NULL = there is no device of Slurm */
  char *gateway_program;     /* owned */
  int gateway_listener;      /* -1 = none */
  int workers_most;          /* there are never more at once, of all devices */
  int crashes_max;           /* ep_jobs_options */
  int lock_fd;
  int64_t memory_bytes_max; /* of jobs on the CPU; 0 = what there is */
  int64_t job_bytes_max;    /* of one of them that runs alone; 0 = what there is */
  int64_t max_queued;
  int64_t quota_jobs, quota_cores; /* of an owner; 0 = none */
  int64_t quota_device_seconds;    /* of an owner, a day; 0 = none */
  bool private_default;            /* ep_jobs_options */
  int64_t max_log_bytes; /* of a job's log: each time it grows by so much, half the reports go */
  ep_store *store;
  ep_disk_probe *disk_probe; /* of /readyz */
  ep_supervisor *supervisor;
  ep_calibrations calibrations; /* once the supervisor is there */
  ep_open_logs logs;
  ep_log_flusher flusher; /* of the lines that workers report */
  ep_contents contents;
  ep_datasets datasets;
  ep_subscribers watches; /* by ep_live_key, whose lowest bit is set for a queued job */
  ep_retention retention;
  ep_webhooks *webhooks; /* NULL: there is no secret to sign with */
  atomic_ullong clock;   /* versions: microseconds at the start, then counted up */

  /* The sweep of folders without a row (lifecycle/recover.h). */
  pthread_t sweep;
  bool sweeping;                  /* the thread was started */
  atomic_bool closing;            /* it is to end */
  atomic_bool marked_left;        /* there may be a folder of which the disk refused a delete */
  char sweep_before[EP_ID_BYTES]; /* a later id is of a job that may not have its row yet */

  /* The supervisor's thread alone. */
  int64_t retry_us;       /* when an end that could not be written is tried again */
  bool refused;           /* something could not be stored: try again */
  ep_device_list devices; /* a copy, a moment old */
  int lost_seen;          /* lost devices when stranded jobs were last looked for; -1 = never */

  /* Guards what follows. It is held together with no other mutex, and not while the disk, the store
   * or the supervisor is called. */
  pthread_mutex_t mutex;
  pthread_cond_t stored; /* a job is no longer `storing` */
  /* Of the weights that were asked last, for they say it anew as slowly as they predict. */
  ep_output_meaning meaning;
  char meaning_job[EP_ID_BYTES]; /* whose they are; "": nobody's */
  ep_predicting predicting;
  ep_live_job *buckets[EP_JOBS_BUCKETS];
  ep_queue queue;
  ep_shares shares; /* of owners: a job in a bucket has one of `jobs` */
  ep_used *used;    /* [used_count], owned */
  int64_t used_count, used_store_us;
  int64_t running, submitting;
  int64_t exclusives; /* live jobs that run alone */
  int64_t gangs;      /* live jobs of several ranks */
  uint64_t queue_version;
  uint64_t ends;       /* counts the jobs that ended, for readers of rows and memory */
  ep_live_job *ending; /* whose end could not be written yet */
  bool resumes_owed;   /* a live job may be `resume_owed` */
};

#endif
