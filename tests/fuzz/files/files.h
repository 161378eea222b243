/* files.h: the bytes of a fuzzer as a file, for what reads one by its name. */
#ifndef EP_TESTS_FUZZ_FILES_FILES_H
#define EP_TESTS_FUZZ_FILES_FILES_H

#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

static char fuzz_folder[] = "/dev/shm/epochd-fuzz.XXXXXX";
static char fuzz_path[sizeof fuzz_folder + 32];

static void fuzz_folder_remove(void) {
  unlink(fuzz_path);
  rmdir(fuzz_folder);
}

/* Writes fuzz_folder/name, always of the same name, which is fuzz_path. */
static inline void fuzz_file_write(const char *name, const uint8_t *bytes, size_t count) {
  if (!fuzz_path[0]) {
    FUZZ_HOLDS(mkdtemp(fuzz_folder));
    snprintf(fuzz_path, sizeof fuzz_path, "%s/%s", fuzz_folder, name);
    atexit(fuzz_folder_remove);
  }
  FILE *file = fopen(fuzz_path, "wb");
  FUZZ_HOLDS(file && fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

#endif
