#include "server/jobs/placement/room.h"

#include "engine/host/memory.h"

#define MIB (INT64_C(1) << 20)
#define ROOM_LEAST (256 * MIB) /* libraries' own, stacks of threads, heaps that are not full */
#define ROOM_USUAL (4096 * MIB)

static int64_t less(int64_t a, int64_t b) {
  return a < b ? a : b;
}

int64_t ep_room_total(int64_t bytes_max) {
  const int64_t total = ep_memory_read().total_bytes;
  return bytes_max > 0 ? less(bytes_max, total) : total;
}

/* A plan's memory is reserved before the worker has taken it, so both bounds count: what no plan
 * has reserved, and what is free. */
bool ep_room_suffices(int64_t bytes_max, int64_t reserved, int64_t needed) {
  if (reserved == 0) return true;
  const ep_memory memory = ep_memory_read();
  const int64_t total = bytes_max > 0 ? less(bytes_max, memory.total_bytes) : memory.total_bytes;
  return needed <= less(total - reserved, memory.free_bytes);
}

int64_t ep_room_bound(int64_t bytes_max, int64_t needed) {
  const int64_t there = ep_memory_read().free_bytes;
  const int64_t most = bytes_max > 0 ? less(bytes_max, there) : there;
  const int64_t usual = needed > ROOM_USUAL ? needed : ROOM_USUAL;
  if (needed > INT64_MAX - usual) return INT64_MAX;
  const int64_t least = needed + ROOM_LEAST;
  return least > most ? least : less(needed + usual, most);
}
