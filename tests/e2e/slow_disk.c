/* slow_disk.c: for a program with this in its LD_PRELOAD the disk is slow, or fails, as the file
 * named by EPOCHD_TEST_DISK says at that moment, in lines "PART SECONDS ERRNO": fsync and fdatasync
 * of a file whose path has PART in it take so long, or until the line is gone, and then fail with
 * that number unless it is 0. A file with that name and .waits is made when one
 * begins to wait. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int file_sync(int file);

typedef struct {
  int seconds, failure;
} rule;

/* Whether there is a rule for the path at this moment. */
static bool rule_find(const char *path, rule *out) {
  char part[PATH_MAX], line[PATH_MAX + 64];
  bool found = false;
  const char *name = getenv("EPOCHD_TEST_DISK");
  FILE *rules = name != NULL ? fopen(name, "re") : NULL;
  if (rules == NULL) return false;
  while (!found && fgets(line, sizeof line, rules) != NULL)
    found = sscanf(line, "%s %d %d", part, &out->seconds, &out->failure) == 3 &&
            strstr(path, part) != NULL;
  fclose(rules);
  return found;
}

static void mark_make(void) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s.waits", getenv("EPOCHD_TEST_DISK"));
  FILE *mark = fopen(path, "we");
  if (mark != NULL) fclose(mark);
}

/* The number of the failure that the rules have for the file; 0 = none. */
static int rules_apply(int file) {
  enum { A_SECOND = 20 }; /* looks at the rules */
  char link[64], path[PATH_MAX];
  rule first, still;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (!rule_find(path, &first)) return 0;
  if (first.seconds > 0) mark_make();
  for (int i = 0; i < first.seconds * A_SECOND && rule_find(path, &still); i++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000000 / A_SECOND}, NULL);
  return first.failure;
}

static int sync_with(const char *function, int file) {
  file_sync *real = (file_sync *)dlsym(RTLD_NEXT, function);
  int failure = rules_apply(file);
  if (failure == 0) return real(file);
  errno = failure;
  return -1;
}

int fsync(int file) {
  return sync_with("fsync", file);
}

int fdatasync(int file) {
  return sync_with("fdatasync", file);
}
