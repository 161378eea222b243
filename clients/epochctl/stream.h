/* stream.h: a job's events, followed to their end, over cuts of the connection. */
#ifndef EP_CLIENTS_EPOCHCTL_STREAM_H
#define EP_CLIENTS_EPOCHCTL_STREAM_H

#include <signal.h>

#include "api/wire/event.h"
#include "clients/epochctl/session.h"

/* A line that grows until its end comes, never over EP_LIMIT_EVENT_BYTES. From {0}. */
typedef struct {
  char *text;
  size_t bytes;
} ep_line;

/* Takes bytes and calls `whole` for each line that they complete (without its '\n'; empty lines,
 * the heartbeats, are left out). False when a line is too long or memory short, or when `whole` was
 * false. */
typedef bool (*ep_line_whole)(void *context, const char *line, size_t bytes);
bool ep_line_take(ep_line *line, const char *bytes, size_t count, ep_line_whole whole,
                  void *context);
void ep_line_deinit(ep_line *line);

typedef struct {
  /* A line as the server sent it, and what it says; false ends the watching. */
  bool (*event)(void *context, const char *line, size_t bytes, const ep_event *event);
  void (*idle)(void *context);             /* at least once a second; may be NULL */
  void (*cut)(void *context, int seconds); /* the stream is cut; it is tried again after so long */
  void *context;
} ep_follower;

/* Set by SIGINT while ep_follow_guard is on: following ends soon after. */
extern volatile sig_atomic_t ep_follow_interrupted;
void ep_follow_guard(void);

/* Follows the job's events after `after` until the one of type end was seen (EP_OK). EP_CANCELLED
 * when interrupted or when `event` said no. A cut stream is taken up after the last line that came
 * whole, as often as it yields something; EP_UNAVAILABLE once nothing came for a minute of trying.
 */
ep_status ep_follow(ep_session *session, const char *job, int64_t after,
                    const ep_follower *follower, ep_error *error);

#endif
