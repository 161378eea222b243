/* event_stream.h: the events of a job or a sweep, followed to the last one over cuts of the
 * connection. */
#ifndef EP_CLIENTS_EPOCHCTL_HTTP_EVENT_STREAM_H
#define EP_CLIENTS_EPOCHCTL_HTTP_EVENT_STREAM_H

#include <stdbool.h>

#include "api/wire/event.h"
#include "clients/epochctl/http/session.h"

typedef struct {
  /* Takes an event: its line as the server sent it, and the same parsed. False ends the stream. */
  bool (*event)(void *context, const char *line, size_t bytes, const ep_event *event);
  void (*idle)(void *context);             /* at least once a second; may be NULL */
  void (*cut)(void *context, int seconds); /* the stream is cut; the next try is in `seconds` */
  void *context;
} ep_event_follower;

/* From here on the first SIGINT ends the stream, and a second one the program. */
void ep_event_stream_guard(void);
bool ep_event_stream_interrupted(void);

/* Follows the events at `path`, "/v1/jobs/ID/events", with seq > `after` up to the one of type end
 * (EP_OK). A cut stream goes on after its last whole line. EP_CANCELLED when interrupted or when
 * `event` returned false; the error of the last try after a minute without an event. */
ep_status ep_event_stream_follow(ep_session *session, const char *path, int64_t after,
                                 const ep_event_follower *follower, ep_error *error);

#endif
