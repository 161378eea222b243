#include "server/jobs/placement/room.h"

#include <unistd.h>

#include "engine/host/memory.h"

#define MIB (INT64_C(1) << 20)
#define ROOM_BYTES (4096 * MIB)
/* OpenBLAS takes 128 MiB of addresses for each thread that calls it, of which it touches little,
 * and waits for ever where it gets none. */
#define THREAD_BYTES (256 * MIB)

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

int64_t ep_room_bound(int64_t needed) {
  const long cores = sysconf(_SC_NPROCESSORS_CONF);
  const int64_t libraries = ROOM_BYTES + (cores > 0 ? cores : 1) * THREAD_BYTES;
  const int64_t room = needed > libraries ? needed : libraries;
  return needed > INT64_MAX - room ? INT64_MAX : needed + room;
}
