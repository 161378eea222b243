/* suite.h: the main of a libcheck suite, which is a program of its own, and its cases.
 *
 *     EP_SUITE("api/json") {
 *       TCase *tests = ep_suite_case(suite, "json");
 *       tcase_add_test(tests, texts);
 *     }
 *
 * The program exits with 0 only if every test passed. CK_VERBOSITY=verbose names them. */
#ifndef EP_TEST_SUITE_H
#define EP_TEST_SUITE_H

#include <check.h>
#include <stdlib.h>

/* A case of that name, which belongs to the suite. */
static inline TCase *ep_suite_case(Suite *suite, const char *name) {
  TCase *made = tcase_create(name);
  suite_add_tcase(suite, made);
  return made;
}

static inline int ep_suite_run(Suite *suite) {
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int run = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return run > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define EP_SUITE(name)                  \
  static void suite_fill(Suite *suite); \
  int main(void) {                      \
    Suite *suite = suite_create(name);  \
    suite_fill(suite);                  \
    return ep_suite_run(suite);         \
  }                                     \
  static void suite_fill(Suite *suite)

#endif
