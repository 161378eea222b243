/* held.h: the frames of a worker, numbered from 1 on, that the gateway may need again: all that it
 * has not taken, and of the running job the others too, up to a ceiling. */
#ifndef EP_ENGINE_WORKER_RELAY_HELD_H
#define EP_ENGINE_WORKER_RELAY_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

/* Which files go before a frame. */
typedef enum { EP_FILES_NONE, EP_FILES_TRIALS, EP_FILES_ALL } ep_held_files;

typedef struct {
  uint8_t *bytes; /* [count], owned */
  size_t count;
  ep_held_files files;
  bool ends; /* it is the last one of its job */
} ep_held_frame;

typedef struct {
  ep_held_frame *frames; /* [count], from number `first` on; owned */
  size_t count, capacity;
  size_t bytes;
  uint64_t first;
  uint64_t taken;     /* frames up to this number arrived */
  uint64_t job_first; /* of the running job; those before it are dropped once they are taken */
  bool has_all;       /* none of the running job's was dropped */
} ep_held;

#define EP_HELD_NONE ((ep_held){.first = 1, .has_all = true})

/* Takes ownership of the frame on success. */
ep_status ep_held_add(ep_held *held, const ep_held_frame *frame, ep_error *error);
/* Frames up to `taken` arrived. */
void ep_held_take(ep_held *held, uint64_t taken);
/* A job begins, or there is none: the frames so far are another's. */
void ep_held_begin(ep_held *held);
static inline uint64_t ep_held_last(const ep_held *held) {
  return held->first + held->count - 1;
}
/* NULL: it is not held. */
const ep_held_frame *ep_held_find(const ep_held *held, uint64_t number);
/* Whether more may come. */
bool ep_held_has_room(const ep_held *held);
void ep_held_deinit(ep_held *held);

#endif
