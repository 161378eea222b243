/* warnings.h: what was done with a request that its sender may not expect, by the places in it. */
#ifndef EP_API_JSON_WARNINGS_H
#define EP_API_JSON_WARNINGS_H

#include "api/json/problem.h"
#include "api/json/writer.h"

/* A zeroed one is empty. */
typedef struct {
  ep_problem_error *entry; /* [EP_LIMIT_PROBLEM_ERRORS], owned; NULL: none is listed */
  int listed;
  int64_t count; /* of all, also those that are not listed */
} ep_warnings;

/* Counts one, and lists it while there is room (and memory). */
void ep_warnings_add(ep_warnings *warnings, const char *pointer, const char *detail);
/* "warnings":[{"pointer":…,"detail":…},…], and "warnings_left_out" where not all are listed;
 * nothing where there are none. */
void ep_warnings_write(ep_writer *writer, const ep_warnings *warnings);
/* A text of them in one line, "/rows/0/city: …; … and 3 more", for a format that has no list; cut
 * at the end of `out`. */
void ep_warnings_line(const ep_warnings *warnings, char *out, size_t bytes);
void ep_warnings_deinit(ep_warnings *warnings); /* a zeroed one is allowed */

#endif
