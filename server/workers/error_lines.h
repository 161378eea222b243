/* error_lines.h: what a worker process writes to stderr becomes records of epochd's log, a line
 * each. */
#ifndef EP_SERVER_WORKERS_ERROR_LINES_H
#define EP_SERVER_WORKERS_ERROR_LINES_H

#include <stddef.h>

#include "api/names.h"

enum { EP_ERROR_LINE_BYTES = 400 }; /* a longer line becomes several records */

typedef struct {
  int fd;                          /* the end that is read, non-blocking; -1 = none */
  char device[EP_DEVICE_ID_BYTES]; /* "" = not named */
  char job[EP_ID_BYTES];           /* that the worker has; "" = none */
  size_t bytes;
  char line[EP_ERROR_LINE_BYTES]; /* [bytes], the begin of a line */
} ep_error_lines;

/* Reads once, and logs the lines that are whole. At the end of the file it closes. */
void ep_error_lines_read(ep_error_lines *lines);
/* Logs what is left, and closes. */
void ep_error_lines_close(ep_error_lines *lines);

#endif
