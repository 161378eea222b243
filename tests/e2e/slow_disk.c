/* slow_disk.c: for a program with this in its LD_PRELOAD the disk is slow, or fails, as the file
 * named by EPOCHD_TEST_DISK says at that moment, in lines "PART SECONDS ERRNO": fsync and fdatasync
 * of a file whose path has PART in it take so long, and then fail with that number unless it is 0.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int file_sync(int file);

/* The number of the failure that the rules have for the file; 0 = none. */
static int rules_apply(int file) {
  char link[64], path[PATH_MAX], part[PATH_MAX], line[PATH_MAX + 64];
  int seconds, failure, found = 0;
  const char *name = getenv("EPOCHD_TEST_DISK");
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  FILE *rules = name != NULL ? fopen(name, "re") : NULL;
  if (rules == NULL || length < 0) return 0;
  path[length] = 0;
  while (found == 0 && fgets(line, sizeof line, rules) != NULL)
    if (sscanf(line, "%s %d %d", part, &seconds, &failure) == 3 && strstr(path, part) != NULL)
      found = 1;
  fclose(rules);
  if (found == 0) return 0;
  struct timespec left = {.tv_sec = seconds};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  return failure;
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
