/* supervisor_events.h: what the supervisor calls. It knows processes and frames; the jobs are
 * behind these functions. */
#ifndef EP_SERVER_WORKERS_SUPERVISOR_EVENTS_H
#define EP_SERVER_WORKERS_SUPERVISOR_EVENTS_H

#include <stdbool.h>

#include "api/wire/frame.h"
#include "server/slurm/commands.h"

/* A job for a device. */
typedef struct {
  ep_command train;        /* owned: the supervisor deinits it */
  int cores;               /* that the job takes */
  double patience_seconds; /* how long it may be silent at first */
  int64_t memory_bytes;    /* that its worker may take beyond what it has; 0 = no limit */
} ep_assignment;

/* How a job is to leave its worker: not, with a checkpoint, or with its results so far. */
typedef enum { EP_STOP_NOT, EP_STOP_PAUSE, EP_STOP_CANCEL } ep_stop;

/* All are called from the supervisor's thread, with no lock held. */
typedef struct {
  void *context;
  /* A worker of the device is idle: fills in *out, or returns false. cores: that no job has;
   * INT_MAX when the device has no job. held: of a worker of Slurm, what it has; else NULL. After
   * false it is called again once ep_supervisor_kick was.
   */
  bool (*next)(void *context, const char *device, int cores, const ep_slurm_request *held,
               ep_assignment *out);
  /* How many workers of Slurm's partition queued jobs wait for, and helpers that running sweeps are
   * to have, there already or not; and what these are to have. */
  int (*queued)(void *context, const char *device, ep_slurm_request *needed);
  /* What Slurm shows of a partition, every some seconds; NULL = nobody is told. */
  void (*partition)(void *context, const ep_slurm_partition *seen);
  /* After a kick: whether the job that a worker has is to end. The worker gets a command, and
   * SIGKILL 10 s later, or 60 s where it is to write a checkpoint. */
  ep_stop (*stop)(void *context, const char *job, int attempt);
  /* The worker of a job has work for so many helpers (helpers.h). Returns how many it may have. */
  int (*wants)(void *context, const char *job, int attempt, int helpers);
  /* Whether an idle worker of the device may train points of a running job, now that `next` had no
   * job for it: the job's spec, the caller's; NULL = it may not. held: as above. */
  char *(*help)(void *context, const char *job, int attempt, const char *device,
                const ep_slurm_request *held);
  /* The job has so many helpers by now. */
  void (*helped)(void *context, const char *job, int attempt, int helpers);
  /* A worker reports of the job that it has. false: not now (the disk is full, say): the report is
   * offered again a second later, and nothing is read from the worker until then. */
  bool (*started)(void *context, const char *device, const ep_reply *reply);
  bool (*progress)(void *context, const ep_progress *progress);
  bool (*checkpointed)(void *context, const ep_reply *reply);
  /* The disk refuses the results of the job, whose worker tries again and says so before. */
  void (*waiting)(void *context, const ep_reply *reply);
  bool (*finished)(void *context, const char *device, const ep_reply *reply);
  /* All reports so far can be stored together: at once after progress; after a start once some
   * milliseconds brought nothing else. false as above. */
  bool (*heard)(void *context, const char *job, int attempt);
  /* The worker died while it had this job; all its reports were handed on before. begun: one of
   * them was of this job; else the worker may have been dying when it was given the job. */
  void (*died)(void *context, const char *job, int attempt, bool begun, const char *cause);
  /* After each round; true to be called again within a second although nothing happens. */
  bool (*settle)(void *context);
} ep_supervisor_events;

/* The end of a request: `reply`, or an error (time-out, no worker, its death). From the
 * supervisor's thread. */
typedef void ep_supervisor_done(void *context, const ep_reply *reply, const ep_error *error);

#endif
