/* differences.h: where the specs of several jobs are not the same. */
#ifndef EP_API_RESPONSES_DIFFERENCES_H
#define EP_API_RESPONSES_DIFFERENCES_H

#include <jansson.h>

#include "api/json/writer.h"
#include "api/limits.h"
#include "api/status.h"

enum { EP_DIFFERENCE_POINTER_BYTES = 512 };

typedef struct {
  char *pointer;                                /* JSON pointer (RFC 6901); owned */
  const json_t *values[EP_LIMIT_COMPARED_JOBS]; /* one a spec, lent by them; NULL = null or none */
} ep_difference;

typedef struct {
  json_t *specs[EP_LIMIT_COMPARED_JOBS]; /* owned */
  int specs_count;
  ep_difference *rows; /* [count], in the order of the specs; owned */
  int count, capacity;
  int64_t omitted; /* beyond EP_LIMIT_DIFFERENCES */
} ep_differences;

/* Walks specs with all defaults filled in: texts: [count], at most EP_LIMIT_COMPARED_JOBS. What is
 * not there counts as null; members of an object and items of arrays of the same length are
 * compared one by one, other arrays and long ones as a whole; /name and /tags are left out,
 * and so is the name of a dataset where its hash is the same, its hash where its name is another.
 * The caller owns *out: ep_differences_deinit. EP_INTERNAL for a text that is no spec. */
ep_status ep_differences_find(const char *const *texts, int count, ep_differences *out,
                              ep_error *error);
void ep_differences_deinit(ep_differences *differences);

/* A value of a spec (NULL: null) as JSON; what is too long to show is described by a string. */
void ep_spec_value_write(ep_writer *writer, const json_t *value);

#endif
