#include "clients/epochctl/http/event_stream.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "api/limits.h"
#include "clients/epochctl/http/line_buffer.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/request.h"

static volatile sig_atomic_t interrupted;

static void interrupt_receive(int number) {
  (void)number;
  interrupted = 1;
}

void ep_event_stream_guard(void) {
  struct sigaction action = {.sa_handler = interrupt_receive, .sa_flags = SA_RESETHAND};
  sigemptyset(&action.sa_mask); /* a second one ends the program at once */
  sigaction(SIGINT, &action, NULL);
}

bool ep_event_stream_interrupted(void) {
  return interrupted != 0;
}

/* A stream, over its cuts. */
typedef struct {
  const ep_event_follower *follower;
  ep_line_buffer line;
  int64_t after; /* seq of the last event */
  bool received, ended;
  bool refused; /* by the follower */
} stream;

static bool event_take(void *context, const char *line, size_t bytes) {
  stream *now = context;
  ep_event event = {0};
  if (now->ended || ep_event_parse(line, bytes, &event, NULL) != EP_OK) return true;
  if (event.seq <= now->after) return true; /* seen before */
  now->after = event.seq;
  now->received = true;
  if (!now->follower->event(now->follower->context, line, bytes, &event)) {
    now->refused = true;
    return false;
  }
  now->ended = event.type == EP_EVENT_END;
  return true;
}

static bool bytes_take(void *context, const char *bytes, size_t count) {
  stream *now = context;
  return ep_line_buffer_add(&now->line, bytes, count, event_take, now);
}

static bool stream_tick(void *context, int64_t sent, int64_t to_send, int64_t received,
                        int64_t to_receive) {
  stream *now = context;
  (void)sent, (void)to_send, (void)received, (void)to_receive;
  if (now->follower->idle) now->follower->idle(now->follower->context);
  return !interrupted;
}

static ep_status stream_once(ep_session *session, const char *events, stream *now,
                             ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], after[32];
  ep_http_response response;
  snprintf(path, sizeof path, "%s", events);
  snprintf(after, sizeof after, "%lld", (long long)now->after);
  ep_path_query(path, "after", after);
  ep_http_request request = {.method = "GET",
                             .path = path,
                             .accept = "application/x-ndjson",
                             .take = bytes_take,
                             .tick = stream_tick,
                             .context = now,
                             .long_lasting = true};
  now->received = false;
  now->line.bytes = 0; /* the server sends a torn line again */
  ep_status status = ep_http_send(session, &request, &response, error);
  ep_http_response_deinit(&response);
  if (now->ended) return EP_OK;
  if (status == EP_CANCELLED && !now->refused && !interrupted)
    return ep_fail(error, EP_INTERNAL, "an event is longer than %d bytes: is %.200s an epochd?",
                   EP_LIMIT_EVENT_BYTES, session->server);
  return status != EP_OK ? status : ep_fail(error, EP_IO, "the stream was interrupted");
}

static bool is_retryable(ep_status status) {
  return status == EP_UNAVAILABLE || status == EP_IO || status == EP_BUSY;
}

/* SIGINT ends the pause. */
static void pause_seconds(int seconds) {
  struct timespec delay = {.tv_sec = seconds};
  if (!interrupted) nanosleep(&delay, NULL);
}

ep_status ep_event_stream_follow(ep_session *session, const char *path, int64_t after,
                                 const ep_event_follower *follower, ep_error *error) {
  enum { PAUSE_MAX_SECONDS = 10, PATIENCE_SECONDS = 60 };
  stream now = {.follower = follower, .after = after};
  int pause_s = 1, waited_s = 0;
  ep_status status;
  for (;;) {
    ep_error fault = {0};
    status = stream_once(session, path, &now, &fault);
    if (now.received) pause_s = 1, waited_s = 0;
    bool again = is_retryable(status) && waited_s < PATIENCE_SECONDS && !interrupted;
    if (status == EP_OK) break;
    if (!again) {
      ep_fail(error, status, "%s", fault.message);
      break;
    }
    if (follower->cut) follower->cut(follower->context, pause_s);
    pause_seconds(pause_s);
    waited_s += pause_s;
    pause_s = pause_s * 2 < PAUSE_MAX_SECONDS ? pause_s * 2 : PAUSE_MAX_SECONDS;
  }
  ep_line_buffer_deinit(&now.line);
  if (interrupted && status != EP_OK) return ep_fail(error, EP_CANCELLED, "interrupted");
  return status;
}
