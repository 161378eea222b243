/* The first seq is 1 and there are no gaps, so a line's seq is its line number; the offset of every
 * 64th line is in memory. One appender at a time writes outside the mutex, then publishes the end;
 * readers never look beyond it. Meanwhile further lines can be held. A failed write is cut off, and
 * its lines are written anew from memory: pages that a failed fsync left marked clean are not
 * trusted. */
#include "server/events/event_log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/limits.h"
#include "engine/files/disk_wait.h"
#include "engine/files/durable_file.h"
#include "server/events/log_scan.h"
#include "server/events/subscribers.h"
#include "server/metrics/metrics.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

enum { LINES_PER_MARK = 64 };

/* Lines that are formatted and not yet written. */
typedef struct {
  char *text; /* owned */
  size_t bytes, capacity;
  size_t *starts; /* [count] offset of each line, owned */
  int count, starts_capacity;
} line_batch;

static void batch_clear(line_batch *batch) {
  free(batch->text);
  free(batch->starts);
  *batch = (line_batch){0};
}

struct ep_event_log {
  int fd;
  char *folder;          /* of the log; owned */
  bool synced;           /* its name and its folder's are on disk; the appender's */
  line_batch writing;    /* what is written next, before what is held; the appender's */
  pthread_mutex_t order; /* guards `held` and gives out numbers; taken before `mutex` */
  line_batch held;
  pthread_mutex_t mutex; /* guards everything below but the subscribers */
  pthread_cond_t appended;
  bool appending;
  ep_event_log_tail tail;  /* with what is written and held; changes under `order` too */
  ep_event_log_tail shown; /* what readers see of the file */
  int64_t *marks;          /* [marks_capacity] offset of line 0, 64, 128, …; owned */
  int64_t marks_capacity;
  ep_subscribers subscribers;
};

static int64_t marks_needed(int64_t lines) {
  return (lines + LINES_PER_MARK - 1) / LINES_PER_MARK;
}

/* Makes room for the marks of `lines` lines. */
static ep_status marks_reserve(ep_event_log *log, int64_t lines, ep_error *error) {
  int64_t needed = marks_needed(lines);
  if (needed <= log->marks_capacity) return EP_OK;
  int64_t capacity = needed + needed / 2 + 4;
  int64_t *marks = realloc(log->marks, (size_t)capacity * sizeof *marks);
  if (!marks) return ep_fail_memory(error);
  log->marks = marks;
  log->marks_capacity = capacity;
  return EP_OK;
}

static ep_status read_at(int fd, char *buffer, size_t bytes, int64_t offset, size_t *got,
                         ep_error *error) {
  for (*got = 0; *got < bytes;) {
    ssize_t count = pread(fd, buffer + *got, bytes - *got, offset + (int64_t)*got);
    if (count == 0) break;
    if (count > 0) {
      *got += (size_t)count;
    } else if (errno != EINTR) {
      return ep_fail(error, EP_IO, "an event log cannot be read: %s", strerror(errno));
    }
  }
  return EP_OK;
}

/* Of a right line, when the log is opened: its mark. */
static ep_status line_mark(void *context, const char *line, size_t bytes, int64_t offset,
                           ep_error *error) {
  (void)line, (void)bytes;
  ep_event_log *log = context;
  int64_t number = log->tail.last_seq++;
  ep_status status = marks_reserve(log, number + 1, error);
  if (status == EP_OK && number % LINES_PER_MARK == 0) log->marks[number / LINES_PER_MARK] = offset;
  return status;
}

/* Copies all from `offset` on to EP_DAMAGED_EVENTS_FILE in the log's folder. */
static ep_status rest_copy(const ep_event_log *log, int64_t offset, ep_error *error) {
  char path[EP_PATH_BYTES], buffer[16384];
  size_t got = 0;
  ep_status status = ep_path_join(path, error, log->folder, EP_DAMAGED_EVENTS_FILE, NULL);
  if (status != EP_OK) return status;
  int copy = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (copy < 0)
    return ep_fail(error, ep_status_from_errno(errno), "%s cannot be created: %s", path,
                   strerror(errno));
  do {
    status = read_at(log->fd, buffer, sizeof buffer, offset, &got, error);
    if (status == EP_OK && got > 0) status = ep_file_write_all(copy, buffer, got, error);
    offset += (int64_t)got;
  } while (status == EP_OK && got > 0);
  close(copy);
  return status;
}

