/* line_buffer.h: lines out of bytes that arrive in pieces. */
#ifndef EP_CLIENTS_EPOCHCTL_HTTP_LINE_BUFFER_H
#define EP_CLIENTS_EPOCHCTL_HTTP_LINE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

/* The start of a line, at most EP_LIMIT_EVENT_BYTES. From {0}. */
typedef struct {
  char *text;
  size_t bytes;
} ep_line_buffer;

/* Takes a line without its '\n'; it ends in 0 and is a loan for the call. False ends the lines. */
typedef bool (*ep_line_take)(void *context, const char *line, size_t bytes);

/* Adds bytes and calls `take` for each line that they complete, without the spaces before it, which
 * are heartbeats. Empty lines are left out. False when a line is too long, when memory is short, or
 * when `take` returned false. */
bool ep_line_buffer_add(ep_line_buffer *line, const char *bytes, size_t count, ep_line_take take,
                        void *context);
void ep_line_buffer_deinit(ep_line_buffer *line);

#endif
