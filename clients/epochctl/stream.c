#include "clients/epochctl/stream.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/limits.h"
#include "clients/epochctl/http.h"

volatile sig_atomic_t ep_follow_interrupted;

static void interrupt(int number) {
  (void)number;
  ep_follow_interrupted = 1;
}

void ep_follow_guard(void) {
  struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESETHAND};
  sigemptyset(&action.sa_mask); /* a second one ends the program at once */
  sigaction(SIGINT, &action, NULL);
}

bool ep_line_take(ep_line *line, const char *bytes, size_t count, ep_line_whole whole,
                  void *context) {
  if (!line->text) line->text = malloc(EP_LIMIT_EVENT_BYTES + 1);
  if (!line->text) return false;
  while (count > 0) {
    const char *end = memchr(bytes, '\n', count);
    size_t part = end ? (size_t)(end - bytes) : count;
    if (part > EP_LIMIT_EVENT_BYTES - line->bytes) return false;
    memcpy(line->text + line->bytes, bytes, part);
    line->bytes += part;
    bytes += part + (end != NULL);
    count -= part + (end != NULL);
    if (!end) return true;
    size_t length = line->bytes;
    line->text[length] = 0;
    line->bytes = 0;
    if (length > 0 && !whole(context, line->text, length)) return false;
  }
  return true;
}

void ep_line_deinit(ep_line *line) {
  free(line->text);
  *line = (ep_line){0};
}

/* One stream, from its request to its end or its cut. */
typedef struct {
  const ep_follower *follower;
  ep_line line;
  int64_t after;
  bool came, ended, refused; /* refused: by the follower */
} watch;

static bool line_comes(void *context, const char *line, size_t bytes) {
  watch *now = context;
  ep_event event = {0};
  if (now->ended || ep_event_parse(line, bytes, &event, NULL)) return true;
  if (event.seq <= now->after) return true; /* seen before */
  now->after = event.seq;
  now->came = true;
  if (!now->follower->event(now->follower->context, line, bytes, &event)) {
    now->refused = true;
    return false;
  }
  now->ended = event.type == EP_EVENT_END;
  return true;
}

static bool bytes_come(void *context, const char *bytes, size_t count) {
  watch *now = context;
  return ep_line_take(&now->line, bytes, count, line_comes, now);
}

static bool tick_comes(void *context, int64_t sent, int64_t to_send, int64_t received,
                       int64_t to_receive) {
  watch *now = context;
  (void)sent, (void)to_send, (void)received, (void)to_receive;
  if (now->follower->idle) now->follower->idle(now->follower->context);
  return !ep_follow_interrupted;
}

static ep_status follow_once(ep_session *session, const char *job, watch *now, ep_error *error) {
  char path[EP_PATH_MAX_BYTES], after[32];
  ep_answer answer;
  ep_path_make(path, "/v1/jobs/", job, "/events");
  snprintf(after, sizeof after, "%lld", (long long)now->after);
  ep_path_query(path, "after", after);
  ep_call call = {.method = "GET",
                  .path = path,
                  .accept = "application/x-ndjson",
                  .take = bytes_come,
                  .tick = tick_comes,
                  .context = now,
                  .long_lasting = true};
  now->came = false;
  now->line.bytes = 0; /* a torn line comes again, whole */
  ep_status status = ep_call_send(session, &call, &answer, error);
  ep_answer_deinit(&answer);
  if (now->ended) return EP_OK;
  if (status == EP_CANCELLED && !now->refused && !ep_follow_interrupted)
    return ep_fail(error, EP_INTERNAL, "an event is longer than %d bytes: is %.200s an epochd?",
                   EP_LIMIT_EVENT_BYTES, session->server);
  return status ? status : ep_fail(error, EP_IO, "the stream was cut");
}

static bool is_worth_trying(ep_status status) {
  return status == EP_UNAVAILABLE || status == EP_IO || status == EP_BUSY;
}

/* Sleeps, but wakes up for SIGINT. */
static void wait_seconds(int seconds) {
  struct timespec span = {.tv_sec = seconds};
  if (!ep_follow_interrupted) nanosleep(&span, NULL);
}

ep_status ep_follow(ep_session *session, const char *job, int64_t after,
                    const ep_follower *follower, ep_error *error) {
  enum { LONGEST_SECONDS = 10, PATIENCE_SECONDS = 60 };
  watch now = {.follower = follower, .after = after};
  int pause_s = 1, waited_s = 0;
  ep_status status;
  for (;;) {
    ep_error fault = {0};
    status = follow_once(session, job, &now, &fault);
    if (now.came) pause_s = 1, waited_s = 0;
    bool again = is_worth_trying(status) && waited_s < PATIENCE_SECONDS && !ep_follow_interrupted;
    if (status && !again) {
      ep_fail(error, status, "%s", fault.message);
      break;
    }
    if (!status) break;
    if (follower->cut) follower->cut(follower->context, pause_s);
    wait_seconds(pause_s);
    waited_s += pause_s;
    pause_s = pause_s * 2 < LONGEST_SECONDS ? pause_s * 2 : LONGEST_SECONDS;
  }
  ep_line_deinit(&now.line);
  if (ep_follow_interrupted && status) return ep_fail(error, EP_CANCELLED, "interrupted");
  return status;
}
