#include "server/process/heap.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "engine/files/path.h"

enum { ARENAS = 4, MAPPED_BYTES = 128 << 10 };

static const char VARIABLE[] = "GLIBC_TUNABLES", SETTING[] = "glibc.malloc.tcache_count=0";

void ep_heap_configure(void) {
  mallopt(M_ARENA_MAX, ARENAS);
  mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
  mallopt(M_MXFAST, 0);
}

void ep_heap_restart(char *const *argv) {
  const char *set = getenv(VARIABLE);
  char program[EP_PATH_BYTES];
  if (set) {
    if (strcmp(set, SETTING) == 0) unsetenv(VARIABLE); /* it is not for workers */
    return;
  }
  if (getauxval(AT_SECURE)) return; /* the loader would not read it */
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0 || setenv(VARIABLE, SETTING, 1) != 0) return;
  program[length] = 0;
  execv(program, argv);
  unsetenv(VARIABLE);
}
