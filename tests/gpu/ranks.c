/* cuda/ranks, a program of its own:
 *
 *     test_gpu_ranks PLUGIN [--every N | --bench]
 *
 * Every case of the lists on grids of replicas and stages, held to cpu/ranks on the same grid: on
 * one GPU, and on as many as there are; --bench: times instead, beside one rank. Prints a line a
 * case and ends with "N passed, N failed, N skipped"; exits with 1 when one failed, 77 when there
 * is no GPU. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/gpu/cases.h"
#include "tests/gpu/large.h"
#include "tests/gpu/plugin.h"
#include "tests/unit/kernels/compare.h"

enum { EXIT_SKIPPED = 77 };

/* For products of numbers with ten bits of mantissa, and for norms over the few rows of a slice,
 * which enlarge what rounding left. */
static const double COARSE_TOLERANCE = 3e-2, NORM_TOLERANCE = 1e-3;

typedef struct {
  int data, model, micro_batches;
} grid;

static const grid grids[] = {{2, 1, 1}, {1, 2, 3}, {3, 1, 1}, {2, 2, 2},
                             {1, 4, 2}, {4, 1, 1}, {2, 3, 4}, {8, 1, 1}};
enum { GRIDS = sizeof grids / sizeof *grids };

typedef struct {
  ep_subject cuda, cpu;
  int gpus;
  int passed, failed, skipped;
} suite;

/* Such as the executor takes: each replica's batch_norm by itself. */
static void ranks_set(ep_case *test, grid of, int gpus) {
  ep_case_set_ranks(test, of.data, of.model, of.micro_batches);
  for (int i = 0; of.data > 1 && i < test->program.ops_count; i++) test->ops[i].sync = false;
  ep_parallel *parallel = &test->program.parallel;
  parallel->devices_count = gpus;
  for (int i = 0; i < gpus; i++) parallel->device[i] = i;
}

static bool repeats(const suite *self, const ep_case *test) {
  ep_run first = {0}, second = {0};
  bool same = ep_run_case(&self->cuda, test, EP_RUN_WHOLE, &first, stdout) == EP_OK &&
              ep_run_case(&self->cuda, test, EP_RUN_WHOLE, &second, stdout) == EP_OK &&
              ep_runs_same(test, &first, &second, stdout);
  ep_run_deinit(&second);
  ep_run_deinit(&first);
  return same;
}

static void case_try(suite *self, ep_case *test, grid of, int gpus) {
  ep_comparison result = {0};
  ranks_set(test, of, gpus);
  const ep_parallel *parallel = &test->program.parallel;
  if (ep_program_ranks(&test->program) == 1) return;
  double tolerance = EP_COMPARE_TOLERANCE;
  for (int i = 0; i < test->program.ops_count; i++)
    if (test->ops[i].type == EP_LAYER_BATCH_NORM) tolerance = NORM_TOLERANCE;
  if (test->program.precision != EP_PRECISION_FP32) tolerance = COARSE_TOLERANCE;
  ep_compare_case(&self->cuda, &self->cpu, test, tolerance, &result, stdout);
  if (result.unsupported) {
    self->skipped++;
    return;
  }
  bool passed = result.agreed == 1 && repeats(self, test);
  printf("%s  %s, data %d x model %d, %d micro-batches, %d GPUs (%.2g)\n", passed ? "pass" : "FAIL",
         test->name, parallel->data, parallel->model, parallel->micro_batches, gpus, result.worst);
  fflush(stdout);
  *(passed ? &self->passed : &self->failed) += 1;
}

/* Each case on the next grid: on one GPU, and, where there are more, on all. */
static void list_try(suite *self, ep_case *(*create)(int number), int count, int every) {
  for (int i = 0; i < count; i += every)
    for (int gpus = 1; gpus <= self->gpus; gpus += self->gpus > 1 ? self->gpus - 1 : 1) {
      ep_case *test = create(i);
      case_try(self, test, grids[i / every % GRIDS], gpus);
      ep_case_destroy(test);
    }
}

/* Those that are too much for the CPU: on several ranks as on one. */
static void large_try(suite *self, int number) {
  static const grid wide[] = {{2, 1, 1}, {4, 1, 1}, {1, 2, 2}};
  ep_subject one = self->cuda;
  ep_run alone = {0}, ranks = {0};
  ep_case *test = ep_gpu_large_create(number);
  const grid of = wide[number / 3 % 3]; /* a net has three precisions */
  one.executor = "cuda/general";
  bool passed = ep_run_case(&one, test, EP_RUN_WHOLE, &alone, stdout) == EP_OK;
  ranks_set(test, of, self->gpus);
  double worst = 0;
  passed = passed && ep_run_case(&self->cuda, test, EP_RUN_WHOLE, &ranks, stdout) == EP_OK &&
           ep_runs_agree(test, &ranks, &alone, COARSE_TOLERANCE, &worst, stdout) &&
           repeats(self, test);
  printf("%s  %s, data %d x model %d (%.2g)\n", passed ? "pass" : "FAIL", test->name, of.data,
         of.model, worst);
  *(passed ? &self->passed : &self->failed) += 1;
  ep_run_deinit(&ranks);
  ep_run_deinit(&alone);
  ep_case_destroy(test);
}

