/* ranks.h: a training on several ranks, as it is planned. */
#ifndef EP_API_RESPONSES_RANKS_H
#define EP_API_RESPONSES_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json/writer.h"
#include "api/limits.h"

typedef struct {
  int first_layer, last_layer; /* of the model's own list, both included */
  int64_t parameters;
  double cost_share; /* of a row's way through all layers, forward and backward: 0 … 1 */
} ep_stage_view;

/* "parallel" of ?validate=only and of a job. */
typedef struct {
  int data, model, micro_batches;
  ep_stage_view stage[EP_LIMIT_RANKS]; /* [model] */
  double bubble;    /* share of the time that a rank waits for other stages at best: 0 … 1 */
  const char *note; /* NULL = none */
} ep_parallel_view;

/* NULL is written as null. */
void ep_parallel_view_write(ep_writer *writer, const ep_parallel_view *parallel);

#endif
