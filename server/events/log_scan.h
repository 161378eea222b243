/* log_scan.h: reads the file of an event log from its beginning and checks each line: its seal
 * (api/wire/event_seal.h), its seq, its job. A line without a seal, of an older epochd, is read as
 * JSON; after the first line with a seal every line has one. The first wrong line is where a log is
 * cut. */
#ifndef EP_SERVER_EVENTS_LOG_SCAN_H
#define EP_SERVER_EVENTS_LOG_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"
#include "api/vocabulary.h"

/* The last reports of a log: a training that starts again repeats some, and none is there twice. */
typedef struct {
  int64_t epoch;        /* the greatest of an epoch or trial line; 0 = none */
  int64_t layers_epoch; /* the same of a `layers` line */
  int64_t batch_epoch;  /* the same of a `batch` line, and … */
  int64_t batch;        /* … the greatest batch in that epoch */
} ep_log_reports;

/* Notes a line of any type. */
void ep_log_reports_note(ep_log_reports *reports, ep_event_type type, int64_t epoch, int64_t batch);

typedef struct {
  int64_t lines, bytes; /* that are right */
  ep_log_reports reports;
  bool started, ended; /* it has a `started` or `restarted`, its `end` */
  bool damaged;        /* what follows is more than a torn last line */
} ep_log_scan;

/* Called for each right line, with its newline, which is lent; offset: in the file. */
typedef ep_status ep_log_scan_line(void *context, const char *line, size_t bytes, int64_t offset,
                                   ep_error *error);

/* visit: NULL = none; a failure of it ends the scan and is returned. EP_IO: the file cannot be
 * read. */
ep_status ep_log_scan_file(int file, ep_log_scan_line *visit, void *context, ep_log_scan *out,
                           ep_error *error);

#endif
