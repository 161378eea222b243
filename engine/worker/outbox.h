/* outbox.h: what a training thread has to say, until the worker's main thread has sent it: bounded,
 * so that a slow reader makes the training wait and memory does not grow. */
#ifndef EP_ENGINE_WORKER_OUTBOX_H
#define EP_ENGINE_WORKER_OUTBOX_H

#include <pthread.h>
#include <stdbool.h>

#include "api/wire/event.h"
#include "api/wire/frame.h"

enum { EP_OUTBOX_RECORDS = 4096, EP_OUTBOX_TRIALS = 1024 };

typedef struct {
  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t room;   /* signalled when records were taken */
  int wake;              /* eventfd: readable while something waits */
  ep_progress_record records[EP_OUTBOX_RECORDS];
  int count;
  ep_trial_record trials[EP_OUTBOX_TRIALS]; /* of a sweep, instead of records */
  int trials_count;
  bool due; /* the records are to go out: half full, flushed, or the last ones */
  bool started, checkpointed, waiting, alive, finished;
  ep_reply start;      /* executor, parameters, bytes, epoch, note */
  ep_reply checkpoint; /* step, epoch, bytes, or error: the last one */
  ep_reply wait;       /* error: the last one */
} ep_outbox;

/* There is no end of an outbox but the process's: a training may be writing to it. */
ep_status ep_outbox_init(ep_outbox *outbox, ep_error *error);

/* By the training thread. `put` waits while the box is full; its records go out when the box is
 * half full, flushed or finished, whatever else wakes the main thread: what belongs together goes
 * to the disk together. */
void ep_outbox_start(ep_outbox *outbox, const ep_reply *start);
/* records: [count], at most half of EP_OUTBOX_RECORDS; they go out in one frame. */
void ep_outbox_put(ep_outbox *outbox, const ep_progress_record *records, int count);
/* The results of trials, which go out at once; waits for room. */
void ep_outbox_put_trials(ep_outbox *outbox, const ep_trial_record *trials, int64_t count);
/* A checkpoint is on disk, or is not: goes out behind what was put before. */
void ep_outbox_checkpoint(ep_outbox *outbox, const ep_reply *checkpoint);
/* The disk refuses the results: goes out at once. */
void ep_outbox_wait(ep_outbox *outbox, const ep_reply *wait);
/* What was put is to go out now. */
void ep_outbox_flush(ep_outbox *outbox);
/* The training goes on, though it has nothing to report. */
void ep_outbox_alive(ep_outbox *outbox);
void ep_outbox_finish(ep_outbox *outbox);

/* By the main thread: moves out what is to go. records: [EP_OUTBOX_RECORDS]; trials:
 * [EP_OUTBOX_TRIALS]. */
typedef struct {
  bool started, checkpointed, waiting, alive, finished;
  ep_reply start, checkpoint, wait;
  int count, trials_count;
} ep_outbox_content;
void ep_outbox_take(ep_outbox *outbox, ep_outbox_content *content, ep_progress_record *records,
                    ep_trial_record *trials);

#endif
