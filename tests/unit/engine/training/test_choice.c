/* The choice of an executor on a scripted GPU: which are timed, which one trains, and that nothing
 * of the timing stays in the training. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/training/choice.h"
#include "engine/training/setup.h"
#include "tests/suite.h"
#include "tests/unit/engine/training/training_fixture.h"

/* An instance of the scripted GPU: its weights are the first ones plus the steps done. */
typedef struct {
  char executor[EP_EXECUTOR_BYTES];
  int64_t parameters, rows;
  float first, steps;
} instance;

static struct {
  char own[EP_EXECUTOR_BYTES]; /* the device's choice */
  struct {
    const char *executor;
    int step_us;
    ep_status compiles, trains;
  } row[4];
  int compiled, alive, timed;    /* instances made, and not released; steps run */
  char ahead[EP_EXECUTOR_BYTES]; /* what was asked to be compiled */
  bool is_there;                 /* it is compiled */
  double now;                    /* seconds, of which only steps take any: a machine may be busy */
} script;

double __wrap_ep_seconds_now(void);
double __wrap_ep_seconds_now(void) {
  return script.now;
}

static int row_of(const char *executor) {
  for (int i = 0; i < 4; i++)
    if (script.row[i].executor && strcmp(script.row[i].executor, executor) == 0) return i;
  return -1;
}

static ep_status gpu_info(ep_backend *backend, ep_backend_info *out, ep_error *error) {
  (void)backend, (void)error;
  *out = (ep_backend_info){.instruction_set = "sm_90", .threads = 132};
  return EP_OK;
}

static ep_status gpu_compile(ep_backend *backend, const ep_program *program, const char *executor,
                             ep_instance **out, ep_error *error) {
  (void)backend;
  const char *name = executor ? executor : script.own;
  const int row = row_of(name);
  *out = NULL;
  if (row < 0 || script.row[row].compiles != EP_OK)
    return ep_fail(error, row < 0 ? EP_UNSUPPORTED : script.row[row].compiles, "not here");
  instance *made = calloc(1, sizeof *made);
  ck_assert_ptr_nonnull(made);
  snprintf(made->executor, sizeof made->executor, "%s", name);
  made->parameters = program->parameters;
  script.compiled++;
  script.alive++;
  *out = (ep_instance *)made;
  return EP_OK;
}

static bool gpu_compile_ahead(ep_backend *backend, const ep_program *program,
                              const char *executor) {
  (void)backend, (void)program;
  snprintf(script.ahead, sizeof script.ahead, "%s", executor);
  return script.is_there;
}

static void gpu_release(ep_instance *self) {
  if (!self) return;
  free(self);
  script.alive--;
}

static void gpu_instance_info(const ep_instance *self, ep_instance_info *out) {
  *out = (ep_instance_info){.executor = ((const instance *)self)->executor};
}

static ep_status gpu_load(ep_instance *self, ep_split split, const void *x, const void *y,
                          int64_t rows, ep_error *error) {
  (void)x, (void)y, (void)error;
  if (split == EP_SPLIT_TRAIN) ((instance *)self)->rows = rows;
  return EP_OK;
}

static ep_status gpu_train(ep_instance *self, const ep_segment *segment, ep_error *error) {
  instance *of = (instance *)self;
  const int row = row_of(of->executor);
  ck_assert_int_gt(of->rows, 0);
  if (script.row[row].trains != EP_OK) return ep_fail(error, script.row[row].trains, "it broke");
  script.now += 1e-6 * (double)segment->steps * script.row[row].step_us;
  of->steps += (float)segment->steps;
  script.timed++;
  for (int64_t i = 0; i < segment->steps; i++) {
    segment->loss[i] = 1;
    segment->errors[i] = 0;
  }
  return EP_OK;
}

static ep_status gpu_import(ep_instance *self, const float *parameters, const float *optimizer,
                            ep_error *error) {
  (void)optimizer, (void)error;
  ((instance *)self)->first = parameters[0];
  ((instance *)self)->steps = 0;
  return EP_OK;
}

