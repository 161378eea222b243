/* found.h: what a learning-rate finder (find: "lr") saw: the loss of each step of a short training
 * whose rate grows, and the rate that follows from it. */
#ifndef EP_API_RATES_FOUND_H
#define EP_API_RATES_FOUND_H

#include <stdbool.h>

#include "api/json/writer.h"
#include "api/limits.h"

struct json_t;

typedef struct {
  int count;                         /* steps; 0: the job was no finder */
  double lr[EP_LIMIT_FOUND_STEPS];   /* [count], growing */
  double loss[EP_LIMIT_FOUND_STEPS]; /* [count] mean loss of the step's batch, before its update */
  double smoothed[EP_LIMIT_FOUND_STEPS]; /* [count] their running mean */
  double steepest; /* where the smoothed loss falls fastest; NaN: it does not fall */
  double least;    /* where it is least; the same */
  double proposal; /* the rate to train with; the same */
  bool exploded;   /* the loss did, before the last rate */
} ep_found_lr;

/* Its members: proposal, steepest, least, exploded, lr, loss, smoothed. */
void ep_found_lr_write_members(ep_writer *writer, const ep_found_lr *found);
/* An object of them, or or null. */
void ep_found_lr_write(ep_writer *writer, const ep_found_lr *found);
/* NULL and null are none. False: it is something else. */
bool ep_found_lr_read(const struct json_t *object, ep_found_lr *out);

#endif
