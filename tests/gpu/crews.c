#include "tests/gpu/crews.h"

#include "tests/gpu/cases.h"

static const ep_gpu_net nets[] = {
    {"crews, ten layers, some without rows at an epoch's end",
     2,
     {4, 8, 16, 32, 64, 128, 256, 512, 1024, 2},
     EP_LAYER_TANH,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 237,
      .batch_size = 100,
      .shuffle = true,
      .steps = 7,
      .lr = 0.02f,
      .seed = 71,
      .optimizer = {.momentum = 0.9f}}},
    {"crews, nine layers of odd widths, one frozen",
     7,
     {5, 9, 19, 50, 63, 131, 255, 390, 11},
     EP_LAYER_SILU,
     EP_LOSS_HUBER,
     {.rows = 112,
      .batch_size = 112,
      .steps = 6,
      .lr = 0.05f,
      .lr_falls = true,
      .seed = 72,
      .weight_decay = 0.01f,
      .spare_biases = true,
      .frozen = 1 << 3,
      .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}}},
    {"crews, no narrow layers in front, one crew",
     33,
     {200, 600, 330, 16},
     EP_LAYER_TANH,
     EP_LOSS_MSE,
     {.rows = 59, .batch_size = 16, .shuffle = true, .steps = 9, .lr = 0.05f, .seed = 73}},
    {"crews, no narrow layers in front",
     60,
     {400, 300, 200, 100, 9},
     EP_LAYER_SIGMOID,
     EP_LOSS_BCE_WITH_LOGITS,
     {.rows = 131,
      .batch_size = 50,
      .shuffle = true,
      .steps = 6,
      .lr = 0.05f,
      .seed = 76,
      .optimizer = {.momentum = 0.9f, .nesterov = true}}},
    {"crews, bytes",
     196,
     {300, 200, 100, 10},
     EP_LAYER_TANH,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 131,
      .batch_size = 64,
      .shuffle = true,
      .steps = 7,
      .lr = 0.05f,
      .seed = 77,
      .bytes = true}},
    {"crews, one layer alone is shared out",
     64,
     {33, 1500, 3},
     EP_LAYER_GELU,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 100, .batch_size = 90, .shuffle = true, .steps = 7, .lr = 0.05f, .seed = 74}},
    {"crews, without biases, a row in the last batch",
     3,
     {50, 60, 170, 90, 5},
     EP_LAYER_RELU,
     EP_LOSS_MAE,
     {.rows = 71, .batch_size = 35, .steps = 8, .lr = 0.02f, .seed = 77}},
};
enum { NETS = sizeof nets / sizeof *nets, BIASED = NETS - 1, PRECISIONS = 2 };

int ep_crews_case_count(void) {
  return NETS * PRECISIONS;
}

ep_case *ep_crews_case_create(int number) {
  static const ep_precision precisions[PRECISIONS] = {EP_PRECISION_FP32, EP_PRECISION_TF32};
  const ep_gpu_net *row = &nets[number / PRECISIONS];
  return ep_gpu_precision_set(ep_gpu_net_create(row, number / PRECISIONS < BIASED, &row->training),
                              precisions[number % PRECISIONS]);
}
