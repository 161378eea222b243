/* Times cpu/blocked on generated images with MNIST's convolutional network of ANCHORS, and on wide
 * linear layers: milliseconds of the fastest step with
 * 1, 2, 4 … threads. Each network is first held to
 * cpu/reference for a few steps; if they differ, it ends with 1 and prints no time.
 *
 * usage: bench_blocked [milliseconds a measurement, 500 unless given] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/cpu/runtime/cpu.h"
#include "tests/unit/kernels/compare.h"

static const ep_case_window five = {.kernel = {5, 5}}, two = {.kernel = {2, 2}};

/* As the MNIST notebook has it; the images are bytes. */
static ep_case *mnist_case(int64_t rows, int64_t batch_size, int64_t steps) {
  ep_case *self = ep_case_create_image("MNIST's network", (ep_shape){1, 28, 28}, EP_LOSS_NLL);
  ep_case_store_bytes(self);
  ep_case_add_conv2d(self, 10, &five, true);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &two);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_conv2d(self, 20, &five, true);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.5f);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &two);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 50, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.5f);
  ep_case_add_linear(self, 10, true);
  ep_case_add(self, EP_LAYER_LOG_SOFTMAX);
  ep_case_finish(self, &(ep_case_training){.rows = rows,
                                           .batch_size = batch_size,
                                           .shuffle = true,
                                           .seed = 1,
                                           .steps = steps,
                                           .lr = 0.01f,
                                           .optimizer = {.momentum = 0.5f}});
  return self;
}

static ep_case *wide_case(int64_t rows, int64_t batch_size, int64_t steps) {
  ep_case *self = ep_case_create("784-1024-1024-10 relu", 784, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_linear(self, 1024, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_linear(self, 1024, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_linear(self, 10, true);
  ep_case_finish(self, &(ep_case_training){.rows = rows,
                                           .batch_size = batch_size,
                                           .shuffle = true,
                                           .seed = 1,
                                           .steps = steps,
                                           .lr = 0.01f});
  return self;
}

typedef struct {
  ep_case *(*create)(int64_t rows, int64_t batch_size, int64_t steps);
  int64_t rows, batch_size, check_rows;
} workload;

static const workload workloads[] = {{mnist_case, 2000, 200, 50}, {wide_case, 1024, 256, 64}};

static double now_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of the fastest step within `seconds`; a negative number on failure. */
static double time_steps(ep_backend *backend, const ep_case *test, double seconds) {
  const ep_backend_ops *ops = ep_backend_cpu();
  float loss;
  int32_t errors;
  ep_segment segment = {0, 1, test->lr, 1, &loss, &errors};
  ep_instance *instance;
  if (ops->compile(backend, &test->program, "cpu/blocked", &instance, NULL) != EP_OK) return -1;
  ep_status status = ops->import_state(instance, test->parameters, NULL, NULL);
  if (status == EP_OK)
    status = ops->load_data(instance, EP_SPLIT_TRAIN, test->x[EP_SPLIT_TRAIN],
                            test->y[EP_SPLIT_TRAIN], test->rows[EP_SPLIT_TRAIN], NULL);
  double best = -1;
  for (double begin = now_seconds(), end = begin; status == EP_OK && end - begin < seconds;) {
    double before = end;
    status = ops->train_segment(instance, &segment, NULL);
    end = now_seconds();
    if (best < 0 || end - before < best) best = end - before;
    segment.first_step++;
  }
  ops->release(instance);
  return status == EP_OK ? best : -1;
}

static bool agrees(ep_backend *backend, const workload *work) {
  const ep_backend_ops *ops = ep_backend_cpu();
  ep_subject blocked = {ops, backend, "cpu/blocked"}, reference = {ops, backend, "cpu/reference"};
  ep_comparison result = {0};
  ep_case *test = work->create(work->check_rows, work->check_rows / 2, 3);
  ep_compare_case(&blocked, &reference, test, EP_COMPARE_TOLERANCE, &result, stderr);
  ep_case_destroy(test);
  return result.agreed == 1;
}

static bool measure(ep_backend *backend, const workload *work, double seconds) {
  const int threads = backend->threads;
  if (!agrees(backend, work)) {
    fprintf(stderr, "bench_blocked: not measured, it does not agree with the reference\n");
    return false;
  }
  ep_case *test = work->create(work->rows, work->batch_size, 1);
  printf("%s, batch %lld\n", test->name, (long long)work->batch_size);
  for (int count = 1; count <= threads; count *= 2) {
    backend->threads = count;
    printf("  %2d threads %10.3f ms/step\n", count, 1e3 * time_steps(backend, test, seconds));
  }
  backend->threads = threads;
  ep_case_destroy(test);
  return true;
}

int main(int argc, char **argv) {
  double seconds = argc > 1 ? strtod(argv[1], NULL) / 1000 : 0.5;
  if (!(seconds > 0)) seconds = 0.5;
  ep_backend *backend;
  ep_error error;
  if (ep_backend_cpu()->open(0, &backend, &error) != EP_OK) {
    fprintf(stderr, "bench_blocked: %s\n", error.message);
    return 1;
  }
  bool good = true;
  for (size_t i = 0; i < sizeof workloads / sizeof workloads[0] && good; i++)
    good = measure(backend, &workloads[i], seconds);
  ep_backend_cpu()->close(backend);
  return good ? 0 : 1;
}