/* --- times ---------------------------------------------------------------------------------- */

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of a step in one segment, the best of 3 after one to warm up; 0 when it fails. */
static double step_seconds(const ep_subject *subject, const ep_case *test, ep_instance_info *info) {
  enum { STEPS = 60 };
  const ep_backend_ops *ops = subject->ops;
  ep_error error = {.message = ""};
  ep_instance *instance = NULL;
  float loss[STEPS];
  int32_t errors[STEPS];
  ep_segment segment = {
      .steps = STEPS, .lr = test->lr, .lr_count = 1, .loss = loss, .errors = errors};
  double best = 0;
  ep_status status =
      ops->compile(subject->backend, &test->program, subject->executor, &instance, &error);
  if (status == EP_OK)
    status =
        ops->load_data(instance, EP_SPLIT_TRAIN, test->x[0], test->y[0], test->rows[0], &error);
  float *state = calloc((size_t)test->program.optimizer_floats + 1, sizeof *state);
  if (status == EP_OK) status = ops->import_state(instance, test->parameters, state, &error);
  for (int i = 0; i < 4 && status == EP_OK; i++) {
    double start = seconds_now();
    status = ops->train_segment(instance, &segment, &error);
    double seconds = (seconds_now() - start) / STEPS;
    if (i > 0 && (best == 0 || seconds < best)) best = seconds;
  }
  if (status != EP_OK) printf("%s: %s\n", test->name, error.message);
  if (instance) ops->instance_info(instance, info);
  if (instance) ops->release(instance);
  free(state);
  return status == EP_OK ? best : 0;
}

static void ranks_print(const ep_instance_info *info) {
  for (int i = 0; i < info->ranks; i++) {
    const ep_rank_info *rank = &info->rank[i];
    double all = rank->compute_seconds + rank->communication_seconds + rank->idle_seconds;
    printf("        rank %d: %.1f %% compute, %.1f %% communication, %.1f %% idle, %lld MiB\n", i,
           1e2 * rank->compute_seconds / all, 1e2 * rank->communication_seconds / all,
           1e2 * rank->idle_seconds / all, (long long)(rank->bytes >> 20));
  }
}

/* What the steps take when the slowest stage never waits but at a step's beginning and end. */
static double ideal_seconds(const ep_instance_info *info, grid of, double seconds) {
  double slowest = 0;
  for (int i = 0; i < info->ranks; i++) {
    const ep_rank_info *rank = &info->rank[i];
    const double all = rank->compute_seconds + rank->communication_seconds + rank->idle_seconds;
    const double busy = seconds * rank->compute_seconds / all;
    if (busy > slowest) slowest = busy;
  }
  return slowest * (of.micro_batches + of.model - 1) / of.micro_batches;
}

static void bench_stages(const suite *self, ep_case *test, grid of) {
  ep_instance_info info = {0};
  ranks_set(test, of, self->gpus);
  const double seconds = step_seconds(&self->cuda, test, &info);
  printf("      data %d x model %d on %d GPUs, %d micro-batches: %.1f us/step, %.1f with no waits "
         "but those of the slowest stage\n",
         of.data, of.model, self->gpus, of.micro_batches, 1e6 * seconds,
         1e6 * ideal_seconds(&info, of, seconds));
  ranks_print(&info);
}

/* As many rows a replica as one rank has; then stages, with the rows of one rank. */
static void bench_run(const suite *self, int number) {
  const ep_gpu_benchmark *row;
  ep_instance_info info = {0};
  const int gpus = self->gpus > 1 ? self->gpus : 2;
  ep_case *test = ep_gpu_benchmark_create(number, 1, &row);
  ep_subject any = self->cuda;
  any.executor = NULL;
  if (row->large && test->program.batch_size * gpus <= test->rows[0]) {
    const double alone = step_seconds(&any, test, &info);
    printf("bench %s: %s %.1f us/step\n", row->name, info.executor, 1e6 * alone);
    test->program.batch_size *= gpus;
    ranks_set(test, (grid){gpus, 1, 1}, self->gpus);
    const double data = step_seconds(&self->cuda, test, &info);
    printf("      data %d on %d GPUs: %.1f us/step, %.3f times the rows a second\n", gpus,
           self->gpus, 1e6 * data, gpus * alone / data);
    ranks_print(&info);
    test->program.batch_size /= gpus;
    bench_stages(self, test, (grid){1, 2, 8});
    if (gpus >= 4) bench_stages(self, test, (grid){1, 4, 8});
    if (gpus >= 4) bench_stages(self, test, (grid){2, 2, 8});
  }
  ep_case_destroy(test);
}

