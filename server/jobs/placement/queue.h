/* queue.h: the order in which jobs start: first those that a death had interrupted, then by
 * priority and wait, then by rounds of the owners, then by age. No other file has this order.
 *
 * Each EP_LIMIT_AGEING_SECONDS of waiting count as much as a step of priority. As all who wait age
 * alike, the order of two jobs does not depend on the time at which it is asked for: a job is due
 * at since_us - priority * EP_LIMIT_AGEING_SECONDS, or as early as one of the same priority that
 * comes after it, and the first that is due starts. So waits do not change the order within a
 * priority, where owners take turns.
 *
 * A round has one job of each owner who waits, an owner's oldest in the first. Whoever queues a
 * first job takes part in the round that is the next one to start. So a thousand jobs of one owner
 * hold up another's by one.
 *
 * Not thread-safe: ep_jobs.mutex guards it. One sorted array of pointers: bisection finds a
 * position. */
#ifndef EP_SERVER_JOBS_PLACEMENT_QUEUE_H
#define EP_SERVER_JOBS_PLACEMENT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/names.h"

typedef struct {
  char id[EP_ID_BYTES];
  int priority;     /* higher runs first */
  bool again;       /* it was running before: goes first */
  uint64_t owner;   /* a hash of the name */
  int64_t since_us; /* it waits since then: its submission */
  int64_t round;    /* of its owner's jobs; the queue's, as the next */
  int64_t due_us;
} ep_queue_entry;

typedef struct {
  ep_queue_entry **entries; /* [count], the next one first; the array is owned, they are lent */
  int64_t count, capacity;
} ep_queue; /* starts as {0} */

void ep_queue_deinit(ep_queue *queue);

/* Makes room for so many entries in all; false: memory is short. */
bool ep_queue_reserve(ep_queue *queue, int64_t entries);
/* Gives the entry its round; it is lent until it is removed. False: memory is short. */
bool ep_queue_add(ep_queue *queue, ep_queue_entry *entry);

/* The entry's position: 0 = next, -1 = not in the queue. */
int64_t ep_queue_position(const ep_queue *queue, const ep_queue_entry *entry);

/* Gives a queued entry another priority, and so another position; false: it is not queued. */
bool ep_queue_reorder(ep_queue *queue, ep_queue_entry *entry, int priority);

bool ep_queue_remove(ep_queue *queue, const ep_queue_entry *entry); /* false: it is not queued */

#endif
