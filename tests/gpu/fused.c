#include "tests/gpu/fused.h"

#include "tests/gpu/cases.h"

/* No width, and no number of rows, is a multiple of anything. The last have no biases. */
static const ep_gpu_net nets[] = {
    {"fused, a full batch",
     13,
     {37, 64, 5},
     EP_LAYER_RELU,
     EP_LOSS_MSE,
     {.rows = 1531,
      .steps = 7,
      .lr = 0.1f,
      .seed = 41,
      .lr_falls = true,
      .optimizer = {.momentum = 0.9f, .nesterov = true}}},
    {"fused, mini-batches with a small last one",
     32,
     {64, 64, 64, 64, 16},
     EP_LAYER_RELU,
     EP_LOSS_MSE,
     {.rows = 5000, .batch_size = 2048, .shuffle = true, .steps = 8, .lr = 0.1f, .seed = 42}},
    {"fused, one output of few inputs",
     3,
     {4, 1},
     EP_LAYER_TANH,
     EP_LOSS_BCE_WITH_LOGITS,
     {.rows = 8777, .steps = 9, .lr = 0.5f, .seed = 43}},
    {"fused, as wide as it goes, classes",
     100,
     {128, 7, 128, 10},
     EP_LAYER_GELU,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 2500,
      .batch_size = 1000,
      .shuffle = true,
      .steps = 7,
      .lr = 0.01f,
      .seed = 44,
      .weight_decay = 0.01f,
      .spare_biases = true,
      .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}}},
    {"fused, many rows for each block",
     7,
     {17, 16, 3},
     EP_LAYER_SILU,
     EP_LOSS_HUBER,
     {.rows = 50021, .steps = 4, .lr = 0.1f, .seed = 45}},
    {"fused, the first layer frozen",
     9,
     {20, 33, 128},
     EP_LAYER_SIGMOID,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 1100,
      .batch_size = 600,
      .shuffle = true,
      .steps = 5,
      .lr = 0.1f,
      .seed = 46,
      .weight_decay = 0.02f,
      .frozen = 1}},
    {"fused, bytes",
     60,
     {64, 32, 10},
     EP_LAYER_TANH,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 2049, .batch_size = 1000, .shuffle = true, .steps = 6, .lr = 0.05f, .seed = 49},
     true},
    {
        "fused, one layer without a bias",
        50,
        {33},
        EP_LAYER_RELU,
        EP_LOSS_MAE,
        {.rows = 1027, .steps = 6, .lr = 0.05f, .seed = 47},
    },
    {
        "fused, deep without biases",
        16,
        {64, 64, 64, 64, 64, 64, 64, 64, 1},
        EP_LAYER_LEAKY_RELU,
        EP_LOSS_MSE,
        {.rows = 999,
         .batch_size = 800,
         .steps = 5,
         .lr = 0.05f,
         .seed = 48,
         .optimizer = {.type = EP_OPTIMIZER_RMSPROP, .alpha = 0.9f, .eps = 1, .centered = true}},
    },
};
enum { NETS = sizeof nets / sizeof *nets, BIASED = 7, PRECISIONS = 3 };

int ep_fused_case_count(void) {
  return NETS * PRECISIONS;
}

ep_case *ep_fused_case_create(int number) {
  static const ep_precision precisions[PRECISIONS] = {EP_PRECISION_FP32, EP_PRECISION_TF32,
                                                      EP_PRECISION_BF16};
  const ep_gpu_net *row = &nets[number / PRECISIONS];
  return ep_gpu_precision_set(ep_gpu_net_create(row, number / PRECISIONS < BIASED, &row->training),
                              precisions[number % PRECISIONS]);
}
