/* A table of words, read while one allocation after the other fails. */
#include <stdlib.h>
#include <string.h>

#include "engine/data/formats/ingest.h"
#include "tests/suite.h"

static long allocations_left = -1; /* -1: none fails */
static long failures;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__real_strndup(const char *text, size_t bytes);
char *__wrap_strndup(const char *text, size_t bytes);

/* One, and none after it. */
static bool fails(void) {
  if (allocations_left < 0 || allocations_left-- > 0) return false;
  failures++;
  return true;
}

void *__wrap_malloc(size_t bytes) {
  return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes) {
  return fails() ? NULL : __real_realloc(block, bytes);
}

char *__wrap_strdup(const char *text) {
  return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t bytes) {
  return fails() ? NULL : __real_strndup(text, bytes);
}

static const char csv[] =
    "id,sex,age,born,cabin\n1,male,22,1990-01-01,C85\n2,female,38,1991-02-03,\n3,female,NA,,E46\n"
    "4,male,35,1992-01-01,C123\n5,other,8,1993-01-01,G6\n6,female,1.5,1994-01-01,D56\n";

/* Reads and copies the description; both are freed. */
static ep_status table_read(ep_error *error) {
  ep_dataset_meta meta = {0}, copy;
  ep_ingest ingest = {.bytes = (const uint8_t *)csv,
                      .size = sizeof csv - 1,
                      .budget_bytes = 1 << 20,
                      .meta = &meta};
  ep_status status = ep_ingest_bytes(&ingest, error);
  if (status == EP_OK) {
    status = ep_dataset_meta_copy(&meta, &copy) ? EP_OK : EP_NO_MEMORY;
    if (status == EP_OK) ep_dataset_meta_deinit(&copy);
  }
  ep_dataset_meta_deinit(&meta);
  return status;
}

START_TEST(each_allocation_may_fail) {
  long refused = 0;
  for (long left = 0;; left++) {
    ep_error error = {0};
    ck_assert_int_lt(left, 1000);
    failures = 0;
    allocations_left = left;
    ep_status status = table_read(&error);
    allocations_left = -1;
    ck_assert_msg(status == EP_OK || status == EP_NO_MEMORY, "%ld: %s", left, error.message);
    refused += status == EP_NO_MEMORY;
    if (failures == 0) break;
  }
  ck_assert_int_gt(refused, 40);
}
END_TEST

EP_SUITE("csv_memory") {
  tcase_add_test(ep_suite_case(suite, "all"), each_allocation_may_fail);
}
