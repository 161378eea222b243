#include "tests/gpu/cases.h"

#include <stddef.h>

typedef struct {
  const char *name;
  int64_t in_features;
  int64_t widths[10]; /* ends with 0 */
  ep_layer_type between;
  ep_loss_type loss;
  ep_case_training training;
} net;

static const net nets[] = {
    {"wide, full batch",
     130,
     {257, 64, 10},
     EP_LAYER_RELU,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 300, .steps = 12, .lr = 0.1f, .seed = 1}},
    {"wide, unaligned, mini-batches with a small last one",
     67,
     {131, 127, 3},
     EP_LAYER_GELU,
     EP_LOSS_MSE,
     {.rows = 307,
      .batch_size = 101,
      .shuffle = true,
      .steps = 20,
      .lr = 0.05f,
      .seed = 2,
      .optimizer = {.momentum = 0.9f, .nesterov = true}}},
    {"wide, softmax inside",
     200,
     {192, 100, 5},
     EP_LAYER_SOFTMAX,
     EP_LOSS_HUBER,
     {.rows = 256, .batch_size = 128, .steps = 9, .lr = 0.1f, .seed = 3}},
    {"a softmax wider than a block",
     33,
     {700, 2},
     EP_LAYER_LOG_SOFTMAX,
     EP_LOSS_MAE,
     {.rows = 77, .batch_size = 33, .steps = 9, .lr = 0.01f, .seed = 4}},
    {"many rows, thin: sums in slices",
     19,
     {1},
     EP_LAYER_RELU,
     EP_LOSS_BCE_WITH_LOGITS,
     {.rows = 3530, .steps = 40, .lr = 0.5f, .seed = 5}},
    {"many rows, many loss blocks",
     3,
     {11, 97},
     EP_LAYER_TANH,
     EP_LOSS_MSE,
     {.rows = 5003, .steps = 6, .lr = 0.1f, .seed = 6}},
    {"many classes, many rows",
     5,
     {7, 300},
     EP_LAYER_SIGMOID,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 2500, .batch_size = 2047, .shuffle = true, .steps = 6, .lr = 0.1f, .seed = 7}},
    {"graphs of many steps",
     6,
     {6, 1},
     EP_LAYER_RELU,
     EP_LOSS_MSE,
     {.rows = 32, .steps = 400, .lr = 0.01f, .seed = 8, .lr_falls = true}},
    {"graphs of many epochs",
     4,
     {5, 3},
     EP_LAYER_TANH,
     EP_LOSS_MSE,
     {.rows = 10, .batch_size = 4, .shuffle = true, .steps = 400, .lr = 0.01f, .seed = 9}},
    {"epochs longer than a graph",
     3,
     {4, 2},
     EP_LAYER_SIN,
     EP_LOSS_MSE,
     {.rows = 301, .batch_size = 2, .shuffle = true, .steps = 500, .lr = 0.01f, .seed = 10}},
    {"no layer before the activation",
     6,
     {4, 4},
     EP_LAYER_LEAKY_RELU,
     EP_LOSS_MSE,
     {.rows = 50, .batch_size = 20, .steps = 20, .lr = 0.05f, .seed = 11}},
};
enum { NETS = sizeof nets / sizeof *nets };

static ep_case *net_create(const net *row, const ep_case_training *training) {
  ep_case *self = ep_case_create(row->name, row->in_features, row->loss);
  for (int i = 0; row->widths[i]; i++) {
    if (i > 0) ep_case_add(self, row->between);
    ep_case_add_linear(self, row->widths[i], true);
  }
  ep_case_finish(self, training);
  return self;
}

int ep_gpu_case_count(void) {
  return NETS;
}

ep_case *ep_gpu_case_create(int number) {
  const net *row = &nets[number];
  if (number < NETS - 1) return net_create(row, &row->training);
  /* Activations first, last, and one after another: none is part of a linear layer's kernel. */
  ep_case *self = ep_case_create(row->name, row->in_features, row->loss);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add(self, row->between);
  ep_case_add_linear(self, row->widths[0], false);
  ep_case_add(self, row->between);
  ep_case_add(self, EP_LAYER_SIN);
  ep_case_add_linear(self, row->widths[1], true);
  ep_case_add(self, EP_LAYER_SOFTMAX);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_finish(self, &row->training);
  return self;
}

static const struct {
  net what;
  ep_gpu_benchmark benchmark;
} benchmarks[] = {
    {{"6-6-1, 321 rows, full batch",
      6,
      {6, 1},
      EP_LAYER_RELU,
      EP_LOSS_MSE,
      {.rows = 321, .lr = 0.005f, .seed = 1}},
     {"6-6-1, 321 rows, full batch", 1, 20000}},
    {{"19-1, 3530 rows, full batch",
      19,
      {1},
      EP_LAYER_RELU,
      EP_LOSS_BCE_WITH_LOGITS,
      {.rows = 3530, .lr = 0.1f, .seed = 1}},
     {"19-1, 3530 rows, full batch", 1, 20000}},
    {{"disc 2-4-8-…-256-2, 1000 rows, batch 100",
      2,
      {4, 8, 16, 32, 64, 128, 256, 2},
      EP_LAYER_RELU,
      EP_LOSS_CROSS_ENTROPY,
      {.rows = 1000, .batch_size = 100, .lr = 0.1f, .seed = 1}},
     {"disc 2-4-8-…-256-2, 1000 rows, batch 100", 10, 300}},
    {{"784-50-10, 2000 rows, batch 200, shuffled",
      784,
      {50, 10},
      EP_LAYER_RELU,
      EP_LOSS_CROSS_ENTROPY,
      {.rows = 2000, .batch_size = 200, .shuffle = true, .lr = 0.1f, .seed = 1}},
     {"784-50-10, 2000 rows, batch 200, shuffled", 10, 300}},
};
enum { BENCHMARKS = sizeof benchmarks / sizeof *benchmarks };

int ep_gpu_benchmark_count(void) {
  return BENCHMARKS;
}

ep_case *ep_gpu_benchmark_create(int number, int64_t epochs, const ep_gpu_benchmark **out) {
  ep_case_training training = benchmarks[number].what.training;
  *out = &benchmarks[number].benchmark;
  training.steps = epochs * (*out)->steps_per_epoch;
  return net_create(&benchmarks[number].what, &training);
}
