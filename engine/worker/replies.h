/* replies.h: predictions and exports, made beside the training by a thread of their own, one
 * request after the other, so that a long one delays neither progress nor a cancel.
 *
 * Predictions of few rows that wait for the same network are made together: a row takes a lane of a
 * vector, and 16 rows take hardly longer than one. Nothing waits for others to come. */
#ifndef EP_ENGINE_WORKER_REPLIES_H
#define EP_ENGINE_WORKER_REPLIES_H

#include <pthread.h>

#include "api/wire/frame.h"
#include "engine/worker/inference.h"
#include "engine/worker/link.h"

enum {
  EP_REPLIES_WAITING = 512, /* requests: a client each; one more is refused as busy */
  EP_REPLIES_JOINED = 128   /* rows that are predicted together */
};

typedef struct {
  pthread_mutex_t mutex; /* guards the queue */
  pthread_cond_t filled;
  ep_command *queue;    /* [EP_REPLIES_WAITING], owned: a ring, `count` from `first` on; owned */
  int64_t values_bytes; /* of all that wait: EP_LIMIT_FRAMES_BYTES at most, or of one alone */
  int first, count;
  ep_command *joined;      /* [EP_REPLIES_JOINED], owned: those under way, the thread's */
  int64_t joined_calls;    /* how often several were answered by one call: for tests, the thread's
                              until its answers have come */
  ep_predictor *predictor; /* the thread's, owned; lives as long as the process */
  ep_link *link;           /* lent: where answers go */
  const char *data_dir;    /* lent */
} ep_replies;

/* Starts the thread, which runs until the process ends. */
ep_status ep_replies_start(ep_replies *answers, ep_link *link, const char *data_dir,
                           ep_error *error);

/* Takes ownership of the command's parts. */
ep_status ep_replies_take(ep_replies *answers, ep_command *command, ep_error *error);

#endif
