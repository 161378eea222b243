/* problem.h: an error response (RFC 9457, application/problem+json) that can name several fields.
 */
#ifndef EP_API_JSON_PROBLEM_H
#define EP_API_JSON_PROBLEM_H

#include "api/json/writer.h"
#include "api/limits.h"
#include "api/status.h"

typedef struct {
  char pointer[EP_POINTER_BYTES];
  char detail[EP_MESSAGE_BYTES];
} ep_problem_error;

/* Caller-owned, no heap. Start from `ep_problem problem = {0}`. */
typedef struct {
  ep_status status;              /* EP_OK while nothing is wrong */
  char detail[EP_MESSAGE_BYTES]; /* one sentence about the whole */
  ep_problem_error errors[EP_LIMIT_PROBLEM_ERRORS];
  int errors_count;  /* at most the limit; further ones are dropped */
  int retry_seconds; /* of EP_BUSY and EP_UNAVAILABLE, when to try again; 0 = soon */
} ep_problem;

/* Adds one error and sets status and, if it is the first, the detail. Returns `status`. */
ep_status ep_problem_add(ep_problem *problem, ep_status status, const char *pointer,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Sets status and detail with no field. Returns `status`. */
ep_status ep_problem_set(ep_problem *problem, ep_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ep_problem_set with EP_NO_MEMORY and the one message for it. Returns EP_NO_MEMORY. */
ep_status ep_problem_fail_memory(ep_problem *problem);

ep_status ep_problem_from_error(ep_problem *problem, const ep_error *error);
/* Its detail, and the pointer of its first error. */
ep_status ep_problem_to_error(const ep_problem *problem, ep_error *error);

/* {"type":"about:blank"-style
 * URI,"title":…,"status":422,"detail":…,"instance":…,"errors":[{"pointer":…,"detail":…}]}
 * `instance` may be NULL. The caller owns the text (free). */
char *ep_problem_format(const ep_problem *problem, const char *instance);

/* {"pointer":…,"detail":…} of each: error: [count]. */
void ep_problem_errors_write(ep_writer *writer, const ep_problem_error *error, int count);

#endif
