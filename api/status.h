/* status.h: what every fallible function of the project returns, and the message that goes with it.
 *
 * A function that can fail returns an ep_status and takes, last, an `ep_error *` that the caller
 * owns (often on its stack) and may pass as NULL. On EP_OK the error is not touched. */
#ifndef EP_API_STATUS_H
#define EP_API_STATUS_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whose fault an error is, and what follows from it: the caller's becomes a 4xx, the job's fails
 * the job with its reason, the device's ends the worker process, which is started again. */
typedef enum {
  EP_CLASS_NONE,
  EP_CLASS_CALLER,
  EP_CLASS_JOB,
  EP_CLASS_DEVICE,
  EP_CLASS_SERVER
} ep_class;

/* X(code, name, class, HTTP status, message where there is no better one). Files of trials have the
 * numbers: a new one comes last. */
#define EP_STATUS_TABLE(X)                                                                      \
  X(OK, "ok", NONE, 200, "success")                                                             \
  X(MALFORMED, "malformed", CALLER, 400, "malformed request")                                   \
  X(UNAUTHORIZED, "unauthorized", CALLER, 401, "authentication required")                       \
  X(FORBIDDEN, "forbidden", CALLER, 403, "not allowed")                                         \
  X(NOT_FOUND, "not_found", CALLER, 404, "not found")                                           \
  X(METHOD, "method_not_allowed", CALLER, 405, "method not allowed")                            \
  X(CONFLICT, "conflict", CALLER, 409, "conflict with the current state")                       \
  X(TOO_LARGE, "too_large", CALLER, 413, "larger than the limit")                               \
  X(MEDIA_TYPE, "unsupported_media_type", CALLER, 415, "unsupported media type")                \
  X(HEAD_TOO_LARGE, "head_too_large", CALLER, 431, "request headers too large")                 \
  X(RANGE, "range_not_satisfiable", CALLER, 416, "range not satisfiable")                       \
  X(INVALID, "invalid", CALLER, 422, "validation failed")                                       \
  X(UNSUPPORTED, "unsupported", CALLER, 422, "not supported by this device")                    \
  X(BUSY, "busy", CALLER, 429, "too many requests, try again later")                            \
  X(UNAVAILABLE, "unavailable", SERVER, 503, "temporarily unavailable, try again later")        \
  X(CANCELLED, "cancelled", JOB, 409, "cancelled")                                              \
  X(PAUSED, "paused", JOB, 409, "paused")                                                       \
  X(DIVERGED, "diverged", JOB, 422, "the loss is not finite")                                   \
  X(DATA, "bad_data", JOB, 422, "the data cannot be used")                                      \
  X(NO_MEMORY, "out_of_memory", JOB, 507, "not enough memory")                                  \
  X(DEVICE, "device_failed", DEVICE, 503, "the device failed")                                  \
  X(IO, "io_error", SERVER, 500, "reading or writing failed")                                   \
  X(UNKNOWN, "outcome_unknown", SERVER, 500, "it is not known whether the operation completed") \
  X(DAMAGED, "damaged", SERVER, 500, "stored data is damaged")                                  \
  X(INTERNAL, "internal", SERVER, 500, "internal error")                                        \
  X(NO_PLOT, "no_such_plot", CALLER, 404, "the job has no such plot")

typedef enum {
#define EP_STATUS_ENUM(code, name, class_, http, text) EP_##code,
  EP_STATUS_TABLE(EP_STATUS_ENUM)
#undef EP_STATUS_ENUM
      EP_STATUS_COUNT
} ep_status;

enum { EP_POINTER_BYTES = 128, EP_MESSAGE_BYTES = 512 };

typedef struct {
  ep_status status;
  char pointer[EP_POINTER_BYTES]; /* JSON pointer (RFC 6901) of the field at fault, "" for none */
  char message[EP_MESSAGE_BYTES]; /* one sentence that says what to change; never NULL */
} ep_error;

/* Sets *error (if any) and returns `status`, so that a function can end with `return ep_fail(…)`.
 */
ep_status ep_fail(ep_error *error, ep_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with the JSON pointer of the field at fault. */
ep_status ep_fail_at(ep_error *error, ep_status status, const char *pointer, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

/* ep_fail with EP_NO_MEMORY and the one message for it. Returns EP_NO_MEMORY. */
ep_status ep_fail_memory(ep_error *error);

const char *ep_status_name(ep_status status); /* "not_found" */
const char *ep_status_text(ep_status status); /* "not found" */
int ep_status_http(ep_status status);         /* 404 */
ep_class ep_status_class(ep_status status);
ep_status ep_status_from_name(const char *name); /* EP_INTERNAL when there is no such name */
/* Of a failed write: EP_UNAVAILABLE where the disk is full or read-only, else EP_IO. */
ep_status ep_status_from_errno(int number);

#ifdef __cplusplus
}
#endif
#endif
