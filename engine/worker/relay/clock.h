/* clock.h: the time by which a relay waits. */
#ifndef EP_ENGINE_WORKER_RELAY_CLOCK_H
#define EP_ENGINE_WORKER_RELAY_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Milliseconds of a clock that never goes back. */
static inline int64_t ep_relay_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

#endif
