/* A write-ahead log in which any bit has changed is known, before SQLite drops what comes after. */
#include "server/store/wal.h"

#include <string.h>

#include "server/store/store.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

/* The log of a store that is still open; the caller's to free. */
static uint8_t *log_make(size_t *size) {
  ep_store *store = NULL;
  ep_dataset_row row = {.sha256 = "a", .created_us = 1}, before;
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
  for (int i = 0; i < 3; i++) {
    snprintf(row.name, sizeof row.name, "set-%d", i);
    assert_ok(ep_store_dataset_put(store, &row, &before, error));
  }
  FILE *file = fopen(scratch_path("epochd.sqlite-wal"), "rb");
  ck_assert_ptr_nonnull(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*size);
  ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
  fclose(file);
  ep_store_close(store);
  return bytes;
}

START_TEST(every_byte_counts) {
  size_t size;
  uint8_t *bytes = log_make(&size);
  ck_assert_int_eq(ep_store_wal_lost(bytes, size), 0);
  ck_assert_int_eq(ep_store_wal_lost(bytes, 0), 0);
  ck_assert_int_eq(ep_store_wal_lost(bytes, 33), 0); /* a frame that was begun */
  for (size_t at = 0; at < size; at += at < 200 ? 1 : 61) {
    /* the salts of the last frame, which then belongs to no log, are what an older log has there */
    bool last = at >= size - 4096 - 24 + 8 && at < size - 4096 - 24 + 16;
    bytes[at] ^= (uint8_t)(1 << at % 8);
    ck_assert_msg(last || ep_store_wal_lost(bytes, size) > 0, "byte %zu of %zu", at, size);
    bytes[at] ^= (uint8_t)(1 << at % 8);
  }
  free(bytes);
}
END_TEST

START_TEST(a_copy_is_kept) {
  size_t size;
  uint8_t *bytes = log_make(&size);
  ep_store_wal_check(scratch_path("epochd.sqlite")); /* there is none: the store was closed */
  ck_assert(!ep_data_dir_exists(scratch_path("epochd.sqlite-wal.damaged")));
  bytes[100] ^= 1;
  assert_ok(
      ep_data_dir_write_file(scratch_path("epochd.sqlite-wal"), (const char *)bytes, size, error));
  ep_store_wal_check(scratch_path("epochd.sqlite"));
  ck_assert(ep_data_dir_exists(scratch_path("epochd.sqlite-wal.damaged")));
  free(bytes);
}
END_TEST

EP_SUITE("write-ahead log") {
  TCase *tests = ep_suite_case(suite, "damage");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_add_test(tests, every_byte_counts);
  tcase_add_test(tests, a_copy_is_kept);
}