/* Cuts what follows the right lines. Of a damaged log it may hold whole lines, which are put aside:
 * where even this fails, the log still is to go on. */
static ep_status rest_cut(const ep_event_log *log, ep_error *error) {
  const ep_event_log_tail *tail = &log->tail;
  ep_error why = {0};
  if (tail->damaged)
    ep_log(EP_LOG_ERROR, "%s/" EP_EVENTS_FILE " is damaged after line %lld and cut there",
           log->folder, (long long)tail->last_seq);
  if (tail->damaged && rest_copy(log, tail->bytes, &why) != EP_OK)
    ep_log(EP_LOG_ERROR, "the part cut off cannot be saved: %s", why.message);
  if (ftruncate(log->fd, tail->bytes) == 0) return EP_OK;
  return ep_fail(error, EP_IO, "%s/" EP_EVENTS_FILE " cannot be cut after line %lld: %s",
                 log->folder, (long long)tail->last_seq, strerror(errno));
}

static ep_status log_load(ep_event_log *log, ep_error *error) {
  ep_log_scan scan;
  struct stat state;
  ep_status status = ep_log_scan_file(log->fd, line_mark, log, &scan, error);
  if (status != EP_OK) return status;
  log->tail = (ep_event_log_tail){.last_seq = scan.lines,
                                  .bytes = scan.bytes,
                                  .reports = scan.reports,
                                  .ended = scan.ended,
                                  .started = scan.started,
                                  .damaged = scan.damaged};
  if (fstat(log->fd, &state) != 0)
    return ep_fail(error, EP_IO, "an event log cannot be looked at: %s", strerror(errno));
  log->tail.cut_bytes = state.st_size - scan.bytes;
  log->shown = log->tail;
  return log->tail.cut_bytes > 0 ? rest_cut(log, error) : EP_OK;
}

ep_status ep_event_log_open(const char *path, ep_event_log **out, ep_error *error) {
  *out = NULL;
  ep_event_log *log = calloc(1, sizeof *log);
  if (!log) return ep_fail_memory(error);
  pthread_mutex_init(&log->order, NULL);
  pthread_mutex_init(&log->mutex, NULL);
  pthread_cond_init(&log->appended, NULL);
  ep_subscribers_init(&log->subscribers);
  ep_status status = EP_OK;
  log->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  log->folder = strdup(path);
  if (!log->folder) {
    status = ep_fail_memory(error);
  } else if (log->fd < 0) {
    status = ep_fail(error, ep_status_from_errno(errno), "%s cannot be opened: %s", path,
                     strerror(errno));
  } else {
    char *name = strrchr(log->folder, '/');
    assert(name);
    *name = 0;
    status = log_load(log, error);
  }
  if (status != EP_OK) {
    ep_event_log_close(log);
    return status;
  }
  *out = log;
  return EP_OK;
}

void ep_event_log_close(ep_event_log *log) {
  if (!log) return;
  if (log->fd >= 0) close(log->fd);
  free(log->folder);
  batch_clear(&log->writing);
  batch_clear(&log->held);
  free(log->marks);
  ep_subscribers_deinit(&log->subscribers);
  pthread_cond_destroy(&log->appended);
  pthread_mutex_destroy(&log->mutex);
  pthread_mutex_destroy(&log->order);
  free(log);
}

