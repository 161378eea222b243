#include "engine/worker/relay/held.h"

#include <stdlib.h>
#include <string.h>

#include "api/limits.h"

ep_status ep_held_add(ep_held *held, const ep_held_frame *frame, ep_error *error) {
  if (held->count == held->capacity) {
    size_t grown = held->capacity == 0 ? 64 : held->capacity * 2;
    ep_held_frame *frames = realloc(held->frames, grown * sizeof *frames);
    if (!frames) return ep_fail_memory(error);
    held->frames = frames;
    held->capacity = grown;
  }
  held->frames[held->count++] = *frame;
  held->bytes += frame->count;
  return EP_OK;
}

static void first_drop(ep_held *held, size_t count) {
  for (size_t i = 0; i < count; i++) {
    held->bytes -= held->frames[i].count;
    free(held->frames[i].bytes);
  }
  held->first += count;
  held->count -= count;
  memmove(held->frames, held->frames + count, held->count * sizeof *held->frames);
}

/* Drops what is not needed again, and, beyond the ceiling, what may be. */
static void held_trim(ep_held *held) {
  size_t count = 0, bytes = held->bytes;
  while (count < held->count && held->first + count <= held->taken) {
    const uint64_t number = held->first + count;
    const bool old = number < held->job_first;
    if (!old && bytes <= EP_LIMIT_HELD_FRAMES_BYTES) break;
    if (!old) held->has_all = false;
    bytes -= held->frames[count++].count;
  }
  if (count > 0) first_drop(held, count);
}

void ep_held_take(ep_held *held, uint64_t taken) {
  if (taken > held->taken && taken <= ep_held_last(held)) held->taken = taken;
  held_trim(held);
}

void ep_held_begin(ep_held *held) {
  held->job_first = ep_held_last(held) + 1;
  held->has_all = true;
  held_trim(held);
}

const ep_held_frame *ep_held_find(const ep_held *held, uint64_t number) {
  if (number < held->first || number - held->first >= held->count) return NULL;
  return &held->frames[number - held->first];
}

bool ep_held_has_room(const ep_held *held) {
  return held->bytes < 2 * (size_t)EP_LIMIT_HELD_FRAMES_BYTES;
}

void ep_held_deinit(ep_held *held) {
  first_drop(held, held->count);
  free(held->frames);
  *held = EP_HELD_NONE;
}
