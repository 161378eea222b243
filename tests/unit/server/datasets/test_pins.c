#include <pthread.h>

#include "server/datasets/pins.h"
#include "tests/suite.h"

static void *pin_later(void *context) {
  ep_pins *pins = context;
  ck_assert(ep_pins_add(pins, "a"));
  return NULL;
}

static void *claim_later(void *context) {
  ep_pins *pins = context;
  ck_assert(ep_pins_claim(pins, "a"));
  ep_pins_unclaim(pins, "a");
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
  ck_assert(ep_pins_add(&pins, "b")); /* others are not held up */
  pthread_create(&thread, NULL, pin_later, &pins);
  ep_pins_unclaim(&pins, "a");
  pthread_join(thread, NULL);
  ck_assert(!ep_pins_claim(&pins, "a"));
  ep_pins_deinit(&pins);
}
END_TEST

START_TEST(who_claims_waits_for_another_claim) {
  ep_pins pins;
  pthread_t thread;
  ep_pins_init(&pins);
  ck_assert(ep_pins_claim(&pins, "a"));
  pthread_create(&thread, NULL, claim_later, &pins);
  ep_pins_unclaim(&pins, "a");
  pthread_join(thread, NULL);
  ck_assert(ep_pins_claim(&pins, "a"));
  ep_pins_deinit(&pins);
}
END_TEST

EP_SUITE("pins") {
  TCase *tests = ep_suite_case(suite, "pins");
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, pins_exclude_removal);
  tcase_add_test(tests, who_claims_waits_for_another_claim);
}
