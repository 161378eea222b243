/* cpu/ranks: replicas, stages and both give the reference's numbers, the same bits each time and
 * however a training is cut, and say what they cost. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "kernels/cpu/executors/ranks/team.h"
#include "tests/suite.h"
#include "tests/unit/kernels/compare.h"

static const ep_backend_ops *ops;
static ep_backend *backend;

static void setup(void) {
  ops = ep_backend_cpu();
  ck_assert_int_eq(ops->open(0, &backend, NULL), EP_OK);
}

static void teardown(void) {
  ops->close(backend);
}

typedef struct {
  int data, model, micro_batches;
} grid;

static const grid grids[] = {{2, 1, 1}, {4, 1, 1}, {8, 1, 1}, {1, 2, 1}, {1, 2, 3}, {1, 4, 2},
                             {1, 8, 5}, {2, 2, 2}, {4, 2, 3}, {2, 4, 4}, {4, 4, 2}};
enum { GRIDS = sizeof grids / sizeof grids[0] };

static void ranks_set(ep_case *test, grid of) {
  ep_case_set_ranks(test, of.data, of.model, of.micro_batches);
}

static void check_case(ep_case *test, grid of) {
  ep_subject ranks = {ops, backend, "cpu/ranks"}, reference = {ops, backend, "cpu/reference"};
  ep_run expected, whole, cut;
  ranks_set(test, (grid){1, 1, 1});
  ck_assert_int_eq(ep_run_case(&reference, test, EP_RUN_WHOLE, &expected, stderr), EP_OK);
  ranks_set(test, of);
  if (ep_program_ranks(&test->program) > 1) {
    ck_assert_int_eq(ep_run_case(&ranks, test, EP_RUN_WHOLE, &whole, stderr), EP_OK);
    ck_assert_int_eq(ep_run_case(&ranks, test, EP_RUN_CUT, &cut, stderr), EP_OK);
    ck_assert_msg(ep_runs_agree(test, &whole, &expected, EP_COMPARE_TOLERANCE, NULL, stderr),
                  "%s, %d x %d", test->name, of.data, of.model);
    ck_assert_msg(ep_runs_same(test, &cut, &whole, stderr), "%s, %d x %d: cut", test->name, of.data,
                  of.model);
    ep_run_deinit(&cut);
    ep_run_deinit(&whole);
  }
  ep_run_deinit(&expected);
}

/* Each case with one grid: the next one's with the next. */
START_TEST(every_case_is_the_reference_but_for_rounding) {
  for (int i = _i; i < ep_case_count(); i += GRIDS) {
    ep_case *test = ep_case_create_number(i);
    check_case(test, grids[(i / GRIDS + _i) % GRIDS]);
    ep_case_destroy(test);
  }
}
END_TEST

static ep_case *deep_case(void) {
  ep_case *test = ep_case_create("deep", 7, EP_LOSS_CROSS_ENTROPY);
  for (int i = 0; i < 4; i++) {
    ep_case_add_linear(test, 9 + i, true);
    ep_case_add(test, EP_LAYER_TANH);
  }
  ep_case_add_dropout(test, EP_LAYER_DROPOUT, 0.2f);
  ep_case_add_linear(test, 5, true);
  ep_case_finish(test,
                 &(ep_case_training){
                     .rows = 301,
                     .batch_size = 64,
                     .shuffle = true,
                     .seed = 3,
                     .steps = 12,
                     .lr = 0.05f,
                     .optimizer = {.type = EP_OPTIMIZER_SGD, .momentum = 0.9f, .clip_norm = 0.3f}});
  return test;
}

/* Shuffled batches of which the last is small, dropout, clipping over all stages, momentum. */
START_TEST(a_deep_network_on_each_grid) {
  ep_case *test = deep_case();
  check_case(test, grids[_i]);
  ep_case_destroy(test);
}
END_TEST