/* Makes room for one more line of any length. */
static ep_status batch_reserve(line_batch *batch, ep_error *error) {
  if (batch->count == batch->starts_capacity) {
    int capacity = batch->starts_capacity * 2 + 64;
    size_t *starts = realloc(batch->starts, (size_t)capacity * sizeof *starts);
    if (!starts) return ep_fail_memory(error);
    batch->starts = starts;
    batch->starts_capacity = capacity;
  }
  if (batch->capacity - batch->bytes < EP_LIMIT_EVENT_BYTES) {
    size_t capacity = batch->capacity * 2 + EP_LIMIT_EVENT_BYTES;
    char *text = realloc(batch->text, capacity);
    if (!text) return ep_fail_memory(error);
    batch->text = text;
    batch->capacity = capacity;
  }
  return EP_OK;
}

/* Numbers the events and adds them as lines; *tail moves on. */
static ep_status batch_format(line_batch *batch, ep_event *events, int count,
                              ep_event_log_tail *tail, ep_error *error) {
  for (int i = 0; i < count; i++) {
    if (tail->ended) return ep_fail(error, EP_CONFLICT, "this job's events have ended");
    ep_status status = batch_reserve(batch, error);
    if (status != EP_OK) return status;
    events[i].seq = tail->last_seq + 1;
    size_t bytes = ep_event_format(&events[i], batch->text + batch->bytes, EP_LIMIT_EVENT_BYTES);
    if (bytes == 0) return ep_fail(error, EP_TOO_LARGE, "an event is longer than its limit");
    batch->starts[batch->count++] = batch->bytes;
    batch->bytes += bytes;
    tail->bytes += (int64_t)bytes;
    tail->last_seq++;
    ep_event_type type = events[i].type;
    ep_log_reports_note(&tail->reports, type, events[i].progress.epoch, events[i].progress.batch);
    if (type == EP_EVENT_STARTED || type == EP_EVENT_RESTARTED) tail->started = true;
    if (type == EP_EVENT_END) tail->ended = true;
  }
  return EP_OK;
}

/* Syncs the lines, and the first time the names that lead to them, of the log and of its folder,
 * and the spec beside the log, if it is there. */
static ep_status lines_sync(ep_event_log *log, ep_error *error) {
  char above[EP_PATH_BYTES], spec[EP_PATH_BYTES];
  ep_status status = ep_path_join(above, error, log->folder, "..", NULL);
  if (status == EP_OK) status = ep_path_join(spec, error, log->folder, EP_SPEC_FILE, NULL);
  int file = status == EP_OK && !log->synced ? open(spec, O_RDONLY | O_CLOEXEC) : -1;
  ep_disk_wait waits[] = {
      {log->fd, "an event log"}, {-1, log->folder}, {-1, above}, {file, EP_SPEC_FILE}};
  int count = log->synced ? 1 : file < 0 ? 3 : 4;
  if (status == EP_OK) status = ep_disk_waits(waits, count, error);
  if (file >= 0) close(file);
  log->synced = log->synced || status == EP_OK;
  return status;
}

/* Moves what is held behind what could not be written before. On failure nothing has moved. */
static ep_status held_take(ep_event_log *log, ep_error *error) {
  line_batch *writing = &log->writing, *held = &log->held;
  if (writing->count > 0 && held->count > 0) {
    size_t bytes = writing->bytes + held->bytes;
    size_t count = (size_t)writing->count + (size_t)held->count;
    char *text = realloc(writing->text, bytes);
    if (!text) return ep_fail_memory(error);
    writing->text = text;
    writing->capacity = bytes;
    size_t *starts = realloc(writing->starts, count * sizeof *starts);
    if (!starts) return ep_fail_memory(error);
    writing->starts = starts;
    writing->starts_capacity = (int)count;
    memcpy(text + writing->bytes, held->text, held->bytes);
    for (int i = 0; i < held->count; i++)
      starts[writing->count + i] = writing->bytes + held->starts[i];
    writing->bytes = bytes;
    writing->count = (int)count;
    batch_clear(held);
  } else if (held->count > 0) {
    batch_clear(writing);
    *writing = *held;
    *held = (line_batch){0};
  }
  return EP_OK;
}

