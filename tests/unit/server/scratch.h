/* scratch.h: a folder of its own for a test, removed afterwards. */
#ifndef EP_TESTS_UNIT_SERVER_SCRATCH_H
#define EP_TESTS_UNIT_SERVER_SCRATCH_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/process/data_dir.h"

/* One for the program: a common definition in every file that includes this. */
__attribute__((weak)) char scratch_dir[64];

static inline void scratch_open(void) {
  snprintf(scratch_dir, sizeof scratch_dir, "/tmp/epochd-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(scratch_dir));
}

static inline void scratch_close(void) {
  ep_data_dir_remove(scratch_dir, NULL);
}

static inline const char *scratch_path(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", scratch_dir, name);
  return path;
}

/* Fails the test with the error's own words. */
#define assert_ok(call)                                                                 \
  do {                                                                                  \
    ep_error error_ = {0}, *error = &error_;                                            \
    ep_status status_ = (call);                                                         \
    ck_assert_msg(status_ == EP_OK, "%s: %s", ep_status_name(status_), error->message); \
  } while (0)

#endif
