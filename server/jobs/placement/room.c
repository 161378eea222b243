#include "server/jobs/placement/room.h"

#include "engine/host/memory.h"

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
