/* ranks.h: what each rank of a training did, of one that has several. */
#ifndef EP_API_WIRE_RANKS_H
#define EP_API_WIRE_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json/writer.h"
#include "api/limits.h"

struct json_t; /* jansson's */

/* Times are means of a step. */
typedef struct {
  int data, model; /* the replica and the stage that it was */
  int node;        /* of its allocation; 0 = the first one, or the only machine */
  int64_t bytes;   /* of memory that it held by itself */
  double compute_microseconds;
  double communication_microseconds; /* sums over replicas, copies between stages */
  double idle_share;                 /* of its time: waiting for other ranks; 0 … 1 */
} ep_rank_result;

typedef struct {
  int count; /* 0 = the training had one rank */
  ep_rank_result rank[EP_LIMIT_RANKS];
} ep_rank_results;

/* An array of objects; null for one rank. device: of all of them. */
void ep_ranks_write(ep_writer *writer, const ep_rank_results *ranks, const char *device);
/* Back; NULL (absent) and null are one rank. */
bool ep_ranks_read(const struct json_t *array, ep_rank_results *out);

#endif
