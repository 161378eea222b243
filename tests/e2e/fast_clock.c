/* fast_clock.c: for a program with this in its LD_PRELOAD the steady clock runs
 * EPOCHD_TEST_CLOCK_RATE times as fast, and its pauses are as much shorter, so that a minute of
 * patience is over in seconds. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { SECOND_NS = 1000000000 };

typedef int clock_read(clockid_t clock, struct timespec *now);
typedef int pause_make(const struct timespec *time, struct timespec *left);

static int64_t rate_find(void) {
  const char *text = getenv("EPOCHD_TEST_CLOCK_RATE");
  return text != NULL ? strtoll(text, NULL, 10) : 1;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static clock_read *real;
  static int64_t rate;
  if (real == NULL) {
    rate = rate_find();
    real = (clock_read *)dlsym(RTLD_NEXT, "clock_gettime");
  }
  int failed = real(clock, now);
  if (failed != 0 || clock != CLOCK_MONOTONIC) return failed;
  int64_t ns = (int64_t)now->tv_nsec * rate;
  now->tv_sec = now->tv_sec * rate + ns / SECOND_NS;
  now->tv_nsec = ns % SECOND_NS;
  return 0;
}

/* What is left of a pause that a signal ends is not told: nobody here looks. */
int nanosleep(const struct timespec *time, struct timespec *left) {
  (void)left;
  pause_make *real = (pause_make *)dlsym(RTLD_NEXT, "nanosleep");
  const int64_t ns = ((int64_t)time->tv_sec * SECOND_NS + time->tv_nsec) / rate_find();
  return real(&(struct timespec){ns / SECOND_NS, ns % SECOND_NS}, NULL);
}
