#include "server/events/subscribers.h"

#include <assert.h>
#include <stdlib.h>

void ep_subscribers_init(ep_subscribers *subscribers) {
  *subscribers = (ep_subscribers){0};
  pthread_mutex_init(&subscribers->mutex, NULL);
  pthread_cond_init(&subscribers->idle, NULL);
}

void ep_subscribers_deinit(ep_subscribers *subscribers) {
  free(subscribers->slots);
  pthread_cond_destroy(&subscribers->idle);
  pthread_mutex_destroy(&subscribers->mutex);
}

/* The slot of a token, or NULL. The mutex is held. */
static ep_subscribers_slot *slot_find(ep_subscribers *subscribers, uint64_t token) {
  uint32_t index = (uint32_t)token, generation = (uint32_t)(token >> 32);
  if (token == 0 || index >= subscribers->slots_count) return NULL;
  ep_subscribers_slot *slot = &subscribers->slots[index];
  return slot->generation == generation ? slot : NULL;
}

/* Index of a free slot, or slots_count when memory is short. The mutex is held. */
static uint32_t slot_take(ep_subscribers *subscribers) {
  if (subscribers->used == subscribers->slots_count) {
    uint32_t count = subscribers->slots_count == 0 ? 4 : subscribers->slots_count * 2;
    ep_subscribers_slot *slots = realloc(subscribers->slots, count * sizeof *slots);
    if (!slots || count < subscribers->slots_count) return subscribers->slots_count;
    for (uint32_t i = subscribers->slots_count; i < count; i++) slots[i] = (ep_subscribers_slot){0};
    uint32_t first = subscribers->slots_count;
    subscribers->slots = slots;
    subscribers->slots_count = count;
    return first;
  }
  uint32_t index = 0;
  while (subscribers->slots[index].wake || subscribers->slots[index].running) index++;
  return index;
}

uint64_t ep_subscribers_add(ep_subscribers *subscribers, uint64_t key, bool once, ep_wake *wake,
                            void *context) {
  assert(wake);
  uint64_t token = 0;
  pthread_mutex_lock(&subscribers->mutex);
  uint32_t index = slot_take(subscribers);
  if (index < subscribers->slots_count) {
    ep_subscribers_slot *slot = &subscribers->slots[index];
    uint32_t generation = slot->generation + 1 == 0 ? 1 : slot->generation + 1;
    *slot = (ep_subscribers_slot){
        .wake = wake, .context = context, .key = key, .generation = generation, .once = once};
    subscribers->used++;
    token = (uint64_t)generation << 32 | index;
  }
  pthread_mutex_unlock(&subscribers->mutex);
  return token;
}

void ep_subscribers_remove(ep_subscribers *subscribers, uint64_t token) {
  pthread_mutex_lock(&subscribers->mutex);
  ep_subscribers_slot *slot = slot_find(subscribers, token);
  while (slot && slot->running && !pthread_equal(slot->caller, pthread_self())) {
    pthread_cond_wait(&subscribers->idle, &subscribers->mutex);
    slot = slot_find(subscribers, token); /* the array may have moved, or the slot been used anew */
  }
  if (slot && slot->wake) {
    slot->wake = NULL;
    if (!slot->running) subscribers->used--;
  }
  pthread_mutex_unlock(&subscribers->mutex);
}

bool ep_subscribers_mark(ep_subscribers *subscribers, uint64_t mask, uint64_t value) {
  bool any = false;
  pthread_mutex_lock(&subscribers->mutex);
  for (uint32_t i = 0, seen = 0; seen < subscribers->used && i < subscribers->slots_count; i++) {
    ep_subscribers_slot *slot = &subscribers->slots[i];
    if (!slot->wake) continue;
    seen++;
    if ((slot->key & mask) == value) any = slot->due = true;
  }
  pthread_mutex_unlock(&subscribers->mutex);
  return any;
}

bool ep_subscribers_mark_token(ep_subscribers *subscribers, uint64_t token) {
  pthread_mutex_lock(&subscribers->mutex);
  ep_subscribers_slot *slot = slot_find(subscribers, token);
  bool known = slot && slot->wake;
  if (known) slot->due = true;
  pthread_mutex_unlock(&subscribers->mutex);
  return known;
}

/* Calls slot `index` until it is no longer due. The mutex is held, but not during the call. */
static void slot_call(ep_subscribers *subscribers, uint32_t index) {
  ep_subscribers_slot *slot = &subscribers->slots[index];
  slot->running = true;
  slot->caller = pthread_self();
  while (slot->wake && slot->due) {
    ep_wake *wake = slot->wake;
    void *context = slot->context;
    slot->due = false;
    if (slot->once) slot->wake = NULL;
    pthread_mutex_unlock(&subscribers->mutex);
    wake(context);
    pthread_mutex_lock(&subscribers->mutex);
    slot = &subscribers->slots[index]; /* the array may have moved; a running slot stays */
  }
  slot->running = false;
  if (!slot->wake) subscribers->used--;
  pthread_cond_broadcast(&subscribers->idle);
}

void ep_subscribers_call(ep_subscribers *subscribers) {
  pthread_mutex_lock(&subscribers->mutex);
  for (uint32_t i = 0; i < subscribers->slots_count; i++) {
    const ep_subscribers_slot *slot = &subscribers->slots[i];
    if (slot->wake && slot->due && !slot->running) slot_call(subscribers, i);
  }
  pthread_mutex_unlock(&subscribers->mutex);
}
