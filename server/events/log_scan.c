#include "server/events/log_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/limits.h"
#include "api/wire/event.h"
#include "api/wire/event_seal.h"

enum { SCAN_BYTES = 4 * EP_LIMIT_EVENT_BYTES };

typedef struct {
  ep_log_scan *out;
  ep_log_scan_line *visit;
  void *context;
  bool sealed;           /* a line had its seal */
  char job[EP_ID_BYTES]; /* of the first line */
} scan_state;

/* What ep_event_format writes first. */
typedef struct {
  int64_t seq, epoch, batch; /* of lines that begin with them, else 0 */
  ep_event_type type;
  char job[EP_ID_BYTES];
} line_head;

static bool literal_take(const char **at, const char *end, const char *literal) {
  size_t bytes = strlen(literal);
  if ((size_t)(end - *at) < bytes || memcmp(*at, literal, bytes) != 0) return false;
  *at += bytes;
  return true;
}

static bool number_take(const char **at, const char *end, int64_t *out) {
  const char *first = *at;
  for (*out = 0; *at < end && **at >= '0' && **at <= '9' && *at - first < 18; ++*at)
    *out = *out * 10 + (**at - '0');
  return *at > first;
}

/* The rest of a string whose opening quote was taken. text: [capacity]. */
static bool string_take(const char **at, const char *end, char *text, size_t capacity) {
  const char *quote = memchr(*at, '"', (size_t)(end - *at));
  if (!quote || (size_t)(quote - *at) >= capacity) return false;
  memcpy(text, *at, (size_t)(quote - *at));
  text[quote - *at] = 0;
  *at = quote + 1;
  return true;
}

static bool head_read(const char *line, size_t bytes, line_head *out) {
  const char *at = line, *end = line + bytes;
  char type[16], time[32];
  *out = (line_head){0};
  if (!literal_take(&at, end, "{\"seq\":") || !number_take(&at, end, &out->seq) ||
      !literal_take(&at, end, ",\"job\":\"") || !string_take(&at, end, out->job, sizeof out->job) ||
      !literal_take(&at, end, ",\"type\":\"") || !string_take(&at, end, type, sizeof type))
    return false;
  int kind = ep_event_type_from_name(type);
  if (kind < 0) return false;
  out->type = (ep_event_type)kind;
  bool batch = out->type == EP_EVENT_BATCH, trial = out->type == EP_EVENT_TRIAL;
  if (out->type != EP_EVENT_EPOCH && out->type != EP_EVENT_LAYERS && !batch && !trial) return true;
  const char *key = trial ? ",\"number\":" : ",\"epoch\":";
  return literal_take(&at, end, ",\"time\":\"") && string_take(&at, end, time, sizeof time) &&
         literal_take(&at, end, key) && number_take(&at, end, &out->epoch) &&
         (!batch || (literal_take(&at, end, ",\"batch\":") && number_take(&at, end, &out->batch)));
}

/* Whether a line without a seal is of an older epochd. A log begins with its `queued`, which ended
 * with its time: so a first line whose seal is damaged beyond recognition is none. */
static bool older_check(const char *line, size_t bytes) {
  static const char time_end[] = "Z\"}";
  enum { END_BYTES = sizeof time_end - 1 };
  ep_event event;
  if (ep_event_parse(line, bytes, &event, NULL) != EP_OK) return false;
  return event.type != EP_EVENT_QUEUED ||
         memcmp(line + bytes - END_BYTES, time_end, END_BYTES) == 0;
}

/* Whether the line, without its newline, is right as the next one. */
static bool line_check(scan_state *state, const char *line, size_t bytes, line_head *head) {
  const ep_log_scan *scan = state->out;
  ep_event_seal seal = ep_event_seal_check(line, bytes);
  if (seal == EP_SEAL_BROKEN || (seal == EP_SEAL_ABSENT && state->sealed)) return false;
  if (seal == EP_SEAL_ABSENT && !older_check(line, bytes)) return false;
  if (!head_read(line, bytes, head) || head->seq != scan->lines + 1 || scan->ended) return false;
  if (scan->lines == 0) memcpy(state->job, head->job, sizeof state->job);
  state->sealed = seal == EP_SEAL_WHOLE;
  return strcmp(state->job, head->job) == 0;
}

void ep_log_reports_note(ep_log_reports *reports, ep_event_type type, int64_t epoch,
                         int64_t batch) {
  bool counts = type == EP_EVENT_EPOCH || type == EP_EVENT_TRIAL;
  if (counts && epoch > reports->epoch) reports->epoch = epoch;
  if (type == EP_EVENT_LAYERS && epoch > reports->layers_epoch) reports->layers_epoch = epoch;
  if (type != EP_EVENT_BATCH || epoch < reports->batch_epoch) return;
  if (epoch > reports->batch_epoch) reports->batch = 0;
  reports->batch_epoch = epoch;
  if (batch > reports->batch) reports->batch = batch;
}

static void line_count(ep_log_scan *scan, const line_head *head, size_t bytes) {
  scan->lines++;
  scan->bytes += (int64_t)bytes;
  ep_log_reports_note(&scan->reports, head->type, head->epoch, head->batch);
  if (head->type == EP_EVENT_STARTED || head->type == EP_EVENT_RESTARTED) scan->started = true;
  if (head->type == EP_EVENT_END) scan->ended = true;
}

/* Goes through the lines of one buffer that begins with a line; stops at a wrong one. */
static ep_status buffer_scan(scan_state *state, const char *buffer, size_t bytes, ep_error *error) {
  ep_log_scan *scan = state->out;
  const char *line = buffer, *end = buffer + bytes;
  ep_status status = EP_OK;
  while (status == EP_OK && line < end) {
    line_head head;
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    if (!newline) break;
    scan->damaged = !line_check(state, line, (size_t)(newline - line), &head);
    if (scan->damaged) break;
    size_t length = (size_t)(newline + 1 - line);
    if (state->visit) status = state->visit(state->context, line, length, scan->bytes, error);
    if (status == EP_OK) line_count(scan, &head, length);
    line = newline + 1;
  }
  /* No line is so long. */
  if ((size_t)(end - line) >= EP_LIMIT_EVENT_BYTES && line == buffer) scan->damaged = true;
  return status;
}

ep_status ep_log_scan_file(int file, ep_log_scan_line *visit, void *context, ep_log_scan *out,
                           ep_error *error) {
  scan_state state = {.out = out, .visit = visit, .context = context};
  *out = (ep_log_scan){0};
  char *buffer = malloc(SCAN_BYTES);
  ep_status status = buffer ? EP_OK : ep_fail_memory(error);
  for (int64_t before = -1; status == EP_OK && !out->damaged && out->bytes > before;) {
    before = out->bytes;
    ssize_t got = pread(file, buffer, SCAN_BYTES, before);
    if (got >= 0)
      status = buffer_scan(&state, buffer, (size_t)got, error);
    else if (errno == EINTR)
      before = -1;
    else
      status = ep_fail(error, EP_IO, "an event log cannot be read from byte %lld on: %s",
                       (long long)before, strerror(errno));
  }
  free(buffer);
  return status;
}
