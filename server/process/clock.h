/* clock.h: the two clocks: one for people (UTC), one for intervals (never set back). */
#ifndef EP_SERVER_PROCESS_CLOCK_H
#define EP_SERVER_PROCESS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t ep_clock_read_us(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Microseconds since 1970, UTC: for what is stored and shown. */
static inline int64_t ep_clock_utc_us(void) {
  return ep_clock_read_us(CLOCK_REALTIME);
}

/* The same, of what comes after `earlier_us`: not before it, even where the clock was set back. */
static inline int64_t ep_clock_utc_after_us(int64_t earlier_us) {
  int64_t now_us = ep_clock_utc_us();
  return now_us < earlier_us ? earlier_us : now_us;
}

/* Microseconds since some moment: for time-outs. */
static inline int64_t ep_clock_steady_us(void) {
  return ep_clock_read_us(CLOCK_MONOTONIC);
}

#endif
