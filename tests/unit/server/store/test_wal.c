/* A write-ahead log in which any bit has changed is known, before SQLite drops what comes after. */
#include "server/store/wal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/store/store.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

/* In the place of the system's: SQLite syncs by the first, and does not write by the second. */
static bool sync_fails;
static size_t bytes_written;
int fdatasync(int file) {
  if (!sync_fails) return (int)syscall(SYS_fdatasync, file);
  errno = EIO;
  return -1;
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  bytes_written += count;
  return syscall(SYS_pwrite64, file, bytes, count, offset);
}

typedef struct {
  uint8_t *bytes; /* owned */
  size_t size;
} file_bytes;

static file_bytes file_read(const char *name) {
  file_bytes read;
  FILE *file = fopen(scratch_path(name), "rb");
  ck_assert_ptr_nonnull(file);
  fseek(file, 0, SEEK_END);
  read.size = (size_t)ftell(file);
  rewind(file);
  read.bytes = malloc(read.size);
  ck_assert_uint_eq(fread(read.bytes, 1, read.size, file), read.size);
  fclose(file);
  return read;
}

static void set_put(ep_store *store, int number) {
  ep_dataset_row row = {.sha256 = "a", .created_us = 1}, before;
  snprintf(row.name, sizeof row.name, "set-%d", number);
  assert_ok(ep_store_dataset_put(store, &row, &before, error));
}

/* By this SQLite writes. */
static size_t database_bytes;
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  char link[32], path[256];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  const char *end = strrchr(path, '.');
  if (end && strcmp(end, ".sqlite") == 0) database_bytes += count;
  return syscall(SYS_pwrite64, file, bytes, count, offset);
}

/* The log of a store that is still open, its index, and the index as it was before the last commit;
 * the caller's to free. */
static file_bytes log_make(file_bytes *index, file_bytes *index_before) {
  ep_store *store = NULL;
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
  for (int i = 0; i < 3; i++) set_put(store, i);
  *index_before = file_read("epochd.sqlite-shm");
  set_put(store, 3);
  *index = file_read("epochd.sqlite-shm");
  file_bytes log = file_read("epochd.sqlite-wal");
  ep_store_close(store);
  return log;
}

enum { FRAME_BYTES = 24 + 4096 };

static int64_t lost(const file_bytes *log, const file_bytes *index) {
  return ep_store_wal_lost(log->bytes, log->size, index ? index->bytes : NULL,
                           index ? index->size : 0);
}

START_TEST(every_byte_counts) {
  file_bytes index, before, log = log_make(&index, &before);
  ck_assert_int_eq(lost(&log, &index), 0);
  ck_assert_int_eq(lost(&log, NULL), 0);
  ck_assert_int_eq(ep_store_wal_lost(log.bytes, 0, NULL, 0), 0);
  ck_assert_int_eq(ep_store_wal_lost(log.bytes, 33, NULL, 0), 0); /* a frame that was begun */
  ck_assert_int_gt(ep_store_wal_lost(log.bytes, log.size - 1, index.bytes, index.size), 0);
  for (size_t at = 0; at < log.size; at += at < 200 ? 1 : 61) {
    bool last = at >= log.size - FRAME_BYTES; /* which no commit follows */
    log.bytes[at] ^= (uint8_t)(1 << at % 8);
    ck_assert_msg(lost(&log, &index) > 0, "byte %zu of %zu", at, log.size);
    ck_assert_msg(last || lost(&log, NULL) > 0, "byte %zu of %zu", at, log.size);
    log.bytes[at] ^= (uint8_t)(1 << at % 8);
  }
  free(log.bytes);
  free(index.bytes);
  free(before.bytes);
}
END_TEST

/* A kill while frames are written: the head of one is there, and its page is not, or not all. */
START_TEST(an_unfinished_transaction_is_no_damage) {
  file_bytes index, before, log = log_make(&index, &before);
  uint8_t *frame = log.bytes + log.size - FRAME_BYTES;
  for (size_t whole = 24; whole < FRAME_BYTES; whole += 1000) {
    memset(frame + whole, 0x5a, FRAME_BYTES - whole);
    ck_assert_int_eq(lost(&log, &before), 0);
    ck_assert_int_eq(lost(&log, NULL), 0);
    ck_assert_int_gt(lost(&log, &index), 0); /* it was committed */
  }
  index.bytes[16] ^= 1; /* and an index that is torn says nothing */
  ck_assert_int_eq(lost(&log, &index), 0);
  free(log.bytes);
  free(index.bytes);
  free(before.bytes);
}
END_TEST

START_TEST(a_copy_is_kept) {
  file_bytes index, before, log = log_make(&index, &before);
  ep_store_wal_check(scratch_path("epochd.sqlite")); /* there is none: the store was closed */
  ck_assert(!ep_data_dir_exists(scratch_path("epochd.sqlite-wal.damaged")));
  log.bytes[100] ^= 1;
  assert_ok(ep_data_dir_write_file(scratch_path("epochd.sqlite-wal"), (const char *)log.bytes,
                                   log.size, error));
  ep_store_wal_check(scratch_path("epochd.sqlite"));
  ck_assert(ep_data_dir_exists(scratch_path("epochd.sqlite-wal.damaged")));
  free(log.bytes);
  free(index.bytes);
  free(before.bytes);
}
END_TEST

START_TEST(pages_that_a_sync_forgot_are_written_again) {
  ep_store *store = NULL;
  ep_dataset_row row = {.name = "set", .sha256 = "a", .created_us = 1}, before;
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
  assert_ok(ep_store_dataset_put(store, &row, &before, error));
  bytes_written = 0;
  assert_ok(ep_store_dataset_put(store, &row, &before, error));
  ck_assert_uint_eq(bytes_written, 0);
  sync_fails = true;
  ck_assert_int_eq(ep_store_dataset_put(store, &row, &before, NULL), EP_UNKNOWN);
  ck_assert_int_eq(ep_store_dataset_put(store, &row, &before, NULL), EP_IO);
  sync_fails = false;
  bytes_written = database_bytes = 0;
  assert_ok(ep_store_dataset_put(store, &row, &before, error));
  ck_assert_uint_gt(bytes_written, 4096);  /* a page, and its header */
  ck_assert_uint_gt(database_bytes, 4095); /* a checkpoint may have written it without a sync */
  bytes_written = 0;
  assert_ok(ep_store_dataset_put(store, &row, &before, error));
  ck_assert_uint_eq(bytes_written, 0);
  ep_store_close(store);
}
END_TEST

EP_SUITE("write-ahead log") {
  TCase *tests = ep_suite_case(suite, "damage");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_add_test(tests, every_byte_counts);
  tcase_add_test(tests, an_unfinished_transaction_is_no_damage);
  tcase_add_test(tests, a_copy_is_kept);
  tcase_add_test(tests, pages_that_a_sync_forgot_are_written_again);
}
