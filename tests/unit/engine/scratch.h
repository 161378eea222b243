/* scratch.h: a temporary folder for each test, and uploads into it. */
#ifndef EP_TESTS_SCRATCH_H
#define EP_TESTS_SCRATCH_H

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/data/arrays/table.h"
#include "engine/data/datasets/dataset.h"
#include "engine/data/formats/ingest.h"
#include "kernels/backend.h"

static char scratch_root[64], scratch_path[192], scratch_folder[128];

static inline void scratch_setup(void) {
  snprintf(scratch_root, sizeof scratch_root, "/tmp/epochd-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(scratch_root));
}

static inline void scratch_empty(const char *folder) {
  DIR *listing = opendir(folder);
  ck_assert_ptr_nonnull(listing);
  for (struct dirent *entry; (entry = readdir(listing));) {
    char path[512];
    if (entry->d_name[0] == '.') continue;
    int bytes = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    ck_assert_int_lt(bytes, (int)sizeof path);
    if (unlink(path) == 0) continue;
    scratch_empty(path);
    rmdir(path);
  }
  closedir(listing);
}

static inline void scratch_teardown(void) {
  scratch_empty(scratch_root);
  rmdir(scratch_root);
}

/* Valid until the next call. */
static inline const char *scratch_file(const char *name) {
  snprintf(scratch_path, sizeof scratch_path, "%s/%s", scratch_root, name);
  return scratch_path;
}

static inline const char *scratch_write(const char *name, const void *bytes, size_t count) {
  FILE *file = fopen(scratch_file(name), "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
  ck_assert_int_eq(fclose(file), 0);
  return scratch_path;
}

/* Owned by the caller; a 0 follows the bytes. */
static inline char *scratch_read(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  fseek(file, 0, SEEK_END);
  *count = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*count + 1);
  ck_assert_uint_eq(fread(bytes, 1, *count, file), *count);
  bytes[*count] = 0;
  fclose(file);
  return bytes;
}

/* Opens a file to be ingested; closed at the end of the test, with its process. */
static inline int scratch_open(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ck_assert_msg(file >= 0, "%s cannot be opened", path);
  return file;
}

/* Reads bytes as an upload into a fresh folder, scratch_folder. */
static inline ep_status scratch_ingest_within(const void *bytes, size_t count,
                                              const ep_ingest_options *options, int64_t budget,
                                              ep_dataset_meta *meta, ep_error *error) {
  char source[192];
  snprintf(source, sizeof source, "%s", scratch_write("upload", bytes, count));
  snprintf(scratch_folder, sizeof scratch_folder, "%s/set", scratch_root);
  if (mkdir(scratch_folder, 0755) != 0) scratch_empty(scratch_folder);
  memset(error, 0, sizeof *error);
  int file = scratch_open(source);
  ep_status status = ep_dataset_ingest(file, scratch_folder, options, budget, meta, error);
  close(file);
  return status;
}

static inline ep_status scratch_ingest(const void *bytes, size_t count,
                                       const ep_ingest_options *options, ep_dataset_meta *meta,
                                       ep_error *error) {
  return scratch_ingest_within(bytes, count, options, INT64_C(1) << 40, meta, error);
}

/* Opens a part of the last upload. */
static inline void scratch_part(const char *name, ep_table *table) {
  char path[256];
  ep_error error = {0};
  snprintf(path, sizeof path, "%s/%s.npy", scratch_folder, name);
  ck_assert_msg(ep_table_open(path, table, &error) == EP_OK, "%s", error.message);
}

/* The upload must be refused with this message. */
static inline void scratch_refused(const void *bytes, size_t count,
                                   const ep_ingest_options *options, ep_status status,
                                   const char *message) {
  ep_dataset_meta meta;
  ep_error error;
  ep_status found = scratch_ingest(bytes, count, options, &meta, &error);
  ck_assert_msg(found == status && strcmp(error.message, message) == 0,
                "wanted %s \"%s\", got %s \"%s\"", ep_status_name(status), message,
                ep_status_name(found), error.message);
}

/* SplitMix64 (G. Steele, D. Lea, C. Flood, 2014): the tests' own numbers. */
static inline uint64_t scratch_random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

#endif
