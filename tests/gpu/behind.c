#include "tests/gpu/behind.h"

#include "tests/gpu/cases.h"

enum { NORM = 1, DROPS = 2, PLAIN = 4, LAST_BEHIND = 8 };

/* flags: what stands behind each layer but the last. NORM | PLAIN: a norm without parameters.
 * LAST_BEHIND: the activation and the dropout behind the last layer, too. */
typedef struct {
  ep_gpu_net net;
  int flags;
  float p;
} row;

static const row rows[] = {
    {{"norms, one block",
      5,
      {24, 7, 3},
      EP_LAYER_GELU,
      EP_LOSS_MSE,
      {.rows = 90, .batch_size = 20, .shuffle = true, .steps = 20, .lr = 0.05f, .seed = 71}},
     NORM,
     0},
    {{"norms by two blocks, a small last batch",
      13,
      {40, 33, 17, 5},
      EP_LAYER_TANH,
      EP_LOSS_CROSS_ENTROPY,
      {.rows = 407,
       .batch_size = 150,
       .shuffle = true,
       .steps = 14,
       .lr = 0.05f,
       .seed = 72,
       .weight_decay = 0.01f,
       .spare_biases = true,
       .optimizer = {.type = EP_OPTIMIZER_ADAMW, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-2f}}},
     NORM,
     0},
    {{"norms of many rows, and a wide one",
      7,
      {128, 97, 1},
      EP_LAYER_SIGMOID,
      EP_LOSS_BCE_WITH_LOGITS,
      {.rows = 1700,
       .batch_size = 1024,
       .shuffle = true,
       .steps = 8,
       .lr = 0.05f,
       .seed = 73,
       .optimizer = {.momentum = 0.9f}}},
     NORM,
     0},
    {{"norms without parameters",
      6,
      {31, 32, 4},
      EP_LAYER_SILU,
      EP_LOSS_HUBER,
      {.rows = 100, .batch_size = 33, .steps = 15, .lr = 0.05f, .seed = 74}},
     NORM | PLAIN,
     0},
    {{"norms, a frozen one and a frozen layer",
      6,
      {31, 32, 4},
      EP_LAYER_RELU,
      EP_LOSS_MSE,
      {.rows = 100,
       .batch_size = 33,
       .steps = 15,
       .lr = 0.05f,
       .seed = 75,
       .frozen = 1 << 1 | 1 << 3}},
     NORM,
     0},
    {{"dropouts, rows of quads",
      9,
      {64, 20, 3},
      EP_LAYER_RELU, /* few steps: a unit that passes its kink in one and not in the other differs
                      */
      EP_LOSS_CROSS_ENTROPY,
      {.rows = 301, .batch_size = 100, .shuffle = true, .steps = 3, .lr = 0.05f, .seed = 76}},
     DROPS,
     0.5f},
    {{"dropouts, rows of no quads",
      9,
      {63, 21, 3},
      EP_LAYER_TANH,
      EP_LOSS_MSE,
      {.rows = 301, .batch_size = 77, .shuffle = true, .steps = 15, .lr = 0.1f, .seed = 77}},
     DROPS,
     0.2f},
    {{"dropouts in sliced layers",
      13,
      {100, 200, 102, 3},
      EP_LAYER_SIGMOID,
      EP_LOSS_HUBER,
      {.rows = 207,
       .batch_size = 37,
       .shuffle = true,
       .steps = 12,
       .lr = 0.05f,
       .seed = 78,
       .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}}},
     DROPS,
     0.1f},
    {{"norms and dropouts",
      11,
      {48, 18, 50, 9},
      EP_LAYER_GELU,
      EP_LOSS_CROSS_ENTROPY,
      {.rows = 900, .batch_size = 600, .shuffle = true, .steps = 10, .lr = 0.05f, .seed = 79}},
     NORM | DROPS,
     0.5f},
    {{"dropouts, wide",
      70,
      {300, 514, 270, 20},
      EP_LAYER_GELU,
      EP_LOSS_CROSS_ENTROPY,
      {.rows = 310, .batch_size = 150, .shuffle = true, .steps = 8, .lr = 0.05f, .seed = 80}},
     DROPS,
     0.5f},
    {{"dropouts, wide, one output, adam",
      33,
      {512, 300, 1},
      EP_LAYER_SILU,
      EP_LOSS_BCE_WITH_LOGITS,
      {.rows = 300,
       .batch_size = 128,
       .shuffle = true,
       .steps = 8,
       .lr = 0.01f,
       .seed = 81,
       .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-2f}}},
     DROPS,
     0.1f},
    {{"norms and dropouts, wide, many rows",
      40,
      {260, 300, 3},
      EP_LAYER_TANH,
      EP_LOSS_MSE,
      {.rows = 1500, .batch_size = 1100, .steps = 5, .lr = 0.05f, .seed = 82}},
     NORM | DROPS,
     0.2f},
    {{"a hundred classes",
      10,
      {40, 100},
      EP_LAYER_SILU,
      EP_LOSS_CROSS_ENTROPY,
      {.rows = 300, .batch_size = 120, .shuffle = true, .steps = 12, .lr = 0.1f, .seed = 83}},
     0,
     0},
    {{"sixty-one targets by slices",
      30,
      {200, 61},
      EP_LAYER_TANH,
      EP_LOSS_MSE,
      {.rows = 200, .batch_size = 40, .shuffle = true, .steps = 12, .lr = 0.1f, .seed = 84}},
     0,
     0},
    {{"an activation and a dropout behind the last layer",
      6,
      {20, 4},
      EP_LAYER_SIGMOID,
      EP_LOSS_MSE,
      {.rows = 90, .batch_size = 40, .shuffle = true, .steps = 12, .lr = 0.1f, .seed = 85}},
     DROPS | LAST_BEHIND,
     0.2f},
};
enum { ROWS = sizeof rows / sizeof *rows, PRECISIONS = 3 };

int ep_behind_case_count(void) {
  return ROWS * PRECISIONS;
}

ep_case *ep_behind_case_create(int number) {
  static const ep_precision precisions[PRECISIONS] = {EP_PRECISION_FP32, EP_PRECISION_TF32,
                                                      EP_PRECISION_BF16};
  const row *of = &rows[number / PRECISIONS];
  ep_case *self = ep_case_create(of->net.name, of->net.in_features, of->net.loss);
  for (int i = 0; of->net.widths[i]; i++) {
    const bool last = of->net.widths[i + 1] == 0;
    ep_case_add_linear(self, of->net.widths[i], true);
    if (last && !(of->flags & LAST_BEHIND)) break;
    if (of->flags & NORM) ep_case_add_norm(self, EP_LAYER_LAYER_NORM, !(of->flags & PLAIN));
    ep_case_add(self, of->net.between);
    if (of->flags & DROPS) ep_case_add_dropout(self, EP_LAYER_DROPOUT, of->p);
  }
  ep_case_finish(self, &of->net.training);
  return ep_gpu_precision_set(self, precisions[number % PRECISIONS]);
}
