/* wait.h: how a test waits for what another thread or process does.
 *
 *     wait_until(job_number(jobs, id, "\"epoch\":") >= 10);
 *
 * A test waits for events, never for a time: a busy machine takes seconds where an idle one takes
 * milliseconds. That a thing does not happen is shown by an event that comes after it. */
#ifndef EP_TEST_WAIT_H
#define EP_TEST_WAIT_H

#include <check.h>
#include <time.h>

enum { EP_PATIENCE_SECONDS = 240 }; /* for whatever should happen; also in tests/e2e/daemon.sh */

static inline void ep_wait_moment(void) {
  nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Evaluates the expression every millisecond until it is true. The test fails when it is still
 * false after EP_PATIENCE_SECONDS. */
#define wait_until(expression)                                                                     \
  do {                                                                                             \
    for (time_t end_ = time(NULL) + EP_PATIENCE_SECONDS; !(expression); ep_wait_moment())          \
      ck_assert_msg(time(NULL) <= end_, "not in %d s: %s", (int)EP_PATIENCE_SECONDS, #expression); \
  } while (0)

#endif
