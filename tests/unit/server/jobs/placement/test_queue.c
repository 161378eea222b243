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
    ck_assert_str_eq(queue.entries[place]->id, in[expected[place]].id);
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
    const ep_queue_entry *a = queue.entries[i - 1], *b = queue.entries[i];
    ck_assert(a->again >= b->again);
    if (a->again != b->again) continue;
    ck_assert_int_ge(a->priority, b->priority);
    if (a->priority == b->priority) ck_assert_int_le(strcmp(a->id, b->id), 0);
  }
  ep_queue_deinit(&queue);
}
END_TEST

static void order_check(const ep_queue *queue, const char *order) {
  for (int64_t i = 0; i < queue->count; i++) {
    const ep_queue_entry *entry = queue->entries[i];
    ck_assert_msg(order[i] == (char)entry->owner, "place %d: %c", (int)i, (char)entry->owner);
    ck_assert_int_eq(ep_queue_position(queue, entry), i);
  }
  ck_assert_int_eq((int64_t)strlen(order), queue->count);
}

START_TEST(owners_take_turns) {
  enum { GREEDY = 1000 };
  ep_queue queue = {0};
  static ep_queue_entry greedy[GREEDY], other[3], third;
  for (int i = 0; i < GREEDY; i++) {
    greedy[i] = entry_make(i, 0, false);
    greedy[i].owner = 'g';
    ck_assert(ep_queue_add(&queue, &greedy[i]));
    ck_assert_int_eq(ep_queue_position(&queue, &greedy[i]), i); /* alone: by age */
  }
  for (int i = 0; i < 10; i++) ck_assert(ep_queue_remove(&queue, &greedy[i])); /* they started */
  for (int i = 0; i < 3; i++) {
    other[i] = entry_make(GREEDY + i, 0, false);
    other[i].owner = 'o';
    ck_assert(ep_queue_add(&queue, &other[i]));
    ck_assert_int_eq(ep_queue_position(&queue, &other[i]), 2 * i + 1);
  }
  third = entry_make(2 * GREEDY, 0, false);
  third.owner = 't';
  ck_assert(ep_queue_add(&queue, &third));
  for (int i = 14; i < GREEDY; i++) ck_assert(ep_queue_remove(&queue, &greedy[i]));
  order_check(&queue, "gotgogog");
  ck_assert(ep_queue_reorder(&queue, &other[2], 1)); /* priority comes before turns */
  order_check(&queue, "ogotgogg");
  ck_assert(ep_queue_reorder(&queue, &other[2], 0));
  order_check(&queue, "gotgogog");
  ep_queue_deinit(&queue);
}
END_TEST

/* Jobs that come back in another order than they were made are in the order of their age, one a
 * round: nobody gets ahead by pauses. */
START_TEST(a_round_has_one_job_of_an_owner) {
  enum { COUNT = 40 };
  ep_queue queue = {0};
  static ep_queue_entry greedy[COUNT], other;
  for (int i = COUNT - 1; i >= 0; i--) {
    greedy[i] = entry_make(i, 0, false);
    greedy[i].owner = 'g';
    ck_assert(ep_queue_add(&queue, &greedy[i]));
  }
  other = entry_make(COUNT, 0, false);
  other.owner = 'o';
  ck_assert(ep_queue_add(&queue, &other));
  ck_assert_int_eq(ep_queue_position(&queue, &other), 1);
  for (int i = 0; i < COUNT; i++)
    ck_assert_int_eq(ep_queue_position(&queue, &greedy[i]), i + (i > 0));
  ck_assert(ep_queue_remove(&queue, &greedy[20]));
  ck_assert(ep_queue_add(&queue, &greedy[20]));
  for (int i = 1; i < COUNT; i++) ck_assert_int_lt(greedy[i - 1].round, greedy[i].round);
  for (int i = 0; i < COUNT; i++)
    ck_assert_int_eq(ep_queue_position(&queue, &greedy[i]), i + (i > 0));
  ep_queue_deinit(&queue);
}
END_TEST

EP_SUITE("queue") {
  TCase *tests = ep_suite_case(suite, "queue");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, orders_by_again_priority_age);
  tcase_add_test(tests, keeps_order_whatever_comes);
  tcase_add_test(tests, owners_take_turns);
  tcase_add_test(tests, a_round_has_one_job_of_an_owner);
}
