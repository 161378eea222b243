/* rung.h: the trainings of one rung of ASHA, and which of them may be promoted. */
#ifndef EP_ENGINE_SEARCH_RUNG_H
#define EP_ENGINE_SEARCH_RUNG_H

#include <stdint.h>

/* The heaps that a training lies in: one of the two of its rank, and the waiting ones. */
enum { EP_RUNG_RANK, EP_RUNG_WAITING, EP_RUNG_LINKS };

/* A training. Its links are numbers of others, 0 for none: heaps need no memory of their own. */
typedef struct {
  double metric; /* smaller is better; NaN: it failed */
  uint32_t trial;
  uint32_t child[EP_RUNG_LINKS], sibling[EP_RUNG_LINKS];
  int rung;
} ep_rung_training;

typedef struct {
  int64_t count;      /* results */
  int64_t best_count; /* of them, in `best`: count / factor, less where too many failed */
  uint32_t best;      /* heap, the worst of them first */
  uint32_t rest;      /* heap of the others, best first */
  uint32_t waiting;   /* heap of those that were not promoted, best first */
} ep_rung;

/* Adds a training with its result. O(log n), amortized. */
void ep_rung_add(ep_rung *rung, ep_rung_training *trainings, uint32_t number, int factor);

/* The best that was not promoted, if it is among the best count / factor; else 0. */
uint32_t ep_rung_promotable(const ep_rung *rung, const ep_rung_training *trainings);

/* Takes that one: it is promoted. */
void ep_rung_promote(ep_rung *rung, ep_rung_training *trainings);

#endif
