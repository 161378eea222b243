/* log_flusher.h: threads that flush event logs, so that nobody who holds lines waits for the disk.
 * A log that cannot be flushed is tried again every second until it can.
 *
 * Thread-safe. */
#ifndef EP_SERVER_EVENTS_LOG_FLUSHER_H
#define EP_SERVER_EVENTS_LOG_FLUSHER_H

#include <pthread.h>
#include <stdbool.h>

#include "server/events/open_logs.h"

enum { EP_LOG_FLUSHER_THREADS = 4 }; /* a disk syncs several files hardly later than one */

/* A log that is to be flushed, or being so. */
typedef struct ep_log_flush {
  struct ep_log_flush *next;
  char id[EP_ID_BYTES];
  ep_event_log *log; /* retained */
  int64_t due_us;    /* steady clock; 0 = at once */
  bool running, again, failed;
} ep_log_flush;

typedef struct {
  ep_open_logs *logs;    /* lent */
  pthread_mutex_t mutex; /* guards everything below; taken before that of the logs */
  pthread_cond_t changed;
  ep_log_flush *first; /* owned; in the order in which they came */
  bool stopping;
  pthread_t threads[EP_LOG_FLUSHER_THREADS];
  int threads_count;
} ep_log_flusher;

ep_status ep_log_flusher_start(ep_log_flusher *flusher, ep_open_logs *logs, ep_error *error);
/* Flushes what is left, once, and ends the threads. A flusher that was not started is allowed. */
void ep_log_flusher_stop(ep_log_flusher *flusher);

/* Has the log of a job flushed, soon. The caller has it retained. */
ep_status ep_log_flusher_add(ep_log_flusher *flusher, const char *id, ep_error *error);
/* Whether the job's log could not be flushed the last time: more lines would only fill the memory.
 */
bool ep_log_flusher_is_refused(ep_log_flusher *flusher, const char *id);

#endif
