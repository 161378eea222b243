/* audit.h: DATA/audit.ndjson: a line for each change that somebody with a token made, or may have
 * made, appended and never changed. Each line has the SHA-256 of the one before, so that a line
 * that is changed, taken out or put in shows. What is cut from the end does not: keep the last
 * line's hash elsewhere.
 *
 * Thread-safe. */
#ifndef EP_SERVER_AUDIT_AUDIT_H
#define EP_SERVER_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/status.h"

#define EP_AUDIT_FILE "audit.ndjson" /* in DATA */

typedef struct ep_audit ep_audit;

/* What was done. Texts are lent. */
typedef struct {
  const char *token, *owner, *address, *request_id, *method, *path;
  const char *location; /* of what was made; NULL = nothing */
  int status;
  bool unknown; /* whether it was done: the disk failed meanwhile */
} ep_audit_entry;

/* Opens the file to go on behind its last line; what a crash left of a line is cut. EP_DAMAGED: the
 * last line is none of this program's. */
ep_status ep_audit_open(const char *data_dir, ep_audit **out, ep_error *error);
void ep_audit_close(ep_audit *audit); /* NULL is allowed */

/* Returns when the line is on disk; EP_IO, EP_UNAVAILABLE: it is not in the file. */
ep_status ep_audit_append(ep_audit *audit, const ep_audit_entry *entry, ep_error *error);

/* Reads the whole file. *lines: those that are right; EP_DAMAGED: the next one breaks the chain, or
 * is torn. A file that is not there has no lines. */
ep_status ep_audit_check(const char *data_dir, int64_t *lines, ep_error *error);

#endif
