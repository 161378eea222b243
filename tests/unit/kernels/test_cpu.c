/* The CPU backend: every executor of its table against cpu/reference, and what the table, the
 * checks and the probe answer. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "tests/unit/kernels/compare.h"

static ep_backend *backend;
static const ep_backend_ops *ops;

static void setup(void) {
  ep_error error;
  ops = ep_backend_cpu();
  ck_assert_int_eq(ops->open(0, &backend, &error), EP_OK);
}

static void teardown(void) {
  ops->close(backend);
}

static ep_subject subject_of(const char *executor) {
  return (ep_subject){ops, backend, executor};
}

/* Holds one executor to the reference at one instruction set. */
static void compare_executor(const char *name, ep_instruction_set instruction_set) {
  ep_instruction_set found = backend->instruction_set;
  backend->instruction_set = instruction_set;
  ep_subject reference = subject_of("cpu/reference"), subject = subject_of(name);
  ep_comparison result = ep_compare_all(&subject, &reference, EP_COMPARE_TOLERANCE, stderr);
  printf("%s, %s: %d agree, %d not for it, %d failed; worst %.2g (%s)\n", name,
         ep_instruction_set_name(instruction_set), result.agreed, result.unsupported, result.failed,
         result.worst, result.worst_name);
  backend->instruction_set = found;
  ck_assert_int_eq(result.failed, 0);
  ck_assert_int_gt(result.agreed, 0);
}

START_TEST(every_executor_agrees_with_the_reference) {
  int count;
  const ep_executor *const *executors = ep_cpu_executors(&count);
  for (int level = 0; level <= (int)backend->instruction_set; level++) {
    compare_executor(executors[_i]->name, (ep_instruction_set)level);
    if (executors[_i] == &ep_cpu_reference) break; /* the same on all */
  }
}
END_TEST

START_TEST(the_reference_takes_every_case) {
  ep_subject reference = subject_of("cpu/reference");
  for (int i = 0; i < ep_case_count(); i++) {
    ep_case *test = ep_case_create_number(i);
    ep_instance *instance;
    ck_assert_int_eq(ops->compile(backend, &test->program, reference.executor, &instance, NULL),
                     EP_OK);
    ops->release(instance);
    ep_case_destroy(test);
  }
}
END_TEST

START_TEST(the_comparison_can_fail) {
  ep_subject reference = subject_of("cpu/reference");
  ck_assert(ep_compare_canary(&reference, stderr));
}
END_TEST

START_TEST(floats_compare_by_scale_and_nan_differs) {
  float expected[] = {100, 1, INFINITY}, actual[] = {100.01f, 1, INFINITY};
  ck_assert_double_eq_tol(ep_compare_floats(actual, expected, 3, 0), 1e-4, 1e-6);
  actual[2] = -INFINITY;
  ck_assert(isinf(ep_compare_floats(actual, expected, 3, 0)));
  actual[2] = NAN;
  ck_assert(isinf(ep_compare_floats(actual, expected, 3, 0)));
  expected[2] = NAN; /* not even against itself: nobody should expect one */
  ck_assert(isinf(ep_compare_floats(actual, expected, 3, 0)));
  ck_assert_double_eq(ep_compare_floats(actual, expected, 0, 0), 0);
  float small = 1e-5f, zero = 0;
  ck_assert_double_eq_tol(ep_compare_floats(&small, &zero, 1, 1e-2), 1e-3, 1e-9);
}
END_TEST

int main(void) {
  int count;
  ep_cpu_executors(&count);
  Suite *suite = suite_create("cpu");
  TCase *agree = tcase_create("agree");
  tcase_add_checked_fixture(agree, setup, teardown);
  tcase_set_timeout(agree, 120);
  tcase_add_loop_test(agree, every_executor_agrees_with_the_reference, 0, count);
  tcase_add_test(agree, the_reference_takes_every_case);
  tcase_add_test(agree, the_comparison_can_fail);
  tcase_add_test(agree, floats_compare_by_scale_and_nan_differs);
  suite_add_tcase(suite, agree);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
