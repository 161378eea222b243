/* The plan of several ranks: slices, stages, what is refused, and what is shown. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/unit/engine/plan/plan_fixture.h"

#define PARALLEL(parallel) ",\"parallel\":" parallel
#define LINEAR(out) "{\"type\":\"linear\",\"out_features\":" out "}"
#define RELU "{\"type\":\"relu\"}"
/* Six layers, of which the first linear one has nearly all products. */
#define WIDE \
  "[{\"type\":\"flatten\"}," LINEAR("64") "," RELU "," LINEAR("64") "," RELU "," LINEAR("10") "]"
#define BLOCK                                                                            \
  "[{\"type\":\"flatten\"}," LINEAR("16") ",{\"type\":\"residual\",\"layers\":[" LINEAR( \
      "16") "," RELU "," LINEAR("16") "]}," RELU "," LINEAR("10") "]"

static void assert_stages(const ep_plan *plan, int count, const int *first) {
  const ep_parallel *parallel = &plan->program.parallel;
  ck_assert_int_eq(parallel->model, count);
  for (int i = 0; i < count; i++) ck_assert_int_eq(parallel->stage_first[i], first[i]);
  ck_assert_int_eq(parallel->stage_first[count], plan->program.ops_count);
}

START_TEST(a_job_without_it_has_one_rank) {
  static const char *const texts[] = {"", PARALLEL("null"), PARALLEL("{}"),
                                      PARALLEL("{\"data\":1,\"model\":1,\"micro_batches\":1}"),
                                      PARALLEL("{\"stages\":[[0,5]]}")};
  char text[2048];
  ep_job_spec *spec;
  ep_parallel_view view;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const char *job = JOB(WIDE, "");
    snprintf(text, sizeof text, "%.*s%s}", (int)strlen(job) - 1, job, texts[i]);
    ep_plan *plan = plan_of(text, &mnist, &spec);
    ck_assert_int_eq(ep_program_ranks(&plan->program), 1);
    ck_assert_int_eq(plan->program.parallel.micro_batches, 1);
    assert_stages(plan, 1, (const int[]){0});
    ck_assert(!ep_plan_parallel(plan, spec, &view));
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

/* The first linear layer has nearly all of the cost: it has a stage, and the rest another. */
START_TEST(stages_of_like_cost) {
  static const struct {
    const char *text;
    int count, first[6];
  } rows[] = {
      {JOB(WIDE, PARALLEL("{\"model\":2}")), 2, {0, 2}},
      {JOB(WIDE, PARALLEL("{\"model\":3}")), 3, {0, 2, 5}},
      {JOB(WIDE, PARALLEL("{\"model\":6}")), 6, {0, 1, 2, 3, 4, 5}},
      {JOB(WIDE, PARALLEL("{\"stages\":[[0,3],[4,5]]}")), 2, {0, 4}},
      {JOB("[" LINEAR("784") "," LINEAR("784") "," LINEAR("784") "," LINEAR("784") "," LINEAR(
               "10") "]",
           PARALLEL("{\"model\":4}")),
       4,
       {0, 1, 2, 3}},
  };
  ep_data_shape vector = mnist;
  vector.row = (ep_shape){784, 1, 1};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ep_job_spec *spec = spec_of(rows[i].text);
    memset(spec->data.shape, 0, sizeof spec->data.shape);
    ep_problem problem = {0};
    ep_plan *plan;
    ck_assert_int_eq(ep_plan_create(spec, &vector, &plan, &problem), EP_OK);
    assert_stages(plan, rows[i].count, rows[i].first);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

/* A residual's ops stay together, however they are counted. */
START_TEST(a_block_is_one_layer) {
  ep_job_spec *spec;
  ep_plan *plan = plan_of(JOB(BLOCK, PARALLEL("{\"model\":5}")), &mnist, &spec);
  assert_stages(plan, 5, (const int[]){0, 1, 2, 6, 7});
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
  plan = plan_of(JOB(BLOCK, PARALLEL("{\"stages\":[[0,1],[2,4]]}")), &mnist, &spec);
  assert_stages(plan, 2, (const int[]){0, 2});
  ep_parallel_view view;
  ck_assert(ep_plan_parallel(plan, spec, &view));
  ck_assert_int_eq(view.stage[0].last_layer, 1);
  ck_assert_int_eq(view.stage[1].first_layer, 2);
  ck_assert_int_eq(view.stage[1].last_layer, 4);
  ck_assert_int_eq(view.stage[0].parameters, 784 * 16 + 16);
  ck_assert_int_eq(view.stage[0].parameters + view.stage[1].parameters, plan->parameters);
  ck_assert_double_eq_tol(view.stage[0].cost_share + view.stage[1].cost_share, 1, 1e-12);
  ck_assert_double_gt(view.stage[0].cost_share, view.stage[1].cost_share);
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

/* Whatever the layers cost, no other cut has a cheaper dearest stage. */
START_TEST(no_cut_is_better) {
  ep_job_spec *spec;
  ep_parallel_view view, other;
  ep_plan *plan = plan_of(JOB(NOTEBOOK, PARALLEL("{\"model\":3}")), &mnist, &spec);
  ck_assert(ep_plan_parallel(plan, spec, &view));
  double dearest = 0;
  for (int s = 0; s < 3; s++)
    if (view.stage[s].cost_share > dearest) dearest = view.stage[s].cost_share;
  for (int a = 1; a < 12; a++)
    for (int b = a + 1; b < 13; b++) {
      ep_plan cut = *plan;
      cut.program.parallel.stage_first[1] = a;
      cut.program.parallel.stage_first[2] = b;
      ck_assert(ep_plan_parallel(&cut, spec, &other));
      double most = 0;
      for (int s = 0; s < 3; s++)
        if (other.stage[s].cost_share > most) most = other.stage[s].cost_share;
      ck_assert_double_ge(most, dearest);
    }
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

START_TEST(micro_batches_follow_from_stages_and_rows) {
  static const struct {
    const char *text;
    int data, micro_batches;
  } rows[] = {
      {JOB(WIDE, PARALLEL("{\"data\":3}")), 3, 1},
      {JOB(WIDE, PARALLEL("{\"model\":2}")), 1, 8},
      {JOB(WIDE, PARALLEL("{\"model\":3,\"data\":2}")), 2, 12},
      {JOB(WIDE, PARALLEL("{\"model\":2,\"data\":32}")), 32, 6}, /* 200 rows: slices of 6 and 7 */
      {JOB(WIDE, PARALLEL("{\"model\":2,\"micro_batches\":200}")), 1, 200},
      {JOB(WIDE, PARALLEL("{\"model\":2,\"micro_batches\":1}")), 1, 1},
      {JOB(WIDE, PARALLEL("{\"data\":\"auto\",\"model\":2}")), 1, 8},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ep_job_spec *spec;
    ep_plan *plan = plan_of(rows[i].text, &mnist, &spec);
    ck_assert_int_eq(plan->program.parallel.data, rows[i].data);
    ck_assert_int_eq(plan->program.parallel.micro_batches, rows[i].micro_batches);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

#define NORMED(more, out) \
  "[{\"type\":\"flatten\"},{\"type\":\"batch_norm\"" more "}," LINEAR(out) "]"

static const struct {
  int64_t batch_size; /* 0 = 200 */
  const char *text, *pointer, *detail;
} refused[] = {
    {0, JOB(WIDE, PARALLEL("{\"model\":7}")), "/parallel/model",
     "7 stages, and the model has 6 layers"},
    {0, JOB(BLOCK, PARALLEL("{\"model\":6}")), "/parallel/model", "a residual counted as one"},
    {3, JOB(WIDE, PARALLEL("{\"data\":4}")), "/parallel/data",
     "4 replicas share a batch of 3 rows"},
    {0, JOB(WIDE, PARALLEL("{\"model\":2,\"micro_batches\":201}")), "/parallel/micro_batches",
     "201 micro-batches of a slice of 200 rows"},
    {0, JOB(WIDE, PARALLEL("{\"model\":2,\"data\":3,\"micro_batches\":67}")),
     "/parallel/micro_batches", "67 micro-batches of a slice of 66 rows"},
    {0, JOB(NORMED(",\"sync\":true", "10"), ",\"device\":\"cuda:0\"" PARALLEL("{\"data\":2}")),
     "/parallel/data", "is supported only on device \"cpu\""},
    {0, JOB(WIDE, ",\"executor\":\"cpu/fused\"" PARALLEL("{\"data\":2,\"model\":2}")), "/executor",
     "cpu/fused trains on one rank, and the job requests 4"},
    {0, JOB(WIDE, ",\"executor\":\"cuda/grid\"" PARALLEL("{\"data\":2}")), "/executor",
     "cuda/grid trains on one rank"},
    {0, JOB(NORMED("", "10"), PARALLEL("{\"model\":2,\"micro_batches\":101}")),
     "/parallel/micro_batches", "layer 1, batch_norm, needs at least 2 rows in a micro-batch"},
    {60, JOB(NORMED("", "10"), PARALLEL("{\"data\":31}")), "/parallel/data",
     "60 rows of a batch, with 31 replicas"},
    {19999, JOB(NORMED("", "10"), PARALLEL("{\"data\":3}")), "/parallel/data",
     "3 rows of the last batch of an epoch, with 3 replicas"},
    {59999, JOB(NORMED("", "10"), PARALLEL("{\"data\":3}")), "/batch_size",
     "needs at least 2 rows in a batch: the last of an epoch has 1"},
};

START_TEST(what_does_not_fit_is_refused) {
  ep_job_spec *spec = spec_of(refused[_i].text);
  ep_problem problem = {0};
  ep_plan *plan = (ep_plan *)1;
  if (refused[_i].batch_size > 0) spec->batch_size = refused[_i].batch_size;
  ck_assert_int_eq(ep_plan_create(spec, &mnist, &plan, &problem), EP_INVALID);
  ck_assert_ptr_null(plan);
  ck_assert_msg(strcmp(problem.errors[0].pointer, refused[_i].pointer) == 0, "%s: %s",
                problem.errors[0].pointer, problem.detail);
  ck_assert_msg(strstr(problem.detail, refused[_i].detail) != NULL, "%s", problem.detail);
  ck_assert_int_eq(problem.errors_count, 1);
  ep_job_spec_destroy(spec);
}
END_TEST

/* Over all replicas a micro-batch has rows enough. */
START_TEST(a_norm_that_syncs_sees_all_replicas) {
  static const char *const texts[] = {
      JOB(NORMED("", "10"), PARALLEL("{\"data\":40}")),
      JOB(NORMED(",\"sync\":true", "10"), PARALLEL("{\"data\":40}"))};
  for (int sync = 0; sync < 2; sync++) {
    ep_job_spec *spec = spec_of(texts[sync]);
    ep_problem problem = {0};
    ep_plan *plan = NULL;
    spec->batch_size = 60; /* slices of 1 and 2 */
    ck_assert_int_eq(ep_plan_create(spec, &mnist, &plan, &problem), sync ? EP_OK : EP_INVALID);
    if (sync) ck_assert(plan->ops[1].sync);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
}
END_TEST

/* Equal stages: (p - 1) / (m + p - 1). A slow one sets the pace. */
START_TEST(the_ideal_of_a_pipeline) {
  ck_assert_double_eq_tol(ep_pipeline_idle(4, 4, 0.25), 3.0 / 7, 1e-12);
  ck_assert_double_eq_tol(ep_pipeline_idle(2, 8, 0.5), 1.0 / 9, 1e-12);
  ck_assert_double_eq_tol(ep_pipeline_idle(1, 1, 1), 0, 1e-12);
  ck_assert_double_eq_tol(ep_pipeline_idle(4, 1, 0.25), 0.75, 1e-12);
  ck_assert_double_eq_tol(ep_pipeline_idle(2, 1000, 0.75), 1 - 1000 / (2 * (1 + 999 * 0.75)),
                          1e-12);
}
END_TEST

START_TEST(auto_is_one_replica_and_says_why) {
  ep_job_spec *spec;
  ep_parallel_view view;
  ep_plan *plan = plan_of(JOB(WIDE, PARALLEL("{\"data\":\"auto\"}")), &mnist, &spec);
  ck_assert(ep_plan_parallel(plan, spec, &view));
  ck_assert_int_eq(view.data, 1);
  ck_assert_int_eq(view.model, 1);
  ck_assert_int_eq(view.stage[0].last_layer, 5);
  ck_assert_double_eq(view.bubble, 0);
  ck_assert_ptr_nonnull(strstr(view.note, "a whole device"));
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

/* What a kernel is made for, and what an epoch takes, is another thing on other ranks. */
START_TEST(ranks_have_signatures_of_their_own) {
  static const char *const texts[] = {JOB(WIDE, ""),
                                      JOB(WIDE, PARALLEL("{\"data\":2}")),
                                      JOB(WIDE, PARALLEL("{\"model\":2}")),
                                      JOB(WIDE, PARALLEL("{\"stages\":[[0,3],[4,5]]}")),
                                      JOB(WIDE, PARALLEL("{\"model\":2,\"micro_batches\":2}")),
                                      JOB(WIDE, PARALLEL("{\"data\":4}"))};
  enum { COUNT = sizeof texts / sizeof *texts };
  uint64_t signatures[COUNT];
  int64_t bytes[COUNT];
  for (int i = 0; i < COUNT; i++) {
    ep_job_spec *spec;
    ep_plan *plan = plan_of(texts[i], &mnist, &spec);
    signatures[i] = ep_plan_signature(plan);
    bytes[i] = plan->bytes;
    for (int j = 0; j < i; j++) ck_assert(signatures[i] != signatures[j]);
    ep_plan_destroy(plan);
    ep_job_spec_destroy(spec);
  }
  ck_assert_int_gt(bytes[5], bytes[1]); /* a replica has a state of its own */
}
END_TEST

/* Each kind of device by its own executor, whatever was measured there before. */
START_TEST(a_cpu_and_a_gpu_train_it) {
  ep_job_spec *spec;
  ep_plan *plan = plan_of(JOB(WIDE, PARALLEL("{\"data\":2,\"model\":2}")), &mnist, &spec);
  ep_device_info cpu = {.id = "cpu", .instruction_set = "avx2", .threads = 8};
  ep_device_info cuda = {.id = "cuda:0", .instruction_set = "sm_90", .threads = 132};
  ep_calibration before = {0};
  ep_estimate on_gpu = ep_plan_estimate(plan, spec, &cuda, NULL, NULL);
  ck_assert(isfinite(on_gpu.seconds));
  ck_assert_str_eq(on_gpu.executor, "cuda/ranks");
  for (int calibrated = 0; calibrated < 2; calibrated++) {
    ep_estimate estimate = ep_plan_estimate(plan, spec, &cpu, calibrated ? &before : NULL, NULL);
    ck_assert(isfinite(estimate.seconds));
    ck_assert_str_eq(estimate.executor, "cpu/ranks");
    ck_assert_int_eq(estimate.cores, 4);
  }
  ep_plan_destroy(plan);
  ep_job_spec_destroy(spec);
}
END_TEST

EP_SUITE("engine/plan/ranks") {
  TCase *tests = ep_suite_case(suite, "ranks");
  tcase_add_test(tests, a_job_without_it_has_one_rank);
  tcase_add_test(tests, stages_of_like_cost);
  tcase_add_test(tests, a_block_is_one_layer);
  tcase_add_test(tests, no_cut_is_better);
  tcase_add_test(tests, micro_batches_follow_from_stages_and_rows);
  tcase_add_loop_test(tests, what_does_not_fit_is_refused, 0, sizeof refused / sizeof *refused);
  tcase_add_test(tests, a_norm_that_syncs_sees_all_replicas);
  tcase_add_test(tests, the_ideal_of_a_pipeline);
  tcase_add_test(tests, a_cpu_and_a_gpu_train_it);
  tcase_add_test(tests, auto_is_one_replica_and_says_why);
  tcase_add_test(tests, ranks_have_signatures_of_their_own);
}
