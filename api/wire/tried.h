/* tried.h: the executors that a training timed before it began, and the one that it took. */
#ifndef EP_API_WIRE_TRIED_H
#define EP_API_WIRE_TRIED_H

#include <stdbool.h>

#include "api/json/writer.h"
#include "api/limits.h"
#include "api/names.h"

struct json_t; /* jansson's */

typedef struct {
  char name[EP_EXECUTOR_BYTES]; /* "cuda/grid" */
  double step_microseconds;     /* of one training step */
} ep_tried_executor;

typedef struct {
  int count; /* 0 = none was timed */
  ep_tried_executor executor[EP_LIMIT_TRIED];
  char chosen[EP_EXECUTOR_BYTES];
} ep_tried_executors;

/* [{"executor": "cuda/grid", "step_microseconds": 36.1}, …]; null where none was timed. */
void ep_tried_write(ep_writer *writer, const ep_tried_executors *tried);
/* Back; NULL (absent) and null are none. `chosen` stays empty. */
bool ep_tried_read(const struct json_t *array, ep_tried_executors *out);

#endif