/* A canary: the comparison notices a batch of one row less. */
START_TEST(another_batch_is_told_apart) {
  ep_subject ranks = {ops, backend, "cpu/ranks"};
  ep_case *test = deep_case(), *other = deep_case();
  ep_run one, two;
  ranks_set(test, (grid){2, 1, 1});
  ranks_set(other, (grid){2, 1, 1});
  other->program.batch_size = 63;
  ck_assert_int_eq(ep_run_case(&ranks, test, EP_RUN_WHOLE, &one, stderr), EP_OK);
  ck_assert_int_eq(ep_run_case(&ranks, other, EP_RUN_WHOLE, &two, stderr), EP_OK);
  FILE *nowhere = fopen("/dev/null", "w");
  ck_assert_ptr_nonnull(nowhere);
  ck_assert(!ep_runs_agree(test, &two, &one, EP_COMPARE_TOLERANCE, NULL, nowhere));
  fclose(nowhere);
  ep_run_deinit(&two);
  ep_run_deinit(&one);
  ep_case_destroy(other);
  ep_case_destroy(test);
}
END_TEST

/* A batch_norm that does not sync sees the slice of its replica: its losses are others. */
START_TEST(a_batch_norm_is_local_unless_it_is_to_sync) {
  ep_subject ranks = {ops, backend, "cpu/ranks"};
  ep_run run[2];
  for (int sync = 0; sync < 2; sync++) {
    ep_case *test = ep_case_create("norm", 4, EP_LOSS_MSE);
    ep_case_add_linear(test, 6, true);
    ep_case_add_norm(test, EP_LAYER_BATCH_NORM, true);
    ep_case_add_linear(test, 2, true);
    ep_case_finish(test, &(ep_case_training){.rows = 40, .steps = 5, .lr = 0.1f});
    ranks_set(test, (grid){2, 1, 1});
    for (int i = 0; i < test->program.ops_count; i++) test->ops[i].sync = sync;
    ck_assert_int_eq(ep_run_case(&ranks, test, EP_RUN_WHOLE, &run[sync], stderr), EP_OK);
    for (int64_t i = 0; i < run[sync].steps; i++) ck_assert_float_finite(run[sync].loss[i]);
    ep_case_destroy(test);
  }
  ck_assert(fabsf(run[0].loss[0] - run[1].loss[0]) > 1e-4f);
  ep_run_deinit(&run[1]);
  ep_run_deinit(&run[0]);
}
END_TEST

/* Pieces without rows: of a last batch that is smaller than the ranks, some replicas have none, and
 * of some pieces all have none. Nothing becomes NaN, whichever norm syncs. */
START_TEST(a_piece_without_rows_moves_nothing) {
  static const grid small[] = {{2, 2, 4}, {4, 2, 2}, {8, 1, 1}, {8, 4, 3}};
  ep_subject ranks = {ops, backend, "cpu/ranks"};
  const ep_case_window three = {.kernel = {3, 3}, .padding = {1, 1}};
  for (int sync = 0; sync < 4; sync++) {
    ep_run run;
    ep_case *test = ep_case_create_image("empty", (ep_shape){1, 4, 4}, EP_LOSS_CROSS_ENTROPY);
    ep_case_add_conv2d(test, 3, &three, true);
    ep_case_add_norm(test, EP_LAYER_BATCH_NORM, true);
    ep_case_add(test, EP_LAYER_RELU);
    ep_case_add_conv2d(test, 2, &three, true);
    ep_case_add_norm(test, EP_LAYER_BATCH_NORM, true);
    ep_case_add(test, EP_LAYER_FLATTEN);
    ep_case_add_linear(test, 3, true);
    ep_case_finish(test,
                   &(ep_case_training){.rows = 35, .batch_size = 32, .steps = 6, .lr = 0.01f});
    ranks_set(test, small[_i]);
    if (test->program.parallel.model > 1)
      test->program.parallel.micro_batches = small[_i].micro_batches;
    for (int i = 0, norm = 0; i < test->program.ops_count; i++)
      if (test->ops[i].type == EP_LAYER_BATCH_NORM) test->ops[i].sync = sync >> norm++ & 1;
    ck_assert_int_eq(ep_run_case(&ranks, test, EP_RUN_WHOLE, &run, stderr), EP_OK);
    for (int64_t i = 0; i < run.parameters; i++) ck_assert_float_finite(run.trained[i]);
    for (int64_t i = 0; i < run.steps; i++) ck_assert_float_finite(run.loss[i]);
    ep_run_deinit(&run);
    ep_case_destroy(test);
  }
}
END_TEST

