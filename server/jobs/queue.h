/* queue.h: the order in which jobs start: those that were already running when something died, then
 * by priority, then fair between owners, then by age.
 *
 * Not thread-safe: jobs.c guards it. One sorted array of plain entries: 10,000 queued jobs are 640
 * KiB, and a place in the queue is found by bisection. */
#ifndef EP_SERVER_JOBS_QUEUE_H
#define EP_SERVER_JOBS_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/process/id.h"

typedef struct {
  char id[EP_ID_BYTES];
  int priority; /* higher goes first */
  bool again;   /* it was running before: goes first */
} ep_queue_entry;

typedef struct {
  ep_queue_entry *entries; /* [count], the next one first; owned */
  int64_t count, capacity;
} ep_queue;

void ep_queue_deinit(ep_queue *queue); /* an ep_queue starts as {0} */

/* Makes room for so many entries in all; false: memory is short. */
bool ep_queue_reserve(ep_queue *queue, int64_t entries);
bool ep_queue_add(ep_queue *queue, const ep_queue_entry *entry); /* false: memory is short */

/* Where the entry stands: 0 = next, -1 = not in the queue. */
int64_t ep_queue_position(const ep_queue *queue, const ep_queue_entry *entry);

/* Gives a queued entry another priority, and so another place; false: was not there. */
bool ep_queue_reorder(ep_queue *queue, ep_queue_entry *entry, int priority);

bool ep_queue_remove(ep_queue *queue, const ep_queue_entry *entry); /* false: was not there */

#endif
