#include "engine/sweep/shares.h"

#include <math.h>

/* Work ahead, of a worker whose points return one by one: many times the way through epochd. */
#define AHEAD_SECONDS 0.25
/* A portion of one whose points return together. It waits for the next one, some milliseconds. */
#define PORTION_SECONDS 1.0

enum {
  PORTION_LEAST = 32, /* a launch takes as long for fewer */
  PORTION_TURNS = 4   /* of all slots, before the pace is known */
};

static int64_t less(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* What a worker has still to do, by its pace where nothing returns before all does. */
static double left_of(const ep_share_worker *worker) {
  const double done = worker->together ? worker->pace * worker->since : 0;
  return fmax(0, (double)worker->has - done);
}

static double weight_of(const ep_share_worker *workers, int which) {
  return (double)(workers[which].slots > 0 ? workers[which].slots : workers[0].slots);
}

/* The worker's part of all that is left to do. */
static int64_t fair_share(const ep_share_worker *workers, int count, int which, int64_t known) {
  double left = (double)known, weights = 0;
  for (int i = 0; i < count; i++) {
    left += left_of(&workers[i]);
    weights += weight_of(workers, i);
  }
  return weights > 0 ? (int64_t)ceil(left * weight_of(workers, which) / weights) : known;
}

int64_t ep_shares_next(const ep_share_worker *workers, int count, int which, int64_t known) {
  const ep_share_worker *worker = &workers[which];
  const int64_t fair = fair_share(workers, count, which, known);
  if (known <= 0 || worker->slots <= 0) return 0;
  if (worker->together) {
    if (worker->has > 0) return 0;
    const int64_t paced = (int64_t)(worker->pace * PORTION_SECONDS);
    const int64_t first = worker->slots * PORTION_TURNS;
    const int64_t most = paced > first ? paced : first;
    const int64_t portion = less(fair, most);
    return less(portion > PORTION_LEAST ? portion : PORTION_LEAST, known);
  }
  const int64_t ahead = worker->slots + (int64_t)(worker->pace * AHEAD_SECONDS);
  const int64_t most = fair > worker->slots ? fair : worker->slots;
  const int64_t more = less(ahead, most) - worker->has;
  return more > 0 ? less(more, known) : 0;
}
