#include "tests/gpu/large.h"

#include <stdio.h>

/* Wide enough to fill a GPU with tiles of products: sides that are no multiple of a tile's, small
 * last batches, weights that a product moves and that it does not, layers that stay as they are. */
static const struct {
  const char *name;
  int64_t in_features;
  int64_t widths[6]; /* ends with 0 */
  ep_loss_type loss;
  ep_case_training training;
  bool biases;
} nets[] = {
    {"large, few outputs, a small last batch",
     776,
     {2056, 1992, 10},
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 6000, .batch_size = 4096, .shuffle = true, .steps = 4, .lr = 0.1f, .seed = 41},
     true},
    {"large, many outputs, momentum",
     512,
     {2048, 2064, 2048, 40},
     EP_LOSS_MSE,
     {.rows = 2048,
      .steps = 3,
      .lr = 0.05f,
      .seed = 42,
      .weight_decay = 0.02f,
      .optimizer = {.momentum = 0.9f, .nesterov = true}},
     true},
    {"large, odd sides, two slots of state",
     777,
     {2051, 2001, 13},
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 4008,
      .batch_size = 2104,
      .shuffle = true,
      .steps = 3,
      .lr = 0.01f,
      .seed = 45,
      .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}},
     true},
    {"large, the first layer frozen",
     400,
     {3400, 1000, 1600, 7},
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 3336 + 1304,
      .batch_size = 3336,
      .shuffle = true,
      .steps = 4,
      .lr = 0.1f,
      .seed = 43,
      .weight_decay = 0.02f,
      .frozen = 1},
     true},
    {"large, plain descent with decay",
     520,
     {4104, 3096, 16},
     EP_LOSS_MSE,
     {.rows = 2008, .batch_size = 1000, .steps = 3, .lr = 0.1f, .seed = 44, .weight_decay = 0.1f},
     true},
    {"large, plain descent without biases: products move all there is",
     2048,
     {2048, 2048},
     EP_LOSS_MSE,
     {.rows = 4096, .steps = 3, .lr = 0.1f, .seed = 46},
     false},
    {"large, narrow layers before wide ones, rates that fall, a last batch of one row",
     2,
     {16, 64, 1024, 1024, 3},
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 301,
      .batch_size = 100,
      .shuffle = true,
      .steps = 5,
      .lr = 0.1f,
      .lr_falls = true,
      .seed = 47},
     true},
    {"large, and small at the ends, two slots of state",
     900,
     {2048, 96, 10},
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 256,
      .batch_size = 128,
      .shuffle = true,
      .steps = 4,
      .lr = 0.01f,
      .seed = 48,
      .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}},
     true},
    {"large, panels of weights, momentum and decay",
     512,
     {1028, 1036, 28},
     EP_LOSS_MSE,
     {.rows = 212,
      .batch_size = 100,
      .shuffle = true,
      .steps = 3,
      .lr = 0.01f,
      .seed = 49,
      .weight_decay = 0.02f,
      .optimizer = {.momentum = 0.9f}},
     true},
    {"large, panels of weights, Adam",
     512,
     {1284, 1300, 28},
     EP_LOSS_MSE,
     {.rows = 212,
      .batch_size = 100,
      .shuffle = true,
      .steps = 3,
      .lr = 0.01f,
      .seed = 50,
      .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}},
     true},
    {"large, panels of weights, AdamW behind a front",
     4,
     {8, 64, 1036, 2052, 28},
     EP_LOSS_MSE,
     {.rows = 212,
      .batch_size = 100,
      .shuffle = true,
      .steps = 3,
      .lr = 0.01f,
      .seed = 51,
      .weight_decay = 0.1f,
      .optimizer = {.type = EP_OPTIMIZER_ADAMW, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}},
     true},
    {"large, panels of weights, RMSprop",
     512,
     {1036, 2052, 28},
     EP_LOSS_MSE,
     {.rows = 212,
      .batch_size = 100,
      .shuffle = true,
      .steps = 3,
      .lr = 0.01f,
      .seed = 52,
      .optimizer = {.type = EP_OPTIMIZER_RMSPROP, .momentum = 0.5f, .alpha = 0.9f, .eps = 1}},
     true},
    {"large, panels of weights, Adagrad",
     512,
     {2052, 1036, 28},
     EP_LOSS_MSE,
     {.rows = 212,
      .batch_size = 100,
      .shuffle = true,
      .steps = 3,
      .lr = 0.01f,
      .seed = 53,
      .optimizer = {.type = EP_OPTIMIZER_ADAGRAD, .eps = 1}},
     true},
};

/* Each in TF32, then in bfloat16. */
int ep_gpu_large_count(void) {
  return 2 * (int)(sizeof nets / sizeof *nets);
}

ep_case *ep_gpu_large_create(int number) {
  ep_precision precision = number % 2 == 0 ? EP_PRECISION_TF32 : EP_PRECISION_BF16;
  char name[112];
  snprintf(name, sizeof name, "%s, %s", nets[number / 2].name, ep_precision_name((int)precision));
  ep_case *self = ep_case_create(name, nets[number / 2].in_features, nets[number / 2].loss);
  for (int i = 0; nets[number / 2].widths[i]; i++) {
    if (i > 0) ep_case_add(self, EP_LAYER_RELU);
    ep_case_add_linear(self, nets[number / 2].widths[i], nets[number / 2].biases);
  }
  self->program.precision = precision;
  ep_case_finish(self, &nets[number / 2].training);
  return self;
}
