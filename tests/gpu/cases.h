/* cases.h: programs that are hard for a GPU backend, beside those of tests/unit/kernels. */
#ifndef EP_TESTS_GPU_CASES_H
#define EP_TESTS_GPU_CASES_H

#include "tests/unit/kernels/programs.h"

/* Large enough for cuBLASLt, for sums over several slices of rows, for evaluations in several
 * chunks, and for graphs of many steps and of many epochs. The caller destroys what it gets. */
int ep_gpu_case_count(void);
ep_case *ep_gpu_case_create(int number);

/* A dense network as a row of a table. */
typedef struct {
  const char *name;
  int64_t in_features;
  int64_t widths[13]; /* ends with 0 */
  ep_layer_type between;
  ep_loss_type loss;
  ep_case_training training;
} ep_gpu_net;

/* The caller destroys what it gets. */
ep_case *ep_gpu_net_create(const ep_gpu_net *row, bool biases, const ep_case_training *training);
/* The same case, with the precision in its name. */
ep_case *ep_gpu_precision_set(ep_case *self, ep_precision precision);

/* The network of the MNIST notebook, of bytes. The caller destroys it. */
ep_case *ep_gpu_mnist_create(const char *name, const ep_case_training *training);

/* What --bench times. */
typedef struct {
  const char *name;
  int64_t steps_per_epoch;
  int64_t epochs;
  bool on_cpu; /* worth timing there too */
  bool
      large; /* too much for cpu/reference: cuda/general, which is held to it, says what is right */
  ep_precision precision;
} ep_gpu_benchmark;
int ep_gpu_benchmark_count(void);
/* `epochs` of it; the row (static) goes to *out. The caller destroys the case. */
ep_case *ep_gpu_benchmark_create(int number, int64_t epochs, const ep_gpu_benchmark **out);

#endif