/* Writes its lines at the published end; a failure leaves the file as it was. */
static ep_status batch_write(ep_event_log *log, bool sync, ep_error *error) {
  const line_batch *batch = &log->writing;
  int64_t offset = log->shown.bytes;
  /* Of a daemon that was killed, or of a sync that failed, lines may be there that are not on disk.
   */
  ep_status status = log->synced ? EP_OK : ep_file_rewrite(log->fd, error);
  for (size_t done = 0; status == EP_OK && done < batch->bytes;) {
    ssize_t wrote =
        pwrite(log->fd, batch->text + done, batch->bytes - done, offset + (int64_t)done);
    if (wrote >= 0) {
      done += (size_t)wrote;
    } else if (errno != EINTR) {
      status = ep_fail(error, ep_status_from_errno(errno), "an event log cannot be written: %s",
                       strerror(errno));
    }
  }
  if (status == EP_OK && sync) status = lines_sync(log, error);
  /* If even this fails, readers still stop at the published end, and opening cuts the rest. */
  if (status != EP_OK && ftruncate(log->fd, offset) != 0) errno = 0;
  return status;
}

/* Makes the lines that were written visible. The mutex is held, and the marks have room. */
static void batch_publish(ep_event_log *log, const ep_event_log_tail *tail) {
  line_batch *batch = &log->writing;
  int64_t line = log->shown.last_seq;
  for (int i = 0; i < batch->count; i++, line++)
    if (line % LINES_PER_MARK == 0)
      log->marks[line / LINES_PER_MARK] = log->shown.bytes + (int64_t)batch->starts[i];
  log->shown = *tail;
  batch_clear(batch);
}

/* Numbers the events and adds their lines to the batch, which log->tail does not have yet. `order`
 * is held. On failure the batch is as it was. */
static ep_status lines_number(ep_event_log *log, line_batch *batch, ep_event *events, int count,
                              ep_event_log_tail *tail, ep_error *error) {
  int count_before = batch->count;
  size_t bytes_before = batch->bytes;
  pthread_mutex_lock(&log->mutex);
  *tail = log->tail;
  ep_status status = marks_reserve(log, tail->last_seq + count, error);
  pthread_mutex_unlock(&log->mutex);
  if (status == EP_OK) status = batch_format(batch, events, count, tail, error);
  if (status == EP_OK) return EP_OK;
  batch->count = count_before;
  batch->bytes = bytes_before;
  return status;
}

static void appending_begin(ep_event_log *log) {
  pthread_mutex_lock(&log->mutex);
  while (log->appending) pthread_cond_wait(&log->appended, &log->mutex);
  log->appending = true;
  pthread_mutex_unlock(&log->mutex);
}

/* Adds lines, and writes all that there are. On failure no line was added, and those held before
 * still are. Without events of its own it leaves `order` to those who hold lines meanwhile. */
static ep_status lines_append(ep_event_log *log, ep_event *events, int count, bool sync,
                              ep_error *error) {
  line_batch *writing = &log->writing;
  ep_event_log_tail tail;
  appending_begin(log);
  pthread_mutex_lock(&log->order);
  ep_status status = held_take(log, error);
  int lines_before = writing->count, lines = 0;
  size_t bytes_before = writing->bytes;
  sync = sync || lines_before > 0 || !log->synced;
  if (status == EP_OK) status = lines_number(log, writing, events, count, &tail, error);
  if (count == 0) pthread_mutex_unlock(&log->order);
  if (status == EP_OK && (writing->count > 0 || !log->synced)) {
    status = batch_write(log, sync, error);
    if (status == EP_OK) lines = writing->count;
  }

  pthread_mutex_lock(&log->mutex);
  if (status == EP_OK) {
    if (count > 0) log->tail = tail;
    if (lines > 0) batch_publish(log, &tail);
  } else {
    writing->count = lines_before;
    writing->bytes = bytes_before;
  }
  log->appending = false;
  pthread_cond_signal(&log->appended);
  pthread_mutex_unlock(&log->mutex);
  if (count > 0) pthread_mutex_unlock(&log->order);
  if (lines > 0) ep_metrics_add(EP_COUNTER_EVENT_LINES, (uint64_t)lines);
  if (lines > 0 && ep_subscribers_mark(&log->subscribers, 0, 0))
    ep_subscribers_call(&log->subscribers);
  return status;
}

