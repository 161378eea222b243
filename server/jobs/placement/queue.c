#include "server/jobs/placement/queue.h"

#include <stdlib.h>
#include <string.h>

#include "api/limits.h"

void ep_queue_deinit(ep_queue *queue) {
  free(queue->entries);
  *queue = (ep_queue){0};
}

/* Ids grow with time behind their prefix, so they are the age. */
static int age_compare(const ep_queue_entry *a, const ep_queue_entry *b) {
  int age = strcmp(a->id + EP_ID_PREFIX_BYTES, b->id + EP_ID_PREFIX_BYTES);
  return age != 0 ? age : strcmp(a->id, b->id);
}

/* Less than 0 when `a`, of the same priority, starts before `b`. */
static int turn_compare(const ep_queue_entry *a, const ep_queue_entry *b) {
  if (a->round != b->round) return a->round < b->round ? -1 : 1;
  return age_compare(a, b);
}

/* Less than 0 when `a` starts before `b`. */
static int entry_compare(const ep_queue_entry *a, const ep_queue_entry *b) {
  if (a->again != b->again) return a->again ? -1 : 1;
  if (a->due_us != b->due_us) return a->due_us < b->due_us ? -1 : 1;
  if (a->priority != b->priority) return a->priority > b->priority ? -1 : 1;
  return turn_compare(a, b);
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

/* Whether both are of one level: those of a priority, which take turns. */
static bool is_level(const ep_queue_entry *entry, const ep_queue_entry *other) {
  return !other->again && other->priority == entry->priority;
}

/* When the entry is due by its own wait. */
static int64_t due_alone(const ep_queue_entry *entry) {
  return entry->since_us - entry->priority * (EP_LIMIT_AGEING_SECONDS * INT64_C(1000000));
}

static int slots_compare(const void *a, const void *b) {
  return entry_compare(*(ep_queue_entry *const *)a, *(ep_queue_entry *const *)b);
}

static void entries_sort(ep_queue *queue) {
  qsort(queue->entries, (size_t)queue->count, sizeof *queue->entries, slots_compare);
}

/* Sets when those of the level in front of `position` are due, of which the last is followed by one
 * that is due at `least_us`. They are in their order; where one changes, all are sorted. */
static void dues_set(ep_queue *queue, const ep_queue_entry *entry, int64_t position,
                     int64_t least_us) {
  bool moved = false;
  for (int64_t i = position; i-- > 0;) {
    ep_queue_entry *other = queue->entries[i];
    if (!is_level(entry, other)) continue;
    int64_t own_us = due_alone(other);
    if (own_us < least_us) least_us = own_us;
    if (other->due_us == least_us) break; /* and so are all before it */
    other->due_us = least_us;
    moved = true;
  }
  if (moved) entries_sort(queue);
}

/* The owner's younger jobs come in the rounds after the entry's. */
static void younger_shift(ep_queue *queue, const ep_queue_entry *entry) {
  int64_t least = entry->round + 1;
  bool moved = false;
  for (int64_t i = 0; i < queue->count; i++) { /* an owner's are in the order of their age */
    ep_queue_entry *other = queue->entries[i];
    if (!is_level(entry, other) || other->owner != entry->owner || age_compare(other, entry) < 0)
      continue;
    moved = moved || other->round < least;
    if (other->round < least) other->round = least;
    least = other->round + 1;
  }
  if (!moved) return;
  for (int64_t i = 0; i < queue->count; i++) /* so that they are sorted by turns alone */
    if (is_level(entry, queue->entries[i])) queue->entries[i]->due_us = INT64_MIN;
  entries_sort(queue);
  dues_set(queue, entry, queue->count, INT64_MAX);
}

/* Gives the entry the round after that of its owner's next older job, or the first that is left. */
static void round_give(ep_queue *queue, ep_queue_entry *entry) {
  bool younger = false, older = false;
  for (int64_t i = queue->count; i-- > 0 && !older;) {
    const ep_queue_entry *other = queue->entries[i];
    if (!is_level(entry, other)) continue;
    older = other->owner == entry->owner && age_compare(other, entry) < 0;
    younger = younger || (other->owner == entry->owner && !older);
    entry->round = other->round + older; /* at last: of the first */
  }
  if (younger) younger_shift(queue, entry);
}

/* Sets when the entry is due, which is not in the queue yet, and those that go before it. */
static void due_give(ep_queue *queue, ep_queue_entry *entry) {
  int64_t i = queue->count;
  entry->due_us = due_alone(entry);
  while (i > 0 && (!is_level(entry, queue->entries[i - 1]) ||
                   turn_compare(entry, queue->entries[i - 1]) < 0)) {
    const ep_queue_entry *after = queue->entries[--i];
    if (is_level(entry, after) && after->due_us < entry->due_us) entry->due_us = after->due_us;
  }
  dues_set(queue, entry, i, entry->due_us);
}

bool ep_queue_add(ep_queue *queue, ep_queue_entry *entry) {
  if (!ep_queue_reserve(queue, queue->count + 1)) return false;
  entry->round = 0;
  entry->due_us = due_alone(entry);
  if (!entry->again) {
    round_give(queue, entry);
    due_give(queue, entry);
  }
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
  if (entry->again || position == 0) return true;
  int64_t next = position;
  while (next < queue->count && !is_level(entry, queue->entries[next])) next++;
  dues_set(queue, entry, position, next < queue->count ? queue->entries[next]->due_us : INT64_MAX);
  return true;
}

bool ep_queue_reorder(ep_queue *queue, ep_queue_entry *entry, int priority) {
  bool queued = ep_queue_remove(queue, entry);
  entry->priority = priority;
  return queued && ep_queue_add(queue, entry); /* it left room: no memory is needed */
}
