/* Every CPU executor against PyTorch's own trainings. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/executors/list.h"
#include "kernels/cpu/runtime/cpu.h"
#include "tests/golden/golden.h"
#include "tests/suite.h"

static ep_goldens goldens;
static const ep_backend_ops *ops;
static ep_backend *backend;

static void setup(void) {
  ep_error error;
  ops = ep_backend_cpu();
  ck_assert_int_eq(ops->open(0, &backend, &error), EP_OK);
  ck_assert(ep_goldens_load(EP_GOLDEN_FOLDER, &goldens, stderr));
}

static void teardown(void) {
  ep_goldens_deinit(&goldens);
  ops->close(backend);
}

START_TEST(the_vocabulary_is_covered) {
  ck_assert(ep_goldens_cover(&goldens, stderr));
  ck_assert(ep_golden_schedules_cover(EP_GOLDEN_FOLDER, stderr));
}
END_TEST

START_TEST(what_has_no_golden_is_noticed) {
  FILE *quiet = fopen("/dev/null", "w");
  ck_assert_ptr_nonnull(quiet);
  int found = 0;
  for (int i = 0; i < goldens.count; i++) {
    /* A layer's goldens are the only ones of that layer: without one the vocabulary has a hole. */
    if (strncmp(goldens.rows[i].test->name, "layer-elu", 9) != 0) continue;
    found++;
    ep_golden last = goldens.rows[goldens.count - 1];
    ep_golden taken = goldens.rows[i];
    ep_goldens fewer = {goldens.rows, goldens.count - 1};
    goldens.rows[i] = last;
    ck_assert(!ep_goldens_cover(&fewer, quiet));
    goldens.rows[i] = taken;
  }
  ck_assert_int_eq(found, 2);
  fclose(quiet);
}
END_TEST

/* Two replicas, two stages, or both. */
static void ranks_set(int number) {
  static const int grids[][2] = {{2, 1}, {1, 2}, {2, 2}, {4, 2}};
  const int *grid = grids[number % 4];
  ep_case_set_ranks(goldens.rows[number].test, grid[0], grid[1], 2);
}

/* The executor of that number at every instruction set that this processor has. */
START_TEST(every_executor_repeats_pytorch) {
  int count;
  const ep_executor *const *executors = ep_cpu_executors(&count);
  const ep_instruction_set found = backend->instruction_set;
  ep_subject subject = {ops, backend, executors[_i]->profile->name};
  bool is_reference = executors[_i] == &ep_cpu_reference, ranks = executors[_i]->profile->ranks;
  for (int i = 0; ranks && i < goldens.count; i++) ranks_set(i);
  for (int level = is_reference || ranks ? (int)found : 0; level <= (int)found; level++) {
    int repeated = 0, unsupported = 0, failed = 0;
    double worst = 0;
    backend->instruction_set = (ep_instruction_set)level;
    for (int i = 0; i < goldens.count; i++) {
      double difference = 0;
      ep_status status = ep_golden_replay(&subject, &goldens.rows[i], &difference, stderr);
      repeated += status == EP_OK;
      unsupported += status == EP_UNSUPPORTED;
      failed += status != EP_OK && status != EP_UNSUPPORTED;
      if (status == EP_OK && difference > worst) worst = difference;
    }
    printf("%s, %s: %d as PyTorch, %d not for it, %d failed; worst %.2g\n", subject.executor,
           ep_instruction_set_name((ep_instruction_set)level), repeated, unsupported, failed,
           worst);
    ck_assert_int_eq(failed, 0);
    ck_assert_int_gt(repeated, 0);
    if (is_reference || ranks) ck_assert_int_eq(unsupported, 0);
  }
  backend->instruction_set = found;
}
END_TEST

START_TEST(the_replay_can_fail) {
  ep_subject subject = {ops, backend, "cpu/reference"};
  ck_assert(ep_golden_canary(&subject, &goldens.rows[0], stderr));
}
END_TEST

EP_SUITE("golden") {
  int executors;
  ep_cpu_executors(&executors);
  TCase *test_case = ep_suite_case(suite, "golden");
  tcase_set_timeout(test_case, 60);
  tcase_add_checked_fixture(test_case, setup, teardown);
  tcase_add_test(test_case, the_vocabulary_is_covered);
  tcase_add_test(test_case, what_has_no_golden_is_noticed);
  tcase_add_loop_test(test_case, every_executor_repeats_pytorch, 0, executors);
  tcase_add_test(test_case, the_replay_can_fail);
}
