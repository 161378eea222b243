#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "server/jobs/placement/queue.h"
#include "tests/suite.h"

#define HOUR_US (EP_LIMIT_AGEING_SECONDS * INT64_C(1000000))

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

/* When a job of that priority is due by its own wait. */
static int64_t due_of(const ep_queue_entry *entry) {
  return entry->since_us - entry->priority * HOUR_US;
}

/* What queue.h says, of each two entries. */
static void rule_check(const ep_queue *queue) {
  for (int64_t i = 0; i < queue->count; i++) {
    const ep_queue_entry *a = queue->entries[i];
    int64_t due_us = due_of(a);
    for (int64_t j = i + 1; j < queue->count; j++) {
      const ep_queue_entry *b = queue->entries[j];
      ck_assert(a->again >= b->again);
      if (a->again != b->again || a->again || a->priority != b->priority) continue;
      ck_assert(a->round < b->round || (a->round == b->round && strcmp(a->id, b->id) <= 0));
      if (a->owner == b->owner) ck_assert_int_le(strcmp(a->id, b->id), 0);
      if (due_of(b) < due_us) due_us = due_of(b);
    }
    ck_assert_int_eq(a->due_us, due_us);
    if (i > 0 && queue->entries[i - 1]->again == a->again)
      ck_assert_int_le(queue->entries[i - 1]->due_us, a->due_us);
    ck_assert_int_eq(ep_queue_position(queue, a), i);
  }
}

START_TEST(keeps_order_whatever_comes) {
  enum { COUNT = 300, CHANGES = 3000, LOOKS = 10 };
  ep_queue queue = {0};
  static ep_queue_entry all[COUNT];
  static bool queued[COUNT];
  unsigned seed = 12345;
  for (int i = 0; i < COUNT; i++) {
    all[i] = entry_make(i, rand_r(&seed) % 4, rand_r(&seed) % 16 == 0);
    all[i].owner = (uint64_t)(rand_r(&seed) % 3);
    all[i].since_us = rand_r(&seed) % 6 * HOUR_US + i;
  }
  for (int i = 0; i < CHANGES; i++) {
    int which = rand_r(&seed) % COUNT;
    if (!queued[which])
      ck_assert(ep_queue_add(&queue, &all[which]));
    else if (rand_r(&seed) % 3 == 0 && !all[which].again)
      ck_assert(ep_queue_reorder(&queue, &all[which], rand_r(&seed) % 4)), queued[which] = false;
    else
      ck_assert(ep_queue_remove(&queue, &all[which]));
    queued[which] = !queued[which];
    if (i % LOOKS == 0) rule_check(&queue);
  }
  ep_queue_deinit(&queue);
}
END_TEST

/* A job of low priority under a steady stream of higher ones, of which each starts when the next
 * comes. */
START_TEST(an_hour_of_waiting_counts_as_a_step_of_priority) {
  enum { STEPS = 7, AN_HOUR = 6, STREAM = 100 };
  ep_queue queue = {0};
  static ep_queue_entry stream[STREAM];
  ep_queue_entry low = entry_make(1, -STEPS, false);
  int before = 0;
  ck_assert(ep_queue_add(&queue, &low));
  for (int i = 0; i < STREAM && ep_queue_position(&queue, &low) >= 0; i++) {
    stream[i] = entry_make(2 + i, 0, false);
    stream[i].owner = 's';
    stream[i].since_us = (i + 1) * HOUR_US / AN_HOUR;
    ck_assert(ep_queue_add(&queue, &stream[i]));
    before += queue.entries[0] != &low;
    ck_assert(ep_queue_remove(&queue, queue.entries[0]));
  }
  ck_assert_int_eq(before, STEPS * AN_HOUR); /* the last is due with it */
  ep_queue_deinit(&queue);
}
END_TEST

/* A level is as urgent as the longest wait in it, and owners take turns in it all the same. */
START_TEST(waits_do_not_change_the_turns) {
  enum { GREEDY = 100 };
  ep_queue queue = {0};
  static ep_queue_entry greedy[GREEDY];
  ep_queue_entry other = entry_make(GREEDY, 0, false), high = entry_make(GREEDY + 1, 3, false);
  for (int i = 0; i < GREEDY; i++) {
    greedy[i] = entry_make(i, 0, false);
    greedy[i].owner = 'g';
    greedy[i].since_us = i;
    ck_assert(ep_queue_add(&queue, &greedy[i]));
  }
  other.owner = 'o';
  other.since_us = high.since_us = 5 * HOUR_US;
  ck_assert(ep_queue_add(&queue, &other));
  ck_assert_int_eq(ep_queue_position(&queue, &other), 1);
  ck_assert(ep_queue_add(&queue, &high));
  ck_assert_int_eq(ep_queue_position(&queue, &high), GREEDY + 1); /* they wait for 5 hours */
  for (int i = 1; i < GREEDY; i++) ck_assert(ep_queue_remove(&queue, &greedy[i]));
  ck_assert_int_eq(ep_queue_position(&queue, &greedy[0]), 0);
  ck_assert_int_eq(ep_queue_position(&queue, &high), 1); /* the others are gone */
  ck_assert_int_eq(ep_queue_position(&queue, &other), 2);
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
  tcase_add_test(tests, an_hour_of_waiting_counts_as_a_step_of_priority);
  tcase_add_test(tests, waits_do_not_change_the_turns);
  tcase_add_test(tests, owners_take_turns);
  tcase_add_test(tests, a_round_has_one_job_of_an_owner);
}
