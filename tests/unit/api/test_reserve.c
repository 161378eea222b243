/* Memory that a thread reserves with whoever counts it. */
#include "api/reserve.h"

#include <pthread.h>

#include "api/json/writer.h"
#include "api/limits.h"
#include "tests/suite.h"

typedef struct {
  int64_t bytes, most;
} counter;

static ep_status count(void *context, int64_t bytes, ep_error *error) {
  counter *counts = context;
  if (counts->bytes + bytes > counts->most) return ep_fail(error, EP_BUSY, "full");
  counts->bytes += bytes;
  return EP_OK;
}

static void *other_reserve(void *status) {
  *(ep_status *)status = ep_reserve(INT64_MAX, NULL);
  return NULL;
}

START_TEST(each_thread_has_its_own) {
  counter counts = {.most = 100};
  ep_status other = EP_INTERNAL;
  pthread_t thread;
  ck_assert_int_eq(ep_reserve(INT64_MAX, NULL), EP_OK);
  ep_reserve_begin(count, &counts);
  ck_assert_int_eq(ep_reserve(60, NULL), EP_OK);
  ck_assert_int_eq(ep_reserve(41, NULL), EP_BUSY);
  ck_assert_int_eq(ep_reserve(-20, NULL), EP_OK);
  ck_assert_int_eq(counts.bytes, 40);
  ck_assert_int_eq(pthread_create(&thread, NULL, other_reserve, &other), 0);
  pthread_join(thread, NULL);
  ck_assert_int_eq(other, EP_OK);
  ep_reserve_begin(NULL, NULL);
  ck_assert_int_eq(ep_reserve(INT64_MAX, NULL), EP_OK);
  ck_assert_int_eq(counts.bytes, 40);
}
END_TEST

/* A short text reserves nothing; a long one what it grows by, and ends where that is refused. */
START_TEST(texts_reserve_what_they_grow_by) {
  enum { MOST = 16 * EP_LIMIT_UNRESERVED_BYTES };
  counter counts = {.most = MOST};
  ep_writer out;
  ep_reserve_begin(count, &counts);
  ep_writer_init(&out, SIZE_MAX / 2);
  while (out.count < EP_LIMIT_UNRESERVED_BYTES / 2) ep_writer_integer(&out, 7);
  ck_assert_int_eq(counts.bytes, 0);
  while (!out.failed) ep_writer_integer(&out, 7);
  ck_assert_int_le(counts.bytes, MOST);
  ck_assert_int_ge(counts.bytes, MOST / 4);
  ep_writer_deinit(&out);
  ep_reserve_begin(NULL, NULL);
}
END_TEST

EP_SUITE("reserve") {
  TCase *tests = ep_suite_case(suite, "reserve");
  tcase_add_test(tests, each_thread_has_its_own);
  tcase_add_test(tests, texts_reserve_what_they_grow_by);
}
