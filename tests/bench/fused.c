/* Times cpu/fused on the shapes of ANCHORS: microseconds a step with each instruction set that this
 * machine has, cpu/reference beside it. Each workload is first held to cpu/reference for a few
 * steps; if they differ, it ends with 1 and prints no time.
 *
 * usage: bench_fused [milliseconds a measurement, 300 unless given] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/cpu/runtime/cpu.h"
#include "tests/unit/kernels/compare.h"

enum { CHECK_STEPS = 5, MEASURED_STEPS = 1000, REPEATS = 3 };

typedef struct {
  const char *name;
  int64_t in_features;
  int64_t widths[8]; /* linear layers; 0 ends them */
  int64_t rows, batch_size;
  bool shuffle;
  ep_layer_type between;
  ep_loss_type loss;
  float lr;
} workload;

static const workload workloads[] = {
    {"6-6-1 relu mse, 321 rows, full batch",
     6,
     {6, 1},
     321,
     0,
     false,
     EP_LAYER_RELU,
     EP_LOSS_MSE,
     0.005f},
    {"19-1 bce_with_logits, 3,530 rows, full batch",
     19,
     {1},
     3530,
     0,
     false,
     EP_LAYER_RELU,
     EP_LOSS_BCE_WITH_LOGITS,
     0.01f},
    {"disc 2-4-...-256-2, batch 100 of 1,000",
     2,
     {4, 8, 16, 32, 64, 128, 256, 2},
     1000,
     100,
     false,
     EP_LAYER_RELU,
     EP_LOSS_CROSS_ENTROPY,
     0.01f},
    {"the same, shuffled",
     2,
     {4, 8, 16, 32, 64, 128, 256, 2},
     1000,
     100,
     true,
     EP_LAYER_RELU,
     EP_LOSS_CROSS_ENTROPY,
     0.01f},
    {"2-2-1 tanh, xor's 4 rows", 2, {2, 1}, 4, 0, false, EP_LAYER_TANH, EP_LOSS_MSE, 0.1f},
    {"64-512-512-10 relu, batch 256 of 1,024, shuffled",
     64,
     {512, 512, 10},
     1024,
     256,
     true,
     EP_LAYER_RELU,
     EP_LOSS_CROSS_ENTROPY,
     0.01f},
};

static ep_case *workload_case(const workload *work) {
  ep_case *test = ep_case_create(work->name, work->in_features, work->loss);
  for (int i = 0; i < 8 && work->widths[i]; i++) {
    if (i) ep_case_add(test, work->between);
    ep_case_add_linear(test, work->widths[i], true);
  }
  ep_case_finish(test, &(ep_case_training){.rows = work->rows,
                                           .batch_size = work->batch_size,
                                           .shuffle = work->shuffle,
                                           .seed = 1,
                                           .steps = CHECK_STEPS,
                                           .lr = work->lr});
  return test;
}

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds a step, the best of REPEATS measurements of `seconds` each; a negative number on failure.
 */
static double time_steps(const ep_subject *subject, const ep_case *test, float lr, double seconds) {
  static float loss[MEASURED_STEPS];
  static int32_t errors[MEASURED_STEPS];
  ep_instance *instance;
  if (subject->ops->compile(subject->backend, &test->program, subject->executor, &instance, NULL))
    return -1;
  double best = -1;
  ep_status status = subject->ops->import_state(instance, test->parameters, NULL, NULL);
  if (status == EP_OK) {
    status = subject->ops->load_data(instance, EP_SPLIT_TRAIN, test->x[EP_SPLIT_TRAIN],
                                     test->y[EP_SPLIT_TRAIN], test->rows[EP_SPLIT_TRAIN], NULL);
  }
  int64_t done = 0, count = 1;
  for (int repeat = 0; status == EP_OK && repeat < REPEATS; repeat++) {
    double begin = now_seconds(), end = begin;
    int64_t steps = 0;
    while (status == EP_OK && end - begin < seconds) {
      ep_segment segment = {done, count, &lr, 1, loss, errors};
      status = subject->ops->train_segment(instance, &segment, NULL);
      done += count;
      steps += count;
      end = now_seconds();
      if (count < MEASURED_STEPS && (end - begin) < seconds / 20)
        count = count * 2 < MEASURED_STEPS ? count * 2 : MEASURED_STEPS;
    }
    double each = (end - begin) / (double)steps;
    if (best < 0 || each < best) best = each;
  }
  subject->ops->release(instance);
  return status == EP_OK ? best : -1;
}

static bool measure(ep_backend *backend, const workload *work, double seconds) {
  const ep_backend_ops *ops = ep_backend_cpu();
  const ep_instruction_set most = backend->instruction_set;
  ep_case *test = workload_case(work);
  ep_subject reference = {ops, backend, "cpu/reference"}, fused = {ops, backend, "cpu/fused"};
  bool good = true;
  printf("%s\n", work->name);
  for (int level = (int)most; level >= 0 && good; level--) {
    ep_comparison result = {0};
    backend->instruction_set = (ep_instruction_set)level;
    ep_compare_case(&fused, &reference, test, EP_COMPARE_TOLERANCE, &result, stderr);
    good = result.agreed == 1;
    if (!good) fprintf(stderr, "bench_fused: not measured, it does not agree with the reference\n");
    if (good) {
      printf("  cpu/fused %-8s %10.3f us/step\n",
             ep_instruction_set_name((ep_instruction_set)level),
             1e6 * time_steps(&fused, test, work->lr, seconds));
    }
  }
  backend->instruction_set = most;
  if (good)
    printf("  cpu/reference      %10.3f us/step\n",
           1e6 * time_steps(&reference, test, work->lr, seconds / REPEATS));
  ep_case_destroy(test);
  return good;
}

int main(int argc, char **argv) {
  double seconds = argc > 1 ? strtod(argv[1], NULL) / 1000 : 0.3;
  if (!(seconds > 0)) seconds = 0.3;
  ep_backend *backend;
  ep_error error;
  if (ep_backend_cpu()->open(0, &backend, &error) != EP_OK) {
    fprintf(stderr, "bench_fused: %s\n", error.message);
    return 1;
  }
  bool good = true;
  for (size_t i = 0; i < sizeof workloads / sizeof workloads[0] && good; i++)
    good = measure(backend, &workloads[i], seconds);
  ep_backend_cpu()->close(backend);
  return good ? 0 : 1;
}