ep_status ep_event_log_append(ep_event_log *log, ep_event *events, int count, ep_error *error) {
  return lines_append(log, events, count, true, error);
}

ep_status ep_event_log_append_copy(ep_event_log *log, ep_event *event, ep_error *error) {
  return lines_append(log, event, 1, false, error);
}

ep_status ep_event_log_hold(ep_event_log *log, ep_event *events, int count, ep_error *error) {
  ep_event_log_tail tail;
  pthread_mutex_lock(&log->order);
  ep_status status = lines_number(log, &log->held, events, count, &tail, error);
  pthread_mutex_lock(&log->mutex);
  if (status == EP_OK) log->tail = tail;
  pthread_mutex_unlock(&log->mutex);
  pthread_mutex_unlock(&log->order);
  return status;
}

ep_status ep_event_log_flush(ep_event_log *log, ep_error *error) {
  return lines_append(log, NULL, 0, true, error);
}

void ep_event_log_get_tail(ep_event_log *log, ep_event_log_tail *out) {
  pthread_mutex_lock(&log->mutex);
  *out = log->tail;
  pthread_mutex_unlock(&log->mutex);
}

/* Offset in `text` after `lines` newlines, or -1 when there are fewer; *lines is what is left. */
static int64_t lines_skip(const char *text, size_t bytes, int64_t *lines) {
  const char *at = text, *end = text + bytes;
  while (*lines > 0) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    if (!newline) return -1;
    at = newline + 1;
    --*lines;
  }
  return at - text;
}

int64_t ep_event_log_offset_after(ep_event_log *log, int64_t after) {
  if (after <= 0) return 0;
  pthread_mutex_lock(&log->mutex);
  ep_event_log_tail shown = log->shown;
  int64_t offset = after >= shown.last_seq ? shown.bytes : log->marks[after / LINES_PER_MARK];
  pthread_mutex_unlock(&log->mutex);
  if (after >= shown.last_seq) return shown.bytes;
  int64_t lines = after % LINES_PER_MARK;
  while (lines > 0) {
    char buffer[16384];
    size_t got = 0;
    if (read_at(log->fd, buffer, sizeof buffer, offset, &got, NULL) != EP_OK || got == 0)
      return shown.bytes;
    int64_t skipped = lines_skip(buffer, got, &lines);
    offset += skipped >= 0 ? skipped : (int64_t)got;
  }
  return offset;
}

ep_status ep_event_log_read(ep_event_log *log, int64_t offset, char *buffer, size_t capacity,
                            size_t *bytes, bool *ended, ep_error *error) {
  *bytes = 0;
  pthread_mutex_lock(&log->mutex);
  ep_event_log_tail shown = log->shown;
  pthread_mutex_unlock(&log->mutex);
  *ended = shown.ended && offset >= shown.bytes;
  if (offset < 0 || offset >= shown.bytes) return EP_OK;
  size_t length = capacity;
  if ((int64_t)length > shown.bytes - offset) length = (size_t)(shown.bytes - offset);
  size_t got = 0;
  ep_status status = read_at(log->fd, buffer, length, offset, &got, error);
  if (status != EP_OK) return status;
  const char *newline = memrchr(buffer, '\n', got);
  if (!newline)
    return ep_fail(error, EP_TOO_LARGE, "a line of the event log is longer than the buffer");
  *bytes = (size_t)(newline + 1 - buffer);
  *ended = shown.ended && offset + (int64_t)*bytes >= shown.bytes;
  return EP_OK;
}

uint64_t ep_event_log_subscribe(ep_event_log *log, ep_event_log_wake *wake, void *context) {
  return ep_subscribers_add(&log->subscribers, 0, false, wake, context);
}

void ep_event_log_unsubscribe(ep_event_log *log, uint64_t token) {
  ep_subscribers_remove(&log->subscribers, token);
}
