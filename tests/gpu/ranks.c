/* cuda/ranks, a program of its own:
 *
 *     test_gpu_ranks PLUGIN [--every N]
 *
 * Every case of the list on grids of replicas and stages, held to cpu/ranks on the same grid: on
 * one GPU, and on as many as there are. Prints a line a case and ends with "N passed, N failed, N
 * skipped"; exits with 1 when one failed, 77 when there is no GPU. */
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/plugin.h"
#include "tests/unit/kernels/compare.h"

enum { EXIT_SKIPPED = 77 };

/* For products of numbers with ten bits of mantissa. */
static const double COARSE_TOLERANCE = 3e-2;

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
  bool exact = test->program.precision == EP_PRECISION_FP32;
  ep_compare_case(&self->cuda, &self->cpu, test, exact ? EP_COMPARE_TOLERANCE : COARSE_TOLERANCE,
                  &result, stdout);
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
static void cases_try(suite *self, int every) {
  for (int i = 0; i < ep_case_count(); i += every)
    for (int gpus = 1; gpus <= self->gpus; gpus += self->gpus > 1 ? self->gpus - 1 : 1) {
      ep_case *test = ep_case_create_number(i);
      case_try(self, test, grids[i / every % GRIDS], gpus);
      ep_case_destroy(test);
    }
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
  if ((argc != 2 && argc != 4) || every < 1) {
    fprintf(stderr, "usage: test_gpu_ranks PLUGIN [--every N]\n");
    return 2;
  }
  ep_error error = {.message = ""};
  self.cuda = (ep_subject){.ops = ep_gpu_plugin_open(argv[1]), .executor = "cuda/ranks"};
  self.cpu = (ep_subject){.ops = ep_backend_cpu(), .executor = "cpu/ranks"};
  if (!self.cuda.ops || self.cpu.ops->open(0, &self.cpu.backend, &error) != EP_OK)
    return EXIT_FAILURE;
  if (self.cuda.ops->open(0, &self.cuda.backend, &error) == EP_OK) {
    self.gpus = gpus_count(self.cuda.ops);
    info_try(&self);
    deep_try(&self);
    cases_try(&self, every);
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