static const ep_backend_ops ops = {.name = "cuda",
                                   .info = gpu_info,
                                   .compile = gpu_compile,
                                   .release = gpu_release,
                                   .compile_ahead = gpu_compile_ahead,
                                   .instance_info = gpu_instance_info,
                                   .load_data = gpu_load,
                                   .train_segment = gpu_train,
                                   .import_state = gpu_import};

/* A middle dense network: grid, gemm and general take it. */
#define JOB(batch, more)                                                    \
  "{\"data\":{\"generator\":\"disc\",\"rows\":300},\"model\":{\"layers\":[" \
  "{\"type\":\"linear\",\"out_features\":2048},{\"type\":\"relu\"},"        \
  "{\"type\":\"linear\",\"out_features\":2048},{\"type\":\"relu\"},"        \
  "{\"type\":\"linear\",\"out_features\":2}]},\"loss\":\"cross_entropy\","  \
  "\"precision\":\"tf32\",\"batch_size\":" batch ",\"epochs\":100000000" more "}"

static ep_trainer *trainer;
static fixture f;

static void script_set(int grid_us, int gemm_us, int general_us) {
  memset(&script, 0, sizeof script);
  snprintf(script.own, sizeof script.own, "cuda/gemm");
  script.row[0].executor = "cuda/grid";
  script.row[1].executor = "cuda/gemm";
  script.row[2].executor = "cuda/general";
  script.row[0].step_us = grid_us;
  script.row[1].step_us = gemm_us;
  script.row[2].step_us = general_us;
}

/* What is kept on disk is a test's own. */
static void cache_begin(void) {
  char folder[] = "/tmp/epochd-choice-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(setenv("EPOCHD_CACHE_DIR", folder, 1), 0);
}

static void cache_end(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", getenv("EPOCHD_CACHE_DIR"));
  ck_assert_int_eq(system(command), 0);
}

static ep_status begin(const char *job, ep_error *error) {
  fixture_open(&f, job, &ops, NULL);
  f.training.device = "cuda:0";
  f.training.job_folder = NULL;
  trainer = calloc(1, sizeof *trainer);
  ck_assert_ptr_nonnull(trainer);
  trainer->job = &f.training;
  ep_status status = ep_trainer_init(trainer, error);
  return status == EP_OK ? ep_choice_make(trainer, error) : status;
}

static void end(void) {
  ep_trainer_deinit(trainer);
  free(trainer);
  fixture_close(&f);
  ck_assert_int_eq(script.alive, 0);
}

static double tried_us(const char *executor) {
  for (int i = 0; i < trainer->tried.count; i++)
    if (strcmp(trainer->tried.executor[i].name, executor) == 0)
      return trainer->tried.executor[i].step_microseconds;
  return 0;
}

START_TEST(the_fastest_trains_and_is_remembered) {
  ep_error error = {0};
  script_set(300, 3000, 4000);
  ck_assert_msg(begin(JOB("128", ""), &error) == EP_OK, "%s", error.message);
  ck_assert_int_ge(trainer->tried.count, 2);
  ck_assert_double_eq_tol(tried_us("cuda/grid"), 300, 1e-6);
  ck_assert_double_eq_tol(tried_us("cuda/gemm"), 3000, 1e-6);
  ck_assert_str_eq(((instance *)trainer->instance)->executor, "cuda/grid");
  ck_assert_float_eq(((instance *)trainer->instance)->steps, 0);
  ck_assert_float_eq(((instance *)trainer->instance)->first, trainer->state[0]);
  ck_assert_int_eq(trainer->step, 0);
  ck_assert_int_eq(trainer->steps_run, 0);
  ck_assert_int_eq(script.alive, 1);
  end();
  script_set(9000, 10, 10); /* the same program: nothing is timed again */
  ck_assert_int_eq(begin(JOB("128", ""), &error), EP_OK);
  ck_assert_str_eq(((instance *)trainer->instance)->executor, "cuda/grid");
  ck_assert_int_eq(script.timed, 0);
  ck_assert_int_ge(trainer->tried.count, 2);
  end();
}
END_TEST

