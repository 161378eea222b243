#include "tests/gpu/large.h"

#include <stdio.h>

#include "tests/gpu/cases.h"

/* Wide enough to fill a GPU with tiles of products: sides that are no multiple of a tile's, small
 * last batches, weights that a product moves and that it does not, layers that stay as they are. */
static const struct {
  const char *name;
  int64_t in_features;
  int64_t widths[8]; /* ends with 0 */
  ep_loss_type loss;
  ep_case_training training;
  bool biases;
  bool smooth; /* tanh, not ReLU, of which a rounding may take a row away */
} nets[] = {
    {"large, few outputs, a small last batch",
     776,
     {2056, 1992, 10},
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 6000, .batch_size = 4096, .shuffle = true, .steps = 4, .lr = 0.1f, .seed = 41},
     .biases = true},
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
     .biases = true},
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
     .biases = true},
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
     .biases = true},
    {"large, plain descent with decay",
     520,
     {4104, 3096, 16},
     EP_LOSS_MSE,
     {.rows = 2008, .batch_size = 1000, .steps = 3, .lr = 0.1f, .seed = 44, .weight_decay = 0.1f},
     .biases = true},
    {"large, plain descent without biases: products move all there is",
     2048,
     {2048, 2048},
     EP_LOSS_MSE,
     {.rows = 4096, .steps = 3, .lr = 0.1f, .seed = 46},
     .biases = false},
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
     .biases = true},
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
     .biases = true},
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
     .biases = true,
     .smooth = true},
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
     .biases = true,
     .smooth = true},
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
     .biases = true,
     .smooth = true},
    {"large, middle layers of half of the blocks, a last batch of one row",
     4,
     {64, 96, 512, 1100, 2052, 10},
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 301,
      .batch_size = 100,
      .shuffle = true,
      .steps = 9,
      .lr = 0.1f,
      .lr_falls = true,
      .seed = 53},
     .biases = true,
     .smooth = true},
    {"large, middle layers of half of the blocks, Adam, no biases, one layer frozen",
     4,
     {64, 128, 512, 1024, 2052, 10},
     EP_LOSS_MSE,
     {.rows = 260,
      .batch_size = 128,
      .shuffle = true,
      .steps = 4,
      .lr = 0.01f,
      .seed = 54,
      .frozen = 1 << 4,
      .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}},
     .biases = false,
     .smooth = true},
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
     .biases = true,
     .smooth = true},
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
     .biases = true,
     .smooth = true},
};

/* Each in TF32, then in bfloat16, then in float32. */
static const ep_precision precisions[] = {EP_PRECISION_TF32, EP_PRECISION_BF16, EP_PRECISION_FP32};
enum { PRECISIONS = sizeof precisions / sizeof *precisions };

int ep_gpu_large_count(void) {
  return PRECISIONS * (int)(sizeof nets / sizeof *nets);
}

ep_case *ep_gpu_large_create(int number) {
  const ep_precision precision = precisions[number % PRECISIONS];
  char name[112];
  snprintf(name, sizeof name, "%s, %s", nets[number / PRECISIONS].name,
           ep_precision_name((int)precision));
  ep_case *self =
      ep_case_create(name, nets[number / PRECISIONS].in_features, nets[number / PRECISIONS].loss);
  for (int i = 0; nets[number / PRECISIONS].widths[i]; i++) {
    if (i > 0) ep_case_add(self, nets[number / PRECISIONS].smooth ? EP_LAYER_TANH : EP_LAYER_RELU);
    ep_case_add_linear(self, nets[number / PRECISIONS].widths[i], nets[number / PRECISIONS].biases);
  }
  self->program.precision = precision;
  ep_case_finish(self, &nets[number / PRECISIONS].training);
  return self;
}

/* --- what cuda/general packs, and sums by slices ---------------------------------------------- */

/* Sides that are no multiple of four, one of them or both; a small last batch. */
static const struct {
  ep_gpu_net net;
  ep_precision precision;
} packed[] = {
    {{"packed: padded rows of outputs, then of both",
      700,
      {1001, 602, 3},
      EP_LAYER_TANH,
      EP_LOSS_MSE,
      {.rows = 900, .batch_size = 512, .shuffle = true, .steps = 3, .lr = 0.05f, .seed = 201}},
     EP_PRECISION_TF32},
    {{"packed: halves, a first layer of an odd width",
      701,
      {1000, 1023, 3},
      EP_LAYER_TANH,
      EP_LOSS_MSE,
      {.rows = 900, .batch_size = 512, .shuffle = true, .steps = 3, .lr = 0.05f, .seed = 202}},
     EP_PRECISION_BF16},
    {{"packed: float32 by three products",
      1000,
      {1001, 1002, 2},
      EP_LAYER_TANH,
      EP_LOSS_MSE,
      {.rows = 2100, .batch_size = 2050, .shuffle = true, .steps = 2, .lr = 0.05f, .seed = 203}},
     EP_PRECISION_FP32},
};
enum { PACKED = sizeof packed / sizeof *packed };

/* Channels of the two batch_norms: rows of a warp at once, and a tile that is not full. The small
 * last batch has another tiling. */
static const int channels[][2] = {{33, 8}, {3, 70}};
enum { NORMS = sizeof channels / sizeof *channels };

int ep_packed_case_count(void) {
  return PACKED + NORMS;
}

static ep_case *norms_create(int number) {
  ep_case *self = ep_case_create("batch_norm by slices of the rows", 5, EP_LOSS_MSE);
  for (int i = 0; i < 2; i++) {
    ep_case_add_linear(self, channels[number][i], false);
    ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
    ep_case_add(self, EP_LAYER_TANH);
  }
  ep_case_add_linear(self, 2, true);
  ep_case_finish(self, &(ep_case_training){.rows = 8000,
                                           .batch_size = 5003,
                                           .shuffle = true,
                                           .steps = 4,
                                           .lr = 0.05f,
                                           .seed = 204 + (uint64_t)number});
  return self;
}

ep_case *ep_packed_case_create(int number) {
  if (number >= PACKED) return norms_create(number - PACKED);
  return ep_gpu_precision_set(
      ep_gpu_net_create(&packed[number].net, true, &packed[number].net.training),
      packed[number].precision);
}
