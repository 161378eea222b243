/* Tests of server/jobs/queue.c, id.c and pins.c: orders. */
#include <pthread.h>
#include <sodium.h>
#include <string.h>

#include "server/jobs/pins.h"
#include "server/jobs/queue.h"
#include "server/process/id.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

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

START_TEST(ids_grow) {
  char before[EP_ID_BYTES] = "", id[EP_ID_BYTES];
  for (int i = 0; i < 100000; i++) {
    ep_id_create(id);
    ck_assert(ep_id_valid(id));
    ck_assert_int_gt(strcmp(id, before), 0);
    strcpy(before, id);
  }
}
END_TEST

START_TEST(ids_grow_past_one_that_was_seen) {
  char id[EP_ID_BYTES];
  const char *future = "job_7yzzzzzzzzzzzzzzzzzzzzzzzz"; /* the clock went back some millennia */
  ep_id_observe(future);
  ep_id_create(id);
  ck_assert_int_gt(strcmp(id, future), 0);
  ck_assert_str_eq(id, "job_7z000000000000000000000000");
}
END_TEST

START_TEST(knows_what_an_id_is) {
  ck_assert(ep_id_valid("job_01kaaaaaaaaaaaaaaaaaaaaaaa"));
  ck_assert(!ep_id_valid(""));
  ck_assert(!ep_id_valid("job_"));
  ck_assert(!ep_id_valid("job_01kaaaaaaaaaaaaaaaaaaaaaa"));
  ck_assert(!ep_id_valid("job_01kaaaaaaaaaaaaaaaaaaaaaaaa"));
  ck_assert(!ep_id_valid("job_01kaaaaaaaaaaaaaaaaaaaaaa/a"));
  ck_assert(!ep_id_valid("job_01kaaaaaaaaaaaaaaaaaaaaaau")); /* u is not in the alphabet */
  ck_assert(!ep_id_valid("job_../../../../../etc/passwdx"));
  ck_assert(!ep_id_valid("job_81kaaaaaaaaaaaaaaaaaaaaaaa")); /* over 128 bits */
}
END_TEST

static void *pin_later(void *context) {
  ep_pins *pins = context;
  ck_assert(ep_pins_add(pins, "a"));
  return NULL;
}

START_TEST(pins_exclude_removal) {
  ep_pins pins;
  pthread_t thread;
  ep_pins_init(&pins);
  ck_assert(ep_pins_add(&pins, "a"));
  ck_assert(ep_pins_add(&pins, "a"));
  ck_assert(!ep_pins_claim(&pins, "a"));
  ep_pins_remove(&pins, "a");
  ck_assert(!ep_pins_claim(&pins, "a"));
  ep_pins_remove(&pins, "a");
  ck_assert(ep_pins_claim(&pins, "a"));
  ck_assert(!ep_pins_claim(&pins, "a"));
  ck_assert(ep_pins_add(&pins, "b")); /* others are not held up */
  pthread_create(&thread, NULL, pin_later, &pins);
  ep_pins_unclaim(&pins, "a");
  pthread_join(thread, NULL);
  ck_assert(!ep_pins_claim(&pins, "a"));
  ep_pins_deinit(&pins);
}
END_TEST

EP_SUITE("queue") {
  if (sodium_init() < 0) exit(EXIT_FAILURE);
  TCase *tests = ep_suite_case(suite, "queue");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, orders_by_again_priority_age);
  tcase_add_test(tests, keeps_order_whatever_comes);
  tcase_add_test(tests, ids_grow);
  tcase_add_test(tests, ids_grow_past_one_that_was_seen);
  tcase_add_test(tests, knows_what_an_id_is);
  tcase_add_test(tests, pins_exclude_removal);
}
