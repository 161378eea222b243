/* cache_folder.h: a folder of a test's own for what is kept on disk (kernels/cache/cache.h), and
 * other processes that look at it. */
#ifndef EP_TESTS_CACHE_FOLDER_H
#define EP_TESTS_CACHE_FOLDER_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char ep_cache_folder[64];

/* The fixture: before a test, and after it. */
static inline void ep_cache_folder_make(void) {
  snprintf(ep_cache_folder, sizeof ep_cache_folder, "/tmp/epochd-cache-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(ep_cache_folder));
  setenv("EPOCHD_CACHE_DIR", ep_cache_folder, 1);
}

/* A command's exit status. */
static inline int ep_cache_folder_run(const char *command) {
  char line[256];
  snprintf(line, sizeof line, "cd '%s' && %s", ep_cache_folder, command);
  return system(line);
}

static inline void ep_cache_folder_remove(void) {
  ck_assert_int_eq(ep_cache_folder_run("rm -rf \"$PWD\""), 0);
}

/* What `ask` answers, 0 to 200, in another process, which sees what this one left on disk. A failed
 * assertion ends it with a code below the answers'. */
static inline int ep_elsewhere(int (*ask)(void)) {
  enum { ANSWERS = 16 };
  fflush(NULL);
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) _exit(ANSWERS + ask());
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  ck_assert_int_ge(WEXITSTATUS(status), ANSWERS);
  return WEXITSTATUS(status) - ANSWERS;
}

#endif