START_TEST(ranks_say_what_they_hold_and_how_long_they_wait) {
  ep_case *test = deep_case();
  ep_instance *instance;
  ep_instance_info info;
  float loss[8];
  int32_t errors[8];
  ranks_set(test, (grid){2, 4, 4});
  ck_assert_int_eq(ops->compile(backend, &test->program, NULL, &instance, NULL), EP_OK);
  ck_assert_int_eq(
      ops->load_data(instance, EP_SPLIT_TRAIN, test->x[0], test->y[0], test->rows[0], NULL), EP_OK);
  ck_assert_int_eq(ops->import_state(instance, test->parameters, NULL, NULL), EP_OK);
  ep_segment segment = {.steps = 8, .lr = test->lr, .lr_count = 1, .loss = loss, .errors = errors};
  ck_assert_int_eq(ops->train_segment(instance, &segment, NULL), EP_OK);
  ops->instance_info(instance, &info);
  ck_assert_str_eq(info.executor, "cpu/ranks");
  ck_assert_int_eq(info.ranks, 8);
  for (int i = 0; i < info.ranks; i++) {
    ck_assert_int_gt(info.rank[i].bytes, 0);
    ck_assert_double_gt(info.rank[i].compute_seconds, 0);
    ck_assert_double_gt(info.rank[i].communication_seconds, 0);
    ck_assert_double_gt(info.rank[i].idle_seconds, 0);
  }
  ops->release(instance);
  ep_case_destroy(test);
}
END_TEST

/* One rank is nothing for cpu/ranks, several are nothing for the others. */
START_TEST(it_takes_programs_of_several_ranks_alone) {
  ep_case *test = deep_case();
  ep_instance *instance;
  ck_assert_int_eq(ops->compile(backend, &test->program, "cpu/ranks", &instance, NULL),
                   EP_UNSUPPORTED);
  ranks_set(test, (grid){2, 1, 1});
  ck_assert_int_eq(ops->compile(backend, &test->program, "cpu/reference", &instance, NULL),
                   EP_UNSUPPORTED);
  test->program.parallel.data = EP_LIMIT_RANKS + 1;
  ck_assert_int_eq(ops->compile(backend, &test->program, NULL, &instance, NULL), EP_INVALID);
  ranks_set(test, (grid){1, 2, 1});
  test->program.parallel.stage_first[1] = 0;
  ck_assert_int_eq(ops->compile(backend, &test->program, NULL, &instance, NULL), EP_INVALID);
  ep_case_destroy(test);
}
END_TEST

typedef struct {
  pthread_barrier_t barrier;
  int met[EP_LIMIT_RANKS];
} meeting;

static void meet(void *context, int member) {
  meeting *with = context;
  pthread_barrier_wait(&with->barrier);
  with->met[member]++;
}

/* All run at once: else the barrier would never open. */
START_TEST(a_team_runs_side_by_side) {
  static const int sizes[] = {1, 2, 7, EP_LIMIT_RANKS};
  meeting with = {.met = {0}};
  ep_team *team;
  pthread_barrier_init(&with.barrier, NULL, (unsigned)sizes[_i]);
  ck_assert_int_eq(ep_team_create(sizes[_i], &team, NULL), EP_OK);
  for (int run = 0; run < 50; run++) ep_team_run(team, meet, &with);
  ep_team_destroy(team);
  for (int i = 0; i < EP_LIMIT_RANKS; i++) ck_assert_int_eq(with.met[i], i < sizes[_i] ? 50 : 0);
  pthread_barrier_destroy(&with.barrier);
}
END_TEST

EP_SUITE("cpu_ranks") {
  TCase *tests = ep_suite_case(suite, "ranks");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, every_case_is_the_reference_but_for_rounding, 0, GRIDS);
  tcase_add_loop_test(tests, a_deep_network_on_each_grid, 0, GRIDS);
  tcase_add_test(tests, another_batch_is_told_apart);
  tcase_add_test(tests, a_batch_norm_is_local_unless_it_is_to_sync);
  tcase_add_loop_test(tests, a_piece_without_rows_moves_nothing, 0, 4);
  tcase_add_test(tests, ranks_say_what_they_hold_and_how_long_they_wait);
  tcase_add_test(tests, it_takes_programs_of_several_ranks_alone);
  tcase_add_loop_test(tests, a_team_runs_side_by_side, 0, 4);
}