/* Shuffled batches of which the last is small, dropout, clipping over all stages, momentum. */
static void deep_try(suite *self) {
  for (int g = 0; g < GRIDS; g++) {
    ep_case *test = ep_case_create("deep", 7, EP_LOSS_CROSS_ENTROPY);
    const ep_optimizer optimizer = {.type = EP_OPTIMIZER_SGD, .momentum = 0.9f, .clip_norm = 0.3f};
    for (int i = 0; i < 4; i++) {
      ep_case_add_linear(test, 9 + i, true);
      ep_case_add(test, EP_LAYER_TANH);
    }
    ep_case_add_dropout(test, EP_LAYER_DROPOUT, 0.2f);
    ep_case_add_linear(test, 5, true);
    ep_case_finish(test, &(ep_case_training){.rows = 301,
                                             .batch_size = 64,
                                             .shuffle = true,
                                             .seed = 3,
                                             .steps = 12,
                                             .lr = 0.05f,
                                             .optimizer = optimizer});
    case_try(self, test, grids[g], self->gpus);
    ep_case_destroy(test);
  }
}

/* What ranks say of themselves. */
static void info_try(suite *self) {
  const ep_backend_ops *ops = self->cuda.ops;
  ep_case *test = ep_case_create("wide", 64, EP_LOSS_MSE);
  for (int i = 0; i < 4; i++) ep_case_add_linear(test, 256, true);
  ep_case_finish(test, &(ep_case_training){.rows = 512, .steps = 5, .lr = 1e-3f});
  ranks_set(test, (grid){2, 2, 4}, self->gpus);
  ep_instance *instance = NULL;
  ep_instance_info info = {0};
  float loss[5];
  int32_t errors[5];
  ep_segment segment = {.steps = 5, .lr = test->lr, .lr_count = 1, .loss = loss, .errors = errors};
  bool sound =
      ops->compile(self->cuda.backend, &test->program, NULL, &instance, NULL) == EP_OK &&
      ops->load_data(instance, EP_SPLIT_TRAIN, test->x[0], test->y[0], 512, NULL) == EP_OK &&
      ops->import_state(instance, test->parameters, NULL, NULL) == EP_OK &&
      ops->train_segment(instance, &segment, NULL) == EP_OK;
  if (instance) ops->instance_info(instance, &info);
  sound = sound && strcmp(info.executor, "cuda/ranks") == 0 && info.ranks == 4;
  for (int i = 0; sound && i < info.ranks; i++)
    sound = info.rank[i].bytes > 0 && info.rank[i].compute_seconds > 0 &&
            info.rank[i].communication_seconds > 0 && info.rank[i].idle_seconds > 0;
  printf("%s  ranks say what they hold and how long they wait\n", sound ? "pass" : "FAIL");
  *(sound ? &self->passed : &self->failed) += 1;
  if (instance) ops->release(instance);
  ep_case_destroy(test);
}

static int gpus_count(const ep_backend_ops *ops) {
  int count = 1;
  for (ep_backend *other; ops->open(count, &other, NULL) == EP_OK; count++) ops->close(other);
  return count;
}

int main(int argc, char **argv) {
  suite self = {.gpus = 1};
  int every = argc == 4 && strcmp(argv[2], "--every") == 0 ? atoi(argv[3]) : 1;
  bool bench = argc == 3 && strcmp(argv[2], "--bench") == 0;
  if ((argc != 2 && argc != 4 && !bench) || every < 1) {
    fprintf(stderr, "usage: test_gpu_ranks PLUGIN [--every N | --bench]\n");
    return 2;
  }
  ep_error error = {.message = ""};
  self.cuda = (ep_subject){.ops = ep_gpu_plugin_open(argv[1]), .executor = "cuda/ranks"};
  self.cpu = (ep_subject){.ops = ep_backend_cpu(), .executor = "cpu/ranks"};
  if (!self.cuda.ops || self.cpu.ops->open(0, &self.cpu.backend, &error) != EP_OK)
    return EXIT_FAILURE;
  if (self.cuda.ops->open(0, &self.cuda.backend, &error) == EP_OK) {
    self.gpus = gpus_count(self.cuda.ops);
    for (int i = 0; bench && i < ep_gpu_benchmark_count(); i++) bench_run(&self, i);
    if (!bench) {
      info_try(&self);
      deep_try(&self);
      list_try(&self, ep_case_create_number, ep_case_count(), every);
      list_try(&self, ep_gpu_case_create, ep_gpu_case_count(), every);
      for (int i = 0; i < ep_gpu_large_count(); i += every) large_try(&self, i);
    }
    self.cuda.ops->close(self.cuda.backend);
  } else {
    printf("skip  everything: %s\n", error.message);
    self.skipped++;
  }
  self.cpu.ops->close(self.cpu.backend);
  printf("%d passed, %d failed, %d skipped\n", self.passed, self.failed, self.skipped);
  if (self.failed) return EXIT_FAILURE;
  return self.passed ? EXIT_SUCCESS : EXIT_SKIPPED;
}
