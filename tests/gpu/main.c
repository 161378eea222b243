/* The GPU suite, a program of its own, since CUDA does not survive a fork:
 *
 *     test_gpu PLUGIN [--golden FOLDER] [--every N] [--executor NAME] [--bench [--first N]]
 *
 * Holds every executor of the plug-in to cpu/reference. Prints a line a case and ends with
 * "N passed, N failed, N skipped"; exits with 1 when one failed, 77 when there is no GPU to try.
 * --every N: only each Nth case, for slow tools. --executor NAME: only that one's cases;
 * "population": only populations; "none": only what is asked of all together. --bench: times
 * instead, from the Nth on. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cuda/plans/plans.h"
#include "tests/golden/golden.h"
#include "tests/gpu/ahead.h"
#include "tests/gpu/cases.h"
#include "tests/gpu/large.h"
#include "tests/gpu/plugin.h"
#include "tests/gpu/population.h"

enum { EXIT_SKIPPED = 77 };

/* For products of numbers with ten bits of mantissa. */
static const double COARSE_TOLERANCE = 3e-2;

static double tolerance_of(ep_precision precision) {
  return precision == EP_PRECISION_FP32 ? EP_COMPARE_TOLERANCE : COARSE_TOLERANCE;
}

typedef struct {
  ep_subject cuda, reference;
  const char *golden_folder;
  const char *only; /* executor; NULL: all */
  int every;
  int passed, failed, skipped;
} suite;

static const char *const general_name = "cuda/general"; /* says what is right for what is large */
static const char *const no_name = "none";
static const char *const population_name = "population"; /* no executor: many programs at once */

static bool is_executor(const char *name) {
  int count;
  const ep_executor_profile *const *executors = ep_cuda_profiles(&count);
  for (int i = 0; i < count; i++)
    if (strcmp(name, executors[i]->name) == 0) return true;
  return false;
}