/* A worker of its own makes the choice, and ends. */
static void another_worker(void) {
  const pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    ep_error error = {0};
    script_set(300, 3000, 4000);
    const bool begun = begin(JOB("128", ""), &error) == EP_OK;
    _exit(begun && trainer->tried.count >= 2 ? 0 : 1);
  }
  int ended = 1;
  ck_assert_int_eq(waitpid(child, &ended, 0), child);
  ck_assert_int_eq(ended, 0);
}

START_TEST(another_worker_need_not_time_it_again) {
  ep_error error = {0};
  another_worker();
  script_set(9000, 10, 10);
  ck_assert_int_eq(begin(JOB("128", ""), &error), EP_OK);
  ck_assert_str_eq(((instance *)trainer->instance)->executor, "cuda/grid");
  ck_assert_int_eq(script.timed, 0);
  ck_assert_int_ge(trainer->tried.count, 2);
  end();
  script_set(9000, 10, 10000); /* another program */
  ck_assert_int_eq(begin(JOB("100", ""), &error), EP_OK);
  ck_assert_int_gt(script.timed, 0);
  end();
}
END_TEST

#define SHORT_JOB(epochs)                                                   \
  "{\"data\":{\"generator\":\"disc\",\"rows\":300},\"model\":{\"layers\":[" \
  "{\"type\":\"linear\",\"out_features\":300},{\"type\":\"relu\"},"         \
  "{\"type\":\"linear\",\"out_features\":300},{\"type\":\"relu\"},"         \
  "{\"type\":\"linear\",\"out_features\":2}]},\"loss\":\"cross_entropy\","  \
  "\"precision\":\"tf32\",\"batch_size\":64,\"epochs\":" epochs "}"

/* Which executor a training has on a device whose own choice is compiled first. is_there: it was,
 * ahead. */
static const char *short_executor(const char *job, bool is_there) {
  static char found[EP_EXECUTOR_BYTES];
  ep_error error = {0};
  script_set(300, 3000, 4000);
  script.row[3].executor = "cuda/persistent";
  script.row[3].step_us = 10;
  script.is_there = is_there;
  snprintf(script.own, sizeof script.own, "cuda/persistent");
  ck_assert_msg(begin(job, &error) == EP_OK, "%s", error.message);
  snprintf(found, sizeof found, "%s", ((instance *)trainer->instance)->executor);
  end();
  return found;
}

START_TEST(a_short_training_does_not_wait_for_its_kernel) {
  for (int i = 0; i < 3; i++) {
    ck_assert_str_ne(short_executor(SHORT_JOB("2000"), false), "cuda/persistent");
    ck_assert_str_eq(script.ahead, "cuda/persistent"); /* is compiled meanwhile */
  }
  ck_assert_str_eq(short_executor(SHORT_JOB("2000"), true), "cuda/persistent");
  /* one that is worth the wait */
  ck_assert_str_eq(short_executor(SHORT_JOB("10000000"), false), "cuda/persistent");
  ck_assert_str_eq(script.ahead, "");
}
END_TEST

START_TEST(the_devices_own_choice_stays_unless_another_is_faster_by_far) {
  ep_error error = {0};
  script_set(29000, 30000, 40000);
  ck_assert_int_eq(begin(JOB("128", ""), &error), EP_OK);
  ck_assert_int_ge(trainer->tried.count, 2);
  ck_assert_str_eq(((instance *)trainer->instance)->executor, "cuda/gemm");
  ck_assert_float_eq(((instance *)trainer->instance)->steps, 0);
  end();
}
END_TEST

START_TEST(who_fails_is_none_unless_the_device_failed) {
  ep_error error = {0};
  script_set(10, 3000, 4000);
  script.row[0].compiles = EP_UNSUPPORTED;
  script.row[2].trains = EP_NO_MEMORY;
  ck_assert_int_eq(begin(JOB("128", ""), &error), EP_OK);
  ck_assert_int_eq(trainer->tried.count, 1);
  ck_assert_str_eq(((instance *)trainer->instance)->executor, "cuda/gemm");
  end();
  script_set(10, 3000, 4000);
  script.row[0].trains = EP_DEVICE;
  ck_assert_int_eq(begin(JOB("120", ""), &error), EP_DEVICE);
  ck_assert_str_eq(error.message, "it broke");
  end();
}
END_TEST

