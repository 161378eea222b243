#include "engine/search/rung.h"

#include <math.h>
#include <stdbool.h>

/* Two trainings of a rung are of two trials, so that there are no ties. */
static bool is_better(const ep_rung_training *trainings, uint32_t a, uint32_t b) {
  if (trainings[a].metric != trainings[b].metric) return trainings[a].metric < trainings[b].metric;
  return trainings[a].trial < trainings[b].trial;
}

/* A pairing heap (Fredman, Sedgewick, Sleator and Tarjan 1986). */
typedef struct {
  ep_rung_training *trainings;
  int link;
  bool worst_first;
} pairing_heap;

static uint32_t meld(pairing_heap heap, uint32_t a, uint32_t b) {
  if (!a || !b) return a ? a : b;
  if (is_better(heap.trainings, a, b) == heap.worst_first) {
    uint32_t swapped = a;
    a = b;
    b = swapped;
  }
  heap.trainings[b].sibling[heap.link] = heap.trainings[a].child[heap.link];
  heap.trainings[a].child[heap.link] = b;
  return a;
}

static void push(pairing_heap heap, uint32_t *root, uint32_t number) {
  heap.trainings[number].child[heap.link] = heap.trainings[number].sibling[heap.link] = 0;
  *root = meld(heap, *root, number);
}

/* The children meld in pairs, then the pairs from the last to the first. */
static uint32_t pop(pairing_heap heap, uint32_t *root) {
  uint32_t popped = *root, pairs = 0, next = heap.trainings[popped].child[heap.link];
  while (next) {
    uint32_t a = next, b = heap.trainings[a].sibling[heap.link];
    next = b ? heap.trainings[b].sibling[heap.link] : 0;
    uint32_t pair = meld(heap, a, b);
    heap.trainings[pair].sibling[heap.link] = pairs;
    pairs = pair;
  }
  *root = 0;
  while (pairs) {
    uint32_t pair = pairs;
    pairs = heap.trainings[pair].sibling[heap.link];
    heap.trainings[pair].sibling[heap.link] = 0;
    *root = meld(heap, *root, pair);
  }
  return popped;
}

void ep_rung_add(ep_rung *rung, ep_rung_training *trainings, uint32_t number, int factor) {
  const pairing_heap best = {trainings, EP_RUNG_RANK, true},
                     rest = {trainings, EP_RUNG_RANK, false},
                     waiting = {trainings, EP_RUNG_WAITING, false};
  rung->count++;
  if (!isnan(trainings[number].metric)) {
    bool among = rung->best && is_better(trainings, number, rung->best);
    if (among) push(best, &rung->best, number);
    if (!among) push(rest, &rung->rest, number);
    rung->best_count += among;
    push(waiting, &rung->waiting, number);
  }
  int64_t size = rung->count / factor;
  for (; rung->best_count > size; rung->best_count--)
    push(rest, &rung->rest, pop(best, &rung->best));
  for (; rung->best_count < size && rung->rest; rung->best_count++)
    push(best, &rung->best, pop(rest, &rung->rest));
}

uint32_t ep_rung_promotable(const ep_rung *rung, const ep_rung_training *trainings) {
  if (!rung->best || !rung->waiting) return 0;
  return is_better(trainings, rung->best, rung->waiting) ? 0 : rung->waiting;
}

void ep_rung_promote(ep_rung *rung, ep_rung_training *trainings) {
  pop((pairing_heap){trainings, EP_RUNG_WAITING, false}, &rung->waiting);
}
