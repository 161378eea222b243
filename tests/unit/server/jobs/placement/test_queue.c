#include <stdio.h>
#include <string.h>

#include "server/jobs/placement/queue.h"
#include "tests/suite.h"

static ep_queue_entry entry_make(int age, int priority, bool again) {
  ep_queue_entry entry = {.priority = priority, .again = again};
  snprintf(entry.id, sizeof entry.id, "job_%026d", age);
  return entry;
}

START_TEST(orders_by_again_priority_age) {
  ep_queue queue = {0};
  ep_queue_entry in[] = {entry_make(1, 0, false),   entry_make(2, 5, false),
                         entry_make(3, 0, true),    entry_make(4, 5, false),
                         entry_make(5, -100, true), entry_make(6, 100, false)};
  int expected[] = {2, 4, 5, 1, 3, 0};
  for (int i = 0; i < 6; i++) ck_assert(ep_queue_add(&queue, &in[i]));
  for (int place = 0; place < 6; place++) {
    ck_assert_str_eq(queue.entries[place].id, in[expected[place]].id);
    ck_assert_int_eq(ep_queue_position(&queue, &in[expected[place]]), place);
  }
  ck_assert(ep_queue_remove(&queue, &in[1]));
  ck_assert(!ep_queue_remove(&queue, &in[1]));
  ck_assert_int_eq(ep_queue_position(&queue, &in[1]), -1);
  ck_assert_int_eq(ep_queue_position(&queue, &in[0]), 4);
  ep_queue_deinit(&queue);
}
END_TEST

START_TEST(keeps_order_whatever_comes) {
  enum { COUNT = 2000 };
  ep_queue queue = {0};
  static ep_queue_entry all[COUNT];
  unsigned state = 12345;
  for (int i = 0; i < COUNT; i++) {
    state = state * 1664525u + 1013904223u;
    all[i] = entry_make((int)(state >> 8), (int)(state >> 28) - 8, (state >> 20 & 7) == 0);
    ck_assert(ep_queue_add(&queue, &all[i]));
  }
  for (int i = 0; i < COUNT; i += 2) ck_assert(ep_queue_remove(&queue, &all[i]));
  ck_assert_int_eq(queue.count, COUNT / 2);
  for (int64_t i = 1; i < queue.count; i++) {
    const ep_queue_entry *a = &queue.entries[i - 1], *b = &queue.entries[i];
    ck_assert(a->again >= b->again);
    if (a->again != b->again) continue;
    ck_assert_int_ge(a->priority, b->priority);
    if (a->priority == b->priority) ck_assert_int_le(strcmp(a->id, b->id), 0);
  }
  ep_queue_deinit(&queue);
}
END_TEST

EP_SUITE("queue") {
  TCase *tests = ep_suite_case(suite, "queue");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, orders_by_again_priority_age);
  tcase_add_test(tests, keeps_order_whatever_comes);
}
