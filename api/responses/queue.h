/* queue.h: GET /v1/queue. */
#ifndef EP_API_RESPONSES_QUEUE_H
#define EP_API_RESPONSES_QUEUE_H

#include <stdint.h>

typedef struct {
  const char *id, *name, *owner; /* id NULL: it is counted, and has its position, and no more */
  int priority;
  double start_seconds; /* until it starts, as far as estimates say; not finite: not known */
} ep_queue_row;
/* {"object":"queue","queued":…,"running":…,"jobs":[{"id","position",
 * "start_seconds","priority","owner","name"}…]}: running jobs first, without a position, which
 * counts from 1. The caller owns the text (free); NULL when memory is short. */
char *ep_queue_format(const ep_queue_row *queued, int64_t queued_count, const ep_queue_row *running,
                      int64_t running_count);

#endif
