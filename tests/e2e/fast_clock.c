/* fast_clock.c: for a program with this in its LD_PRELOAD the steady clock runs
 * EPOCHD_TEST_CLOCK_RATE times as fast, so that a minute of patience is over in seconds. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef int clock_read(clockid_t clock, struct timespec *now);

int clock_gettime(clockid_t clock, struct timespec *now) {
  static clock_read *real;
  static int64_t rate;
  if (real == NULL) {
    const char *text = getenv("EPOCHD_TEST_CLOCK_RATE");
    rate = text != NULL ? strtoll(text, NULL, 10) : 1;
    real = (clock_read *)dlsym(RTLD_NEXT, "clock_gettime");
  }
  int failed = real(clock, now);
  if (failed != 0 || clock != CLOCK_MONOTONIC) return failed;
  int64_t ns = (int64_t)now->tv_nsec * rate;
  now->tv_sec = now->tv_sec * rate + ns / 1000000000;
  now->tv_nsec = ns % 1000000000;
  return 0;
}
