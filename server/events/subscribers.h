/* subscribers.h: who wants to be called when something happens: subscriptions, each with a key.
 * Calls are made with no lock held; a subscription that was removed is never called afterwards.
 *
 * Thread-safe. Kept as one array that is walked: 10,000 watchers are a walk of some 20
 * microseconds. */
#ifndef EP_SERVER_EVENTS_SUBSCRIBERS_H
#define EP_SERVER_EVENTS_SUBSCRIBERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void ep_wake(void *context);

typedef struct {
  ep_wake *wake; /* NULL: the slot is free */
  void *context;
  uint64_t key;
  uint32_t generation; /* tells a slot's users apart, so that a stale token does nothing */
  bool once, due, running;
  pthread_t caller; /* the thread that it runs in */
} ep_subscribers_slot;

typedef struct {
  pthread_mutex_t mutex;      /* guards everything below */
  pthread_cond_t idle;        /* a call returned */
  ep_subscribers_slot *slots; /* [slots_count], owned */
  uint32_t slots_count;
  uint32_t used; /* slots not free */
} ep_subscribers;

void ep_subscribers_init(ep_subscribers *wakes);
void ep_subscribers_deinit(ep_subscribers *wakes);

/* `once`: forgotten after its first call. Returns a token, 0 when memory is short. */
uint64_t ep_subscribers_add(ep_subscribers *wakes, uint64_t key, bool once, ep_wake *wake,
                            void *context);

/* Waits for a call that is under way, unless it is that call which removes itself. A token that is
 * no longer known is ignored. */
void ep_subscribers_remove(ep_subscribers *wakes, uint64_t token);

/* Marks the subscriptions with (key & mask) == value as due; true when there is any. */
bool ep_subscribers_mark(ep_subscribers *wakes, uint64_t mask, uint64_t value);
bool ep_subscribers_mark_token(ep_subscribers *wakes, uint64_t token);

/* Calls all that are due, but for those that another thread is calling: that one calls again. */
void ep_subscribers_call(ep_subscribers *wakes);

#endif
