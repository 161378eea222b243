#include "server/http/streams/watcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "server/jobs/jobs.h"
#include "server/metrics/metrics.h"

enum {
  BLOCK_BYTES = EP_LIMIT_EVENT_BYTES, /* that is read at once to be framed: a line fits */
  FRAME_BYTES = 96,                   /* "id: …\nevent: …\ndata: " and the empty line */
  SILENT_READS = 64 /* of blocks without a line that is due, before a heartbeat is sent */
};

struct ep_watcher {
  struct ep_jobs *jobs;
  ep_event_log *log; /* retained */
  ep_watcher_options options;
  int64_t offset; /* of the next line in the log */
  int64_t bucket; /* of the last epoch line: epoch / every */
  uint64_t token; /* of the subscription, 0 = none */
  char *carry;    /* owned: a frame that did not fit, NULL = none */
  size_t carry_bytes, carry_done;
};

/* After a resume thinning goes on from the line that was sent last. False: memory is short. */
static bool bucket_resume(ep_watcher *watcher) {
  size_t bytes = 0;
  bool ended;
  char *block = malloc(BLOCK_BYTES);
  if (!block) return false;
  int64_t offset = ep_event_log_offset_after(watcher->log, watcher->options.after - 1);
  ep_event_log_read(watcher->log, offset, block, BLOCK_BYTES, &bytes, &ended, NULL);
  ep_event event;
  const char *stop = memchr(block, '\n', bytes);
  if (stop && ep_event_parse(block, (size_t)(stop - block), &event, NULL) == EP_OK &&
      event.type == EP_EVENT_EPOCH)
    watcher->bucket = event.progress.epoch / watcher->options.every;
  free(block);
  return true;
}

ep_watcher *ep_watcher_create(struct ep_jobs *jobs, ep_event_log *log,
                              const ep_watcher_options *options) {
  ep_watcher *watcher = calloc(1, sizeof *watcher);
  if (!watcher) {
    ep_jobs_release_log(jobs, log);
    return NULL;
  }
  watcher->jobs = jobs;
  watcher->log = log;
  watcher->options = *options;
  atomic_fetch_add_explicit(&EP_METRICS.watchers, 1, memory_order_relaxed);
  watcher->offset = ep_event_log_offset_after(log, options->after);
  if (options->every <= 1 || options->after <= 0 || bucket_resume(watcher)) return watcher;
  ep_watcher_destroy(watcher);
  return NULL;
}

void ep_watcher_destroy(ep_watcher *watcher) {
  if (!watcher) return;
  atomic_fetch_sub_explicit(&EP_METRICS.watchers, 1, memory_order_relaxed);
  if (watcher->token) ep_event_log_unsubscribe(watcher->log, watcher->token);
  ep_jobs_release_log(watcher->jobs, watcher->log);
  free(watcher->carry);
  free(watcher);
}

void ep_watcher_subscribe(ep_watcher *watcher, ep_event_log_wake *wake, void *context) {
  watcher->token = ep_event_log_subscribe(watcher->log, wake, context);
}

static size_t carry_take(ep_watcher *watcher, char *buffer, size_t capacity) {
  size_t left = watcher->carry_bytes - watcher->carry_done;
  size_t bytes = left < capacity ? left : capacity;
  memcpy(buffer, watcher->carry + watcher->carry_done, bytes);
  watcher->carry_done += bytes;
  if (bytes == left) {
    free(watcher->carry);
    watcher->carry = NULL;
  }
  return bytes;
}

/* Stores a frame that is larger than the buffer, to be sent in pieces. */
static bool carry_put(ep_watcher *watcher, const char *head, size_t head_bytes, const char *line,
                      size_t line_bytes, const char *tail) {
  size_t tail_bytes = strlen(tail);
  watcher->carry = malloc(head_bytes + line_bytes + tail_bytes);
  if (!watcher->carry) return false;
  memcpy(watcher->carry, head, head_bytes);
  memcpy(watcher->carry + head_bytes, line, line_bytes);
  memcpy(watcher->carry + head_bytes + line_bytes, tail, tail_bytes);
  watcher->carry_bytes = head_bytes + line_bytes + tail_bytes;
  watcher->carry_done = 0;
  return true;
}

static bool is_due(ep_watcher *watcher, const ep_event *event) {
  if (watcher->options.every > 1 && event->type == EP_EVENT_BATCH) return false;
  if (watcher->options.every <= 1 || event->type != EP_EVENT_EPOCH) return true;
  int64_t bucket = event->progress.epoch / watcher->options.every;
  bool due = bucket != watcher->bucket;
  watcher->bucket = bucket;
  return due;
}

typedef enum { LINE_DONE, LINE_FULL, LINE_FAILED } line_result;