static void report(suite *self, bool passed, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void report(suite *self, bool passed, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf(passed ? "pass  " : "FAIL  ");
  vprintf(format, arguments);
  printf("\n");
  fflush(stdout);
  va_end(arguments);
  *(passed ? &self->passed : &self->failed) += 1;
}

/* --- against the reference ----------------------------------------------------------------- */

/* Two runs in two instances: the same bits. */
static bool repeats(const suite *self, const ep_case *test) {
  ep_run first = {0}, second = {0};
  bool same = ep_run_case(&self->cuda, test, EP_RUN_WHOLE, &first, stdout) == EP_OK &&
              ep_run_case(&self->cuda, test, EP_RUN_WHOLE, &second, stdout) == EP_OK &&
              ep_runs_same(test, &first, &second, stdout);
  ep_run_deinit(&second);
  ep_run_deinit(&first);
  return same;
}

static void case_try(suite *self, const ep_subject *right, ep_case *test) {
  ep_comparison result = {0};
  ep_compare_case(&self->cuda, right, test, tolerance_of(test->program.precision), &result, stdout);
  if (result.unsupported) {
    printf("skip  %s: %s does not take it\n", test->name, self->cuda.executor);
    self->skipped++;
  } else {
    bool passed = result.agreed == 1 && repeats(self, test);
    report(self, passed, "%s: %s (%.2g)", self->cuda.executor, test->name, result.worst);
  }
  ep_case_destroy(test);
}

/* Room for the cases of a list that are tried. */
static ep_case **list_create(const suite *self, int count, int *tried) {
  *tried = (count + self->every - 1) / self->every;
  ep_case **cases = calloc((size_t)*tried + 1, sizeof *cases);
  if (!cases) abort();
  return cases;
}

static void list_try(suite *self, ep_case *(*create)(int number), int count) {
  int tried;
  ep_case **cases = list_create(self, count, &tried);
  for (int i = 0; i < tried; i++) cases[i] = create(i * self->every);
  ep_gpu_compile_ahead(&self->cuda, cases, tried);
  for (int i = 0; i < tried; i++) case_try(self, &self->reference, cases[i]);
  free(cases);
}

static void cases_try(suite *self) {
  list_try(self, ep_case_create_number, ep_case_count());
  list_try(self, ep_gpu_case_create, ep_gpu_case_count());
}

/* Those that are too much for the reference. */
static void large_try(suite *self) {
  ep_subject general = self->cuda;
  general.executor = general_name;
  for (int i = 0; i < ep_gpu_large_count(); i += self->every)
    case_try(self, &general, ep_gpu_large_create(i));
}

/* Rows that are streamed from the host: the same bits as those that lie on the device. */
static void stream_try(suite *self, ep_case *test) {
  ep_run resident = {0}, streamed = {0}, cut = {0};
  ep_status taken = ep_run_case(&self->cuda, test, EP_RUN_WHOLE, &resident, stdout);
  bool same = taken == EP_OK;
  test->program.data_bytes_max = 1;
  if (same) taken = ep_run_case(&self->cuda, test, EP_RUN_WHOLE, &streamed, stdout);
  if (taken == EP_UNSUPPORTED) {
    printf("skip  %s, streamed: %s does not take it\n", test->name, self->cuda.executor);
    self->skipped++;
    ep_run_deinit(&streamed);
    ep_run_deinit(&resident);
    ep_case_destroy(test);
    return;
  }
  same = same && taken == EP_OK &&
         ep_run_case(&self->cuda, test, EP_RUN_CUT, &cut, stdout) == EP_OK &&
         ep_runs_same(test, &streamed, &resident, stdout) &&
         ep_runs_same(test, &cut, &resident, stdout);
  report(self, same, "%s: %s, streamed", self->cuda.executor, test->name);
  ep_run_deinit(&cut);
  ep_run_deinit(&streamed);
  ep_run_deinit(&resident);
  ep_case_destroy(test);
}

static void streams_try(suite *self) {
  const int each = 23; /* not a multiple of anything that the list repeats by */
  for (int i = 0; i < ep_case_count(); i += each * self->every)
    stream_try(self, ep_case_create_number(i));
  for (int i = 0; i < ep_gpu_case_count(); i += self->every)
    stream_try(self, ep_gpu_case_create(i));
}

static void goldens_try(suite *self) {
  ep_goldens goldens;
  if (!self->golden_folder) {
    printf("skip  goldens: no --golden FOLDER\n");
    self->skipped++;
    return;
  }
  bool loaded = ep_goldens_load(self->golden_folder, &goldens, stdout);
  report(self, loaded && ep_goldens_cover(&goldens, stdout), "goldens: all of the vocabulary");
  int tried;
  ep_case **cases = list_create(self, goldens.count, &tried);
  for (int i = 0; i < tried; i++) cases[i] = goldens.rows[i * self->every].test;
  ep_gpu_compile_ahead(&self->cuda, cases, tried);
  free(cases);
  for (int i = 0; i < goldens.count; i += self->every) {
    double worst = 0;
    ep_status status = ep_golden_replay(&self->cuda, &goldens.rows[i], &worst, stdout);
    if (status == EP_UNSUPPORTED) {
      self->skipped++;
      continue;
    }
    report(self, status == EP_OK, "%s: golden %s (%.2g)", self->cuda.executor,
           goldens.rows[i].test->name, worst);
  }
  if (loaded && !self->cuda.executor)
    report(self, ep_golden_canary(&self->cuda, &goldens.rows[0], stdout),
           "the goldens' replay can fail");
  ep_goldens_deinit(&goldens);
}

static void populations_try(suite *self) {
  for (int i = 0; i < ep_gpu_population_count(); i += self->every) {
    char name[128];
    double worst;
    ep_population_outcome outcome =
        ep_gpu_population_try(&self->cuda, &self->reference, i, name, &worst, stdout);
    if (outcome == EP_POPULATION_SKIPPED) {
      printf("skip  %s: such programs are trained one by one\n", name);
      self->skipped++;
    } else {
      report(self, outcome == EP_POPULATION_PASSED, "%s (%.2g)", name, worst);
    }
  }
}

/* --- the interface ------------------------------------------------------------------------- */

static void device_try(suite *self) {
  const ep_backend_ops *ops = self->cuda.ops;
  ep_backend_info info;
  ep_error error = {.message = ""};
  ep_backend *none = NULL;
  report(self, ops->probe(self->cuda.backend, &error) == EP_OK, "probe %s", error.message);
  bool known = ops->info(self->cuda.backend, &info, &error) == EP_OK && info.memory_bytes > 0 &&
               info.memory_free_bytes > 0 && info.threads > 0;
  report(self, known, "info: %s, %s, %lld MiB, %d multiprocessors", info.name, info.instruction_set,
         (long long)(info.memory_bytes >> 20), info.threads);
  ep_status status = ops->open(4242, &none, &error);
  report(self, status == EP_NOT_FOUND && !none, "GPU 4242: %s", error.message);
}

/* Compiles a program with one thing changed, which must be refused with `expected`. */
static void refusal_try(suite *self, const char *what, const ep_program *program,
                        const char *executor, ep_status expected) {
  ep_error error = {.message = ""};
  ep_instance *instance = NULL;
  ep_status status =
      self->cuda.ops->compile(self->cuda.backend, program, executor, &instance, &error);
  report(self, status == expected && !instance, "%s: %s, \"%s\"", what, ep_status_name(status),
         error.message);
  if (instance) self->cuda.ops->release(instance);
}

static void refusals_try(suite *self) {
  ep_case *test = ep_case_create_number(0);
  ep_program large = test->program;
  ep_op op = {.type = EP_LAYER_LINEAR,
              .inputs = 1,
              .in_features = 1 << 20,
              .out_features = 1 << 20,
              .bias = -1};
  refusal_try(self, "an unknown executor", &test->program, "cuda/unknown", EP_UNSUPPORTED);
  large.ops = &op;
  large.ops_count = 1;
  large.in_features = large.out_features = 1 << 20;
  large.parameters = INT64_C(1) << 40;
  large.loss = EP_LOSS_CROSS_ENTROPY;
  large.target_columns = 1;
  refusal_try(self, "4 TiB of weights", &large, NULL, EP_NO_MEMORY);
  large.parameters = INT64_MAX / 2;
  refusal_try(self, "more weights than can be counted", &large, NULL, EP_NO_MEMORY);
  ep_case_destroy(test);
}

/* Rows that the device cannot hold: whoever streams them takes the program, though others are
 * faster with fewer. */
static void rows_try(suite *self) {
  const ep_backend_ops *ops = self->cuda.ops;
  ep_backend_info info;
  ep_instance_info taken = {.executor = ""};
  ep_instance *instance = NULL;
  ep_error error = {.message = ""};
  ep_case *test = ep_case_create("many rows", 64, EP_LOSS_MSE);
  ep_case_add_linear(test, 8, true);
  ep_case_finish(test, &(ep_case_training){.rows = 300, .batch_size = 100, .steps = 1, .lr = 0.1f});
  ep_status status = ops->info(self->cuda.backend, &info, &error);
  ep_program many = test->program;
  if (status == EP_OK) many.train_rows = info.memory_bytes / (64 * (int64_t)sizeof(float));
  if (status == EP_OK) status = ops->compile(self->cuda.backend, &many, NULL, &instance, &error);
  if (instance) ops->instance_info(instance, &taken);
  report(self, status == EP_OK && strcmp(taken.executor, general_name) == 0,
         "%lld rows, which do not fit: %s %s", (long long)many.train_rows, taken.executor,
         error.message);
  if (instance) ops->release(instance);
  ep_case_destroy(test);
}

/* What an instance says it holds, against what the device has less. Another stands beside it, so
 * that the kernels are loaded already; small blocks come in pages. */
static void bytes_try(suite *self) {
  const ep_backend_ops *ops = self->cuda.ops;
  const int64_t pages = 16 << 20;
  const ep_gpu_benchmark *row;
  ep_case *test = ep_gpu_benchmark_create(ep_gpu_benchmark_count() - 1, 1, &row);
  ep_backend_info before, after;
  ep_instance_info held = {0};
  ep_instance *instances[2] = {NULL};
  ep_error error = {.message = ""};
  test->program.max_predict_rows = 10000;
  ep_status status = ops->compile(self->cuda.backend, &test->program, NULL, &instances[0], &error);
  if (status == EP_OK) status = ops->info(self->cuda.backend, &before, &error);
  if (status == EP_OK)
    status = ops->compile(self->cuda.backend, &test->program, NULL, &instances[1], &error);
  if (status == EP_OK) status = ops->info(self->cuda.backend, &after, &error);
  if (status == EP_OK) ops->instance_info(instances[1], &held);
  int64_t taken = status == EP_OK ? before.memory_free_bytes - after.memory_free_bytes : 0;
  double difference = fabs((double)(taken - held.bytes));
  report(self, status == EP_OK && difference <= 0.02 * (double)held.bytes + (double)pages,
         "an instance says %lld bytes, the device has %lld less %s", (long long)held.bytes,
         (long long)taken, error.message);
  for (int i = 0; i < 2; i++)
    if (instances[i]) ops->release(instances[i]);
  ep_case_destroy(test);
}

/* A layer whose weights fit the device once, and not a second time as a gradient: here it is the
 * device that refuses. */
static void memory_try(suite *self) {
  const ep_backend_ops *ops = self->cuda.ops;
  ep_backend_info info;
  if (self->every > 1) {
    printf("skip  out of memory: a memory checker would call it an error\n");
    self->skipped++;
    return;
  }
  if (ops->info(self->cuda.backend, &info, NULL) != EP_OK) return;
  const int64_t in_features = 1 << 16;
  ep_op op = {.type = EP_LAYER_LINEAR,
              .inputs = 1,
              .in_features = in_features,
              .out_features = info.memory_free_bytes / 8 / in_features,
              .bias = -1};
  ep_program program = {.ops = &op,
                        .ops_count = 1,
                        .in_features = in_features,
                        .out_features = op.out_features,
                        .target_columns = op.out_features,
                        .parameters = in_features * op.out_features,
                        .train_rows = 1,
                        .batch_size = 1,
                        .max_predict_rows = 1};
  refusal_try(self, "twice half of the free memory", &program, NULL, EP_NO_MEMORY);
  report(self, ops->probe(self->cuda.backend, NULL) == EP_OK,
         "the device still works after running out of memory");
}

/* What an instance must refuse: each with a message, none of it harmful. */
static void misuse_try(suite *self) {
  const ep_backend_ops *ops = self->cuda.ops;
  ep_case *test = ep_case_create("misuse", 3, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_linear(test, 4, true);
  ep_case_finish(test, &(ep_case_training){.rows = 10, .batch_size = 4, .steps = 1, .lr = 0.1f});
  ep_error error = {.message = ""};
  ep_instance *instance = NULL;
  float loss;
  int32_t errors, *classes = test->y[EP_SPLIT_TRAIN];
  ep_segment segment = {
      .steps = 1, .lr = test->lr, .lr_count = 1, .loss = &loss, .errors = &errors};
  bool compiled =
      ops->compile(self->cuda.backend, &test->program, NULL, &instance, &error) == EP_OK;
  report(self, compiled, "a program to misuse");
  if (!compiled) return;
  report(self, ops->train_segment(instance, &segment, &error) == EP_INTERNAL, "no data: \"%s\"",
         error.message);
  report(self, ops->rollback(instance, &error) == EP_INTERNAL, "no snapshot: \"%s\"",
         error.message);
  report(self,
         ops->load_data(instance, EP_SPLIT_TRAIN, test->x[0], classes, 9, &error) == EP_INTERNAL,
         "rows that are not the program's: \"%s\"", error.message);
  int32_t kept = classes[7];
  classes[7] = 4;
  report(self, ops->load_data(instance, EP_SPLIT_TRAIN, test->x[0], classes, 10, &error) == EP_DATA,
         "a class beyond the outputs: \"%s\"", error.message);
  classes[7] = kept;
  ep_instance_info info;
  ops->instance_info(instance, &info);
  report(self, info.bytes > 0 && strncmp(info.executor, "cuda/", 5) == 0, "%s holds %lld bytes",
         info.executor, (long long)info.bytes);
  ops->release(instance);
  ep_case_destroy(test);
}

/* --- several instances at once ------------------------------------------------------------- */

enum { THREADS = 4 };

typedef struct {
  const ep_subject *subject;
  const ep_case *test;
  ep_run run;
  ep_status status;
} thread_run;

static void *thread_train(void *argument) {
  thread_run *self = argument;
  self->status = ep_run_case(self->subject, self->test, EP_RUN_CUT, &self->run, stdout);
  return NULL;
}

static void threads_try(suite *self) {
  ep_case *test = ep_gpu_case_create(1);
  ep_run alone = {0};
  thread_run runs[THREADS] = {0};
  pthread_t threads[THREADS];
  int started = 0;
  bool same = ep_run_case(&self->cuda, test, EP_RUN_WHOLE, &alone, stdout) == EP_OK;
  for (int i = 0; i < THREADS; i++) {
    runs[i] = (thread_run){.subject = &self->cuda, .test = test};
    if (pthread_create(&threads[i], NULL, thread_train, &runs[i]) != 0) break;
    started++;
  }
  for (int i = 0; i < started; i++) {
    pthread_join(threads[i], NULL);
    same = same && runs[i].status == EP_OK && ep_runs_same(test, &runs[i].run, &alone, stdout);
    ep_run_deinit(&runs[i].run);
  }
  report(self, same && started == THREADS, "%d instances in %d threads: the same bits as alone",
         THREADS, started);
  ep_run_deinit(&alone);
  ep_case_destroy(test);
}

/* --- times --------------------------------------------------------------------------------- */

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Seconds of a case's steps in one segment, the median of 3 after a short one to warm up; NAN when
 * something fails. *executor: who ran. */
static double seconds_of(const ep_subject *subject, const ep_case *test, const char **executor) {
  enum { TIMES = 3 };
  const ep_backend_ops *ops = subject->ops;
  ep_error error = {.message = ""};
  ep_instance *instance = NULL;
  ep_instance_info info;
  double seconds[TIMES];
  float *loss = calloc((size_t)test->steps, sizeof *loss);
  int32_t *errors = calloc((size_t)test->steps, sizeof *errors);
  ep_segment segment = {
      .steps = test->steps / 10 + 1, .lr = test->lr, .lr_count = 1, .loss = loss, .errors = errors};
  ep_status status = loss && errors ? EP_OK : EP_NO_MEMORY;
  if (status == EP_OK)
    status = ops->compile(subject->backend, &test->program, subject->executor, &instance, &error);
  if (status == EP_OK)
    status =
        ops->load_data(instance, EP_SPLIT_TRAIN, test->x[0], test->y[0], test->rows[0], &error);
  float *state = calloc((size_t)test->program.optimizer_floats + 1, sizeof *state);
  if (!state) status = EP_NO_MEMORY;
  if (status == EP_OK) status = ops->import_state(instance, test->parameters, state, &error);
  if (status == EP_OK) status = ops->train_segment(instance, &segment, &error);
  segment.steps = test->steps;
  for (int i = 0; i < TIMES && status == EP_OK; i++) {
    double start = seconds_now();
    status = ops->train_segment(instance, &segment, &error);
    seconds[i] = seconds_now() - start;
  }
  bool sound = status == EP_OK && isfinite(loss[test->steps - 1]);
  if (!sound) printf("%s: %s\n", test->name, error.message);
  if (instance) {
    ops->instance_info(instance, &info);
    *executor = info.executor;
    ops->release(instance);
  }
  free(state);
  free(errors);
  free(loss);
  qsort(seconds, TIMES, sizeof *seconds, by_value);
  return sound ? seconds[TIMES / 2] : (double)NAN;
}

/* The streamed rows' time over the resident ones', by the executor that can do both. */
static void stream_bench(suite *self) {
  self->cuda.executor = general_name;
  const ep_gpu_benchmark *row;
  const char *name = "";
  ep_case *test = ep_gpu_benchmark_create(ep_gpu_benchmark_count() - 1, 50, &row);
  double resident = seconds_of(&self->cuda, test, &name);
  test->program.data_bytes_max = test->program.train_rows * 788 / 2; /* half of what there is */
  double streamed = seconds_of(&self->cuda, test, &name);
  report(self, streamed <= 1.15 * resident,
         "bench  %s, streamed: %.2f us/step, resident %.2f; ratio %.3f", row->name,
         1e6 * streamed / (double)test->steps, 1e6 * resident / (double)test->steps,
         streamed / resident);
  ep_case_destroy(test);
}

/* A time is printed only when the answer is the reference's. */
static void benchmarks_run(suite *self, int first) {
  ep_subject cpu = self->reference;
  cpu.executor = NULL;
  for (int i = first; i < ep_gpu_benchmark_count(); i++) {
    const ep_gpu_benchmark *row;
    const char *cpu_name = "", *cuda_name = "";
    ep_case *probe = ep_gpu_benchmark_create(i, 3, &row);
    probe->steps = 3; /* a few more, and a unit of a deep net passes its kink in one and not yet in
                         the other: two right answers that differ */
    ep_case *test = ep_gpu_benchmark_create(i, row->epochs, &row);
    ep_case *shorter = ep_gpu_benchmark_create(i, row->epochs / 20, &row);
    ep_comparison result = {0};
    ep_subject general = self->cuda;
    general.executor = general_name;
    ep_compare_case(&self->cuda, row->large ? &general : &self->reference, probe,
                    tolerance_of(row->precision), &result, stdout);
    double seconds = seconds_of(&self->cuda, test, &cuda_name) / (double)row->epochs;
    double cpu_seconds = (double)NAN;
    if (row->on_cpu)
      cpu_seconds = seconds_of(&cpu, shorter, &cpu_name) / (double)(row->epochs / 20);
    report(self, result.agreed == 1 && isfinite(seconds),
           "bench  %s: %s %.2f us/epoch (%.2f us/step); %s %.2f us/epoch; ratio %.2f", row->name,
           cuda_name, 1e6 * seconds, 1e6 * seconds / (double)row->steps_per_epoch, cpu_name,
           1e6 * cpu_seconds, seconds / cpu_seconds);
    ep_case_destroy(shorter);
    ep_case_destroy(test);
    ep_case_destroy(probe);
  }
}

/* --- the program --------------------------------------------------------------------------- */

static void executor_try(suite *self, const char *name) {
  self->cuda.executor = name;
  cases_try(self);
  ep_status argmax = ep_compare_argmax(&self->cuda, stdout);
  if (argmax != EP_UNSUPPORTED)
    report(self, argmax == EP_OK, "%s: errors follow argmax where outputs are equal or NaN", name);
  if (strcmp(name, general_name) != 0) large_try(self);
  streams_try(self);
  goldens_try(self);
}

static void interface_try(suite *self) {
  self->cuda.executor = NULL;
  device_try(self);
  report(self, ep_compare_canary(&self->cuda, stdout), "the comparison can fail");
  goldens_try(self); /* by whichever executor takes each */
  refusals_try(self);
  rows_try(self);
  bytes_try(self);
  memory_try(self);
  misuse_try(self);
  threads_try(self);
}

static void suite_run(suite *self) {
  int count;
  const ep_executor_profile *const *executors = ep_cuda_profiles(&count);
  for (int i = 0; i < count; i++)
    if (!executors[i]->ranks && (!self->only || strcmp(self->only, executors[i]->name) == 0))
      executor_try(self, executors[i]->name);
  if (!self->only || strcmp(self->only, population_name) == 0) populations_try(self);
  if (!self->only || strcmp(self->only, no_name) == 0) interface_try(self);
}

static int usage(void) {
  fprintf(stderr, "usage: test_gpu PLUGIN [--golden FOLDER] [--every N] [--executor NAME] "
                  "[--bench [--first N]]\n");
  return 2;
}

int main(int argc, char **argv) {
  suite self = {.every = 1};
  bool bench = false;
  int first = 0;
  for (int i = 2; i < argc; i++) {
    if (strcmp(argv[i], "--bench") == 0)
      bench = true;
    else if (strcmp(argv[i], "--first") == 0 && i + 1 < argc)
      first = atoi(argv[++i]);
    else if (strcmp(argv[i], "--golden") == 0 && i + 1 < argc)
      self.golden_folder = argv[++i];
    else if (strcmp(argv[i], "--executor") == 0 && i + 1 < argc &&
             (is_executor(argv[i + 1]) || strcmp(argv[i + 1], no_name) == 0 ||
              strcmp(argv[i + 1], population_name) == 0))
      self.only = argv[++i];
    else if (strcmp(argv[i], "--every") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
      self.every = atoi(argv[++i]);
    else
      return usage();
  }
  if (argc < 2) return usage();
  ep_error error = {.message = ""};
  self.cuda.ops = ep_gpu_plugin_open(argv[1]);
  if (!self.cuda.ops) return EXIT_FAILURE;
  self.reference = (ep_subject){.ops = ep_backend_cpu(), .executor = "cpu/reference"};
  if (self.reference.ops->open(0, &self.reference.backend, &error) != EP_OK) return EXIT_FAILURE;
  ep_status status = self.cuda.ops->open(0, &self.cuda.backend, &error);
  if (status == EP_OK) {
    if (bench) {
      benchmarks_run(&self, first);
      stream_bench(&self);
    } else {
      suite_run(&self);
    }
    self.cuda.ops->close(self.cuda.backend);
  } else if (status == EP_NOT_FOUND || status == EP_UNSUPPORTED) {
    printf("skip  everything: %s\n", error.message);
    self.skipped++;
  } else {
    report(&self, false, "open: %s", error.message);
  }
  self.reference.ops->close(self.reference.backend);
  printf("%d passed, %d failed, %d skipped\n", self.passed, self.failed, self.skipped);
  if (self.failed) return EXIT_FAILURE;
  return self.passed ? EXIT_SUCCESS : EXIT_SKIPPED;
}
