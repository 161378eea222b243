/* JSON where memory is short: what is read or written is whole, or nothing. */
#include "api/json/memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"

static long allocations_left = LONG_MAX; /* those after them fail */

void *__wrap_malloc(size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__real_malloc(size_t bytes);
void *__real_realloc(void *memory, size_t bytes);

void *__wrap_malloc(size_t bytes) {
  return allocations_left-- > 0 ? __real_malloc(bytes) : NULL;
}

void *__wrap_realloc(void *memory, size_t bytes) {
  return allocations_left-- > 0 ? __real_realloc(memory, bytes) : NULL;
}

/* Texts longer than jansson's first buffer, and escapes, at which its reader aborts. */
static const char text[] =
    "{\"a key that is longer than the buffer of the reader\":\"\\\"text\\\" that is longer, "
    "too\\n\","
    "\"number\":1234567890123456789,\"list\":[1.5,\"\\u00e9\",{\"epochs\":1000}]}";

START_TEST(a_text_is_read_whole_or_not_at_all) {
  json_error_t fault;
  allocations_left = LONG_MAX;
  json_t *whole = ep_json_read(text, strlen(text), 0, &fault);
  ck_assert_ptr_nonnull(whole);
  json_t *read = NULL;
  long allocations = 0;
  for (; !read; allocations++) {
    allocations_left = allocations;
    read = ep_json_read(text, strlen(text), 0, &fault);
    allocations_left = LONG_MAX; /* libcheck's asserts allocate */
    ck_assert(ep_json_memory_short() == (read == NULL));
    if (!read) ck_assert_str_eq(fault.text, "");
  }
  ck_assert_int_gt(allocations, 20);
  ck_assert(json_equal(read, whole));
  ck_assert_ptr_null(ep_json_read("{\"a\":", 5, 0, &fault));
  ck_assert_str_ne(fault.text, "");
  ck_assert(!ep_json_memory_short());
  json_decref(read);
  json_decref(whole);
}
END_TEST

START_TEST(a_text_is_written_whole_or_not_at_all) {
  json_error_t fault;
  char *written = NULL;
  allocations_left = LONG_MAX;
  json_t *whole = ep_json_read(text, strlen(text), 0, &fault);
  ck_assert_ptr_null(ep_json_write(NULL, 0));
  long allocations = 0;
  for (; !written; allocations++) {
    allocations_left = allocations;
    written = ep_json_write(whole, JSON_COMPACT);
  }
  allocations_left = LONG_MAX;
  ck_assert_int_gt(allocations, 2);
  json_t *again = ep_json_read(written, strlen(written), 0, &fault);
  ck_assert(json_equal(again, whole));
  free(written);
  json_decref(again);
  json_decref(whole);
}
END_TEST

START_TEST(bytes_are_counted) {
  json_error_t fault;
  allocations_left = LONG_MAX;
  const int64_t before = ep_json_memory_bytes();
  json_t *tree = ep_json_read(text, strlen(text), 0, &fault);
  ck_assert_int_gt(ep_json_memory_bytes(), before + (int64_t)strlen(text));
  json_decref(tree);
  ck_assert_int_eq(ep_json_memory_bytes(), before);
  for (long allocations = 0; allocations < 20; allocations++) { /* reads that end early */
    allocations_left = allocations;
    tree = ep_json_read(text, strlen(text), 0, &fault);
    json_decref(tree);
  }
  allocations_left = LONG_MAX;
  ck_assert_int_eq(ep_json_memory_bytes(), before);
}
END_TEST

/* A tree counts once: as foreseen, and beyond that, until it counts as it is. */
START_TEST(what_was_foreseen_counts_later) {
  json_error_t fault;
  const int64_t before = ep_json_memory_bytes();
  json_t *tree = ep_json_read(text, strlen(text), 0, &fault);
  const int64_t tree_bytes = ep_json_memory_bytes() - before;
  json_decref(tree);
  const int64_t foreseen[] = {0, 100, tree_bytes, tree_bytes + 100};
  for (size_t i = 0; i < sizeof foreseen / sizeof *foreseen; i++) {
    ep_json_memory_foresee(foreseen[i]);
    tree = ep_json_read(text, strlen(text), 0, &fault);
    ck_assert_ptr_nonnull(tree);
    const int64_t counted = ep_json_memory_bytes() - before + foreseen[i];
    ck_assert_int_ge(counted, tree_bytes);
    ck_assert_int_le(counted, foreseen[i] > tree_bytes ? foreseen[i] : tree_bytes);
    ep_json_memory_foresee(0);
    ck_assert_int_eq(ep_json_memory_bytes() - before, tree_bytes);
    json_decref(tree);
    ck_assert_int_eq(ep_json_memory_bytes(), before);
  }
}
END_TEST

EP_SUITE("json_memory") {
  ep_json_memory_watch();
  TCase *tests = ep_suite_case(suite, "json_memory");
  tcase_add_test(tests, bytes_are_counted);
  tcase_add_test(tests, what_was_foreseen_counts_later);
  tcase_add_test(tests, a_text_is_read_whole_or_not_at_all);
  tcase_add_test(tests, a_text_is_written_whole_or_not_at_all);
}