START_TEST(who_lacked_memory_is_tried_another_time) {
  ep_error error = {0};
  script_set(300, 3000, 4000);
  script.row[0].trains = EP_NO_MEMORY;
  ck_assert_int_eq(begin(JOB("128", ""), &error), EP_OK);
  ck_assert_str_eq(((instance *)trainer->instance)->executor, "cuda/gemm");
  end();
  script_set(300, 3000, 4000);
  ck_assert_int_eq(begin(JOB("128", ""), &error), EP_OK);
  ck_assert_str_eq(((instance *)trainer->instance)->executor, "cuda/grid");
  end();
}
END_TEST

/* The same but for the weights of classes, say, which the executor does not take. */
START_TEST(what_is_remembered_need_not_be_had) {
  ep_error error = {0};
  script_set(300, 3000, 4000);
  ck_assert_int_eq(begin(JOB("128", ""), &error), EP_OK);
  ck_assert_str_eq(((instance *)trainer->instance)->executor, "cuda/grid");
  end();
  script_set(300, 3000, 4000);
  script.row[0].compiles = EP_UNSUPPORTED;
  ck_assert_msg(begin(JOB("128", ""), &error) == EP_OK, "%s", error.message);
  ck_assert_str_eq(((instance *)trainer->instance)->executor, "cuda/gemm");
  ck_assert_float_eq(((instance *)trainer->instance)->first, trainer->state[0]);
  ck_assert_int_eq(trainer->tried.count, 0);
  end();
}
END_TEST

/* A job that names its executor, and one that is too short to try anything for. */
START_TEST(some_jobs_are_not_tried) {
  ep_error error = {0};
  script_set(10, 3000, 4000);
  ck_assert_int_eq(begin(JOB("128", ",\"executor\":\"cuda/general\""), &error), EP_OK);
  ck_assert_int_eq(script.compiled, 1);
  ck_assert_int_eq(script.timed, 0);
  end();
  script_set(10, 3000, 4000);
  ck_assert_int_eq(begin(JOB("128", ",\"max_seconds\":0.05"), &error), EP_OK);
  ck_assert_int_eq(script.compiled, 1);
  ck_assert_int_eq(trainer->tried.count, 0);
  end();
}
END_TEST

/* What was timed while the device's own choice was another one. */
START_TEST(a_choice_beside_another_executor_is_none) {
  ep_error error = {0};
  script_set(300, 3000, 4000);
  ck_assert_int_eq(begin(JOB("128", ""), &error), EP_OK);
  ck_assert_str_eq(((instance *)trainer->instance)->executor, "cuda/grid");
  end();
  script_set(300, 3000, 200);
  snprintf(script.own, sizeof script.own, "cuda/general");
  ck_assert_int_eq(begin(JOB("128", ""), &error), EP_OK);
  ck_assert_str_eq(((instance *)trainer->instance)->executor, "cuda/general");
  ck_assert_double_eq_tol(tried_us("cuda/general"), 200, 1e-6);
  end();
}
END_TEST

EP_SUITE("engine/training/choice") {
  TCase *tests = ep_suite_case(suite, "choice");
  tcase_set_timeout(tests, 30);
  tcase_add_checked_fixture(tests, cache_begin, cache_end);
  tcase_add_test(tests, the_fastest_trains_and_is_remembered);
  tcase_add_test(tests, another_worker_need_not_time_it_again);
  tcase_add_test(tests, a_short_training_does_not_wait_for_its_kernel);
  tcase_add_test(tests, a_choice_beside_another_executor_is_none);
  tcase_add_test(tests, the_devices_own_choice_stays_unless_another_is_faster_by_far);
  tcase_add_test(tests, who_fails_is_none_unless_the_device_failed);
  tcase_add_test(tests, who_lacked_memory_is_tried_another_time);
  tcase_add_test(tests, what_is_remembered_need_not_be_had);
  tcase_add_test(tests, some_jobs_are_not_tried);
}
