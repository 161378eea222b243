#include "server/jobs/placement/queue.h"

#include <stdlib.h>
#include <string.h>

void ep_queue_deinit(ep_queue *queue) {
  free(queue->entries);
  *queue = (ep_queue){0};
}

/* Ids grow with time behind their prefix, so they are the age. */
static int age_compare(const ep_queue_entry *a, const ep_queue_entry *b) {
  int age = strcmp(a->id + EP_ID_PREFIX_BYTES, b->id + EP_ID_PREFIX_BYTES);
  return age != 0 ? age : strcmp(a->id, b->id);
}

/* Less than 0 when `a` starts before `b`. */
static int entry_compare(const ep_queue_entry *a, const ep_queue_entry *b) {
  if (a->again != b->again) return a->again ? -1 : 1;
  if (a->priority != b->priority) return a->priority > b->priority ? -1 : 1;
  if (a->round != b->round) return a->round < b->round ? -1 : 1;
  return age_compare(a, b);
}

/* The first position whose entry does not start before `entry`. */
static int64_t position_find(const ep_queue *queue, const ep_queue_entry *entry) {
  int64_t low = 0, high = queue->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (entry_compare(queue->entries[middle], entry) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool ep_queue_reserve(ep_queue *queue, int64_t entries) {
  if (entries <= queue->capacity) return true;
  int64_t capacity = queue->capacity == 0 ? 64 : queue->capacity * 2;
  if (capacity < entries) capacity = entries;
  ep_queue_entry **grown = realloc(queue->entries, (size_t)capacity * sizeof *grown);
  if (!grown) return false;
  queue->entries = grown;
  queue->capacity = capacity;
  return true;
}

/* The entries of the same priority as `entry`: [*from, *to). */
static void level_find(const ep_queue *queue, const ep_queue_entry *entry, int64_t *from,
                       int64_t *to) {
  ep_queue_entry bound = *entry;
  bound.round = INT64_MIN;
  *from = position_find(queue, &bound);
  bound.round = INT64_MAX;
  *to = position_find(queue, &bound);
}

static int slots_compare(const void *a, const void *b) {
  return entry_compare(*(ep_queue_entry *const *)a, *(ep_queue_entry *const *)b);
}

/* The owner's younger jobs come in the rounds after the entry's. */
static void younger_shift(ep_queue *queue, const ep_queue_entry *entry, int64_t from, int64_t to) {
  int64_t least = entry->round + 1;
  bool moved = false;
  for (int64_t i = from; i < to; i++) { /* an owner's are in the order of their age */
    ep_queue_entry *other = queue->entries[i];
    if (other->owner != entry->owner || age_compare(other, entry) < 0) continue;
    moved = moved || other->round < least;
    if (other->round < least) other->round = least;
    least = other->round + 1;
  }
  if (moved)
    qsort(&queue->entries[from], (size_t)(to - from), sizeof *queue->entries, slots_compare);
}

/* Gives the entry the round after that of its owner's next older job, or the first that is left. */
static void round_give(ep_queue *queue, ep_queue_entry *entry) {
  int64_t from, to;
  bool younger = false;
  level_find(queue, entry, &from, &to);
  entry->round = from < to ? queue->entries[from]->round : 0;
  for (int64_t i = to; i-- > from;) {
    const ep_queue_entry *other = queue->entries[i];
    if (other->owner != entry->owner) continue;
    if (age_compare(other, entry) < 0) {
      entry->round = other->round + 1;
      break;
    }
    younger = true;
  }
  if (younger) younger_shift(queue, entry, from, to);
}

bool ep_queue_add(ep_queue *queue, ep_queue_entry *entry) {
  if (!ep_queue_reserve(queue, queue->count + 1)) return false;
  entry->round = 0;
  if (!entry->again) round_give(queue, entry);
  int64_t position = position_find(queue, entry);
  ep_queue_entry **slot = &queue->entries[position];
  memmove(slot + 1, slot, (size_t)(queue->count - position) * sizeof *slot);
  *slot = entry;
  queue->count++;
  return true;
}

int64_t ep_queue_position(const ep_queue *queue, const ep_queue_entry *entry) {
  int64_t position = position_find(queue, entry);
  if (position == queue->count || entry_compare(queue->entries[position], entry) != 0) return -1;
  return position;
}

bool ep_queue_remove(ep_queue *queue, const ep_queue_entry *entry) {
  int64_t position = ep_queue_position(queue, entry);
  if (position < 0) return false;
  ep_queue_entry **slot = &queue->entries[position];
  memmove(slot, slot + 1, (size_t)(queue->count - position - 1) * sizeof *slot);
  queue->count--;
  return true;
}

bool ep_queue_reorder(ep_queue *queue, ep_queue_entry *entry, int priority) {
  bool queued = ep_queue_remove(queue, entry);
  entry->priority = priority;
  return queued && ep_queue_add(queue, entry); /* it left room: no memory is needed */
}