/* Writes one line (without its newline) at buffer + *used, if it is due and fits. A line that
 * would not fit an empty buffer goes to the carry. */
static line_result line_put(ep_watcher *watcher, const char *line, size_t bytes, char *buffer,
                            size_t capacity, size_t *used) {
  ep_event event;
  if (ep_event_parse(line, bytes, &event, NULL) != EP_OK) return LINE_FAILED;
  int64_t bucket = watcher->bucket;
  if (!is_due(watcher, &event)) return LINE_DONE;
  char head[FRAME_BYTES] = "";
  size_t head_bytes = 0;
  const char *tail = "\n";
  if (watcher->options.sse) {
    head_bytes =
        (size_t)snprintf(head, sizeof head, "id: %lld\nevent: %s\ndata: ", (long long)event.seq,
                         ep_event_type_name((int)event.type));
    tail = "\n\n";
  }
  size_t total = head_bytes + bytes + strlen(tail);
  if (total > capacity - *used) {
    if (*used > 0) { /* comes first in the next buffer */
      watcher->bucket = bucket;
      return LINE_FULL;
    }
    if (!carry_put(watcher, head, head_bytes, line, bytes, tail)) return LINE_FAILED;
    *used = carry_take(watcher, buffer, capacity);
    watcher->offset += (int64_t)bytes + 1;
    return LINE_FULL;
  }
  memcpy(buffer + *used, head, head_bytes);
  memcpy(buffer + *used + head_bytes, line, bytes);
  memcpy(buffer + *used + head_bytes + bytes, tail, strlen(tail));
  *used += total;
  return LINE_DONE;
}

/* Reads blocks of lines until one is due, and frames the lines that fit. */
static ep_watcher_result blocks_frame(ep_watcher *watcher, char *block, char *buffer,
                                      size_t capacity, size_t *bytes) {
  for (int reads = 0; reads < SILENT_READS; reads++) {
    size_t got = 0;
    bool ended = false;
    if (ep_event_log_read(watcher->log, watcher->offset, block, BLOCK_BYTES, &got, &ended, NULL) !=
        EP_OK)
      return EP_WATCHER_FAILED;
    if (got == 0) return ended || !watcher->options.follow ? EP_WATCHER_ENDS : EP_WATCHER_WAITS;
    for (size_t at = 0; at < got;) {
      const char *stop = memchr(block + at, '\n', got - at);
      size_t length = stop ? (size_t)(stop - block) - at : got - at;
      line_result result = line_put(watcher, block + at, length, buffer, capacity, bytes);
      if (result == LINE_FAILED) return EP_WATCHER_FAILED;
      if (result == LINE_FULL) return EP_WATCHER_BYTES;
      watcher->offset += (int64_t)length + 1;
      at += length + 1;
    }
    if (*bytes > 0) return EP_WATCHER_BYTES;
  }
  const char *beat = ep_watcher_heartbeat(watcher);
  *bytes = strlen(beat);
  memcpy(buffer, beat, *bytes);
  return EP_WATCHER_BYTES;
}

static ep_watcher_result framed_read(ep_watcher *watcher, char *buffer, size_t capacity,
                                     size_t *bytes) {
  char *block = malloc(BLOCK_BYTES);
  if (!block) return EP_WATCHER_FAILED;
  const ep_watcher_result result = blocks_frame(watcher, block, buffer, capacity, bytes);
  free(block);
  return result;
}

/* The log's own bytes, straight into the buffer. */
static ep_watcher_result plain_read(ep_watcher *watcher, char *buffer, size_t capacity,
                                    size_t *bytes) {
  bool ended = false;
  ep_status status =
      ep_event_log_read(watcher->log, watcher->offset, buffer, capacity, bytes, &ended, NULL);
  if (status == EP_TOO_LARGE) return framed_read(watcher, buffer, capacity, bytes);
  if (status != EP_OK) return EP_WATCHER_FAILED;
  watcher->offset += (int64_t)*bytes;
  if (*bytes > 0) return EP_WATCHER_BYTES;
  return ended || !watcher->options.follow ? EP_WATCHER_ENDS : EP_WATCHER_WAITS;
}

ep_watcher_result ep_watcher_read(ep_watcher *watcher, char *buffer, size_t capacity,
                                  size_t *bytes) {
  *bytes = 0;
  if (watcher->carry) {
    *bytes = carry_take(watcher, buffer, capacity);
    return EP_WATCHER_BYTES;
  }
  if (watcher->options.sse || watcher->options.every > 1)
    return framed_read(watcher, buffer, capacity, bytes);
  return plain_read(watcher, buffer, capacity, bytes);
}

const char *ep_watcher_heartbeat(const ep_watcher *watcher) {
  return watcher->options.sse ? ": heartbeat\n" : " ";
}
