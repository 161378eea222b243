/* shares.h: how many points of a sweep a worker gets at a time: enough that it need not wait for
 * the next ones, and few enough that all workers end together. */
#ifndef EP_ENGINE_SWEEP_SHARES_H
#define EP_ENGINE_SWEEP_SHARES_H

#include <stdbool.h>
#include <stdint.h>

/* A worker of a sweep. */
typedef struct {
  int64_t slots; /* trainings at a time; 0 = not known: it gets none, and counts as one that will */
  bool together; /* they are trained in one go, and return in one */
  int64_t has;   /* that it has and has not returned */
  double pace;   /* results a second, so far; 0 = not known */
  double since;  /* seconds since it got what it has; of `together` alone */
} ep_share_worker;

/* How many of the points that nobody has go to workers[which]; `known` of them are known. */
int64_t ep_shares_next(const ep_share_worker *workers, int count, int which, int64_t known);

#endif
