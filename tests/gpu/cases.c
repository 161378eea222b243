#include "tests/gpu/cases.h"

#include "tests/gpu/behind.h"
#include "tests/gpu/crews.h"
#include "tests/gpu/embeddings.h"
#include "tests/gpu/fused.h"
#include "tests/gpu/large.h"
#include "tests/gpu/pictures.h"

typedef ep_gpu_net net;

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
    {"wide, unaligned, mini-batches with one small batch in eleven",
     61,
     {257, 71, 3},
     EP_LAYER_TANH,
     EP_LOSS_MSE,
     {.rows = 1010, .batch_size = 97, .shuffle = true, .steps = 13, .lr = 0.05f, .seed = 47}},
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
    {"a short last batch, which leaves parts of a sum without rows",
     784,
     {384, 10},
     EP_LAYER_RELU,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 1632, .batch_size = 1024, .shuffle = true, .steps = 4, .lr = 0.1f, .seed = 43}},
    {"a first layer that is wide, and fills no tile",
     301,
     {262, 133, 5},
     EP_LAYER_TANH,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 130, .batch_size = 50, .shuffle = true, .steps = 9, .lr = 0.1f, .seed = 41}},
    {"narrow layers before wide ones",
     3,
     {6, 20, 70, 300, 514, 4},
     EP_LAYER_TANH,
     EP_LOSS_MSE,
     {.rows = 107, .batch_size = 45, .shuffle = true, .steps = 9, .lr = 0.1f, .seed = 42}},
    {"narrow layers before wide ones, two slots of state",
     3,
     {64, 10, 400, 256, 3},
     EP_LAYER_SILU,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 107,
      .batch_size = 45,
      .steps = 9,
      .lr = 0.01f,
      .seed = 43,
      .weight_decay = 0.01f,
      .optimizer = {.type = EP_OPTIMIZER_ADAMW, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-2f}}},
    {"narrow layers before wide ones, all rows that a block takes, in one batch",
     5,
     {17, 48, 130, 300, 258, 2},
     EP_LAYER_GELU,
     EP_LOSS_HUBER,
     {.rows = 128, .steps = 9, .lr = 0.05f, .lr_falls = true, .seed = 46, .frozen = 1 << 2}},
    {"narrow layers before wide ones, more rows than a block takes",
     5,
     {17, 33, 300, 514, 2},
     EP_LAYER_TANH,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 310, .batch_size = 150, .shuffle = true, .steps = 9, .lr = 0.1f, .seed = 47}},
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
    {"graphs of many epochs, the first layer wide",
     131,
     {300, 5},
     EP_LAYER_TANH,
     EP_LOSS_MSE,
     {.rows = 90, .batch_size = 40, .shuffle = true, .steps = 120, .lr = 0.01f, .seed = 48}},
    {"doubling widths: rows by two blocks, outputs by eight",
     2,
     {4, 8, 16, 32, 64, 128, 256, 2},
     EP_LAYER_TANH,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 307, .batch_size = 100, .shuffle = true, .steps = 9, .lr = 0.1f, .seed = 12}},
    {"many rows of a small net: by sixteen blocks",
     13,
     {100, 100, 3},
     EP_LAYER_GELU,
     EP_LOSS_MSE,
     {.rows = 2100,
      .batch_size = 1000,
      .shuffle = true,
      .steps = 9,
      .lr = 0.05f,
      .seed = 13,
      .weight_decay = 0.01f,
      .spare_biases = true,
      .optimizer = {.momentum = 0.9f}}},
    {"few rows of a wide net: outputs by sixteen blocks",
     13,
     {100, 200, 100, 3},
     EP_LAYER_SIGMOID,
     EP_LOSS_HUBER,
     {.rows = 207,
      .batch_size = 37,
      .shuffle = true,
      .steps = 12,
      .lr = 0.05f,
      .seed = 14,
      .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}}},
    {"few rows by two blocks, the first layer frozen",
     5,
     {40, 30, 20, 3},
     EP_LAYER_SILU,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 200,
      .batch_size = 60,
      .shuffle = true,
      .steps = 12,
      .lr = 0.05f,
      .seed = 15,
      .frozen = 1}},
    {"bytes, a small net",
     6,
     {5, 2},
     EP_LAYER_TANH,
     EP_LOSS_MSE,
     {.rows = 53,
      .batch_size = 20,
      .shuffle = true,
      .steps = 12,
      .lr = 0.05f,
      .seed = 61,
      .bytes = true}},
    {"bytes, small batches",
     121,
     {64, 33, 10},
     EP_LAYER_GELU,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 207,
      .batch_size = 50,
      .shuffle = true,
      .steps = 9,
      .lr = 0.05f,
      .seed = 62,
      .optimizer = {.momentum = 0.9f},
      .bytes = true}},
    {"bytes, wide",
     784,
     {300, 260, 10},
     EP_LAYER_TANH,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 300,
      .batch_size = 128,
      .shuffle = true,
      .steps = 7,
      .lr = 0.05f,
      .seed = 63,
      .bytes = true}},
    {"classes for eight lanes with eight each",
     5,
     {40, 59},
     EP_LAYER_TANH,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 130,
      .batch_size = 64,
      .shuffle = true,
      .steps = 7,
      .lr = 0.05f,
      .seed = 64,
      .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}}},
    {"classes for eight lanes with sixteen each, thin tiles of several depths",
     70,
     {128, 90},
     EP_LAYER_GELU,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 75, .batch_size = 32, .shuffle = true, .steps = 7, .lr = 0.05f, .seed = 65}},
    /* The last one: ep_gpu_case_create adds to it. */
    {"no layer before the activation",
     6,
     {4, 4},
     EP_LAYER_LEAKY_RELU,
     EP_LOSS_MSE,
     {.rows = 50, .batch_size = 20, .steps = 20, .lr = 0.05f, .seed = 11}},
};
enum { NETS = sizeof nets / sizeof *nets };

static ep_case *net_create(const net *row, const ep_case_training *training) {
  return ep_gpu_net_create(row, true, training);
}

/* --- images -------------------------------------------------------------------------------- */

/* The network of the MNIST notebook, of bytes. */
ep_case *ep_gpu_mnist_create(const char *name, const ep_case_training *training) {
  const ep_case_window five = {.kernel = {5, 5}}, two = {.kernel = {2, 2}};
  ep_case *self = ep_case_create_image(name, (ep_shape){1, 28, 28}, EP_LOSS_NLL);
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
  ep_case_store_bytes(self);
  ep_case_finish(self, training);
  return self;
}

/* Channels that fill no tile, windows that leave the image, many slices of places. */
static ep_case *channels_create(const char *name, int64_t in, int64_t out, int64_t groups) {
  const ep_case_window window = {
      .kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = groups};
  const ep_case_window plain = {.kernel = {3, 2}, .padding = {1, 0}};
  ep_case *self = ep_case_create_image(name, (ep_shape){in, 15, 13}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, out, &window, true);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add(self, EP_LAYER_TANH);
  int block = ep_case_last(self);
  ep_case_add_conv2d(self, out, &(ep_case_window){.kernel = {1, 1}}, false);
  ep_case_add(self, EP_LAYER_SILU);
  ep_case_add_residual(self, block);
  ep_case_add_conv2d(self, 9, &plain, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_adaptive_pool(self, 3, 2);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add_linear(self, 11, true);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 101, .batch_size = 37, .shuffle = true, .steps = 7, .lr = 0.05f, .seed = 20});
  return self;
}

/* What writes over its input next to what must not be written over. */
static ep_case *overlaps_create(const char *name) {
  ep_case *self = ep_case_create(name, 12, EP_LOSS_MSE);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.2f); /* of the rows as they lie */
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_linear(self, 20, true);
  ep_case_add(self, EP_LAYER_TANH);
  int block = ep_case_last(self);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.3f);
  ep_case_add(self, EP_LAYER_LEAKY_RELU);
  ep_case_add_residual(self, block);
  ep_case_add(self, EP_LAYER_SIGMOID);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.4f);
  ep_case_add_linear(self, 20, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.5f);
  ep_case_add_residual(self, block);
  ep_case_add_linear(self, 3, true);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 64, .batch_size = 24, .shuffle = true, .steps = 14, .lr = 0.05f, .seed = 21});
  return self;
}

/* More rows than an executor that gives each a block can take at once; windows that overlap and
 * leave the image; a mask of channels between. */
static ep_case *rounds_create(const char *name) {
  const ep_case_window same = {.kernel = {3, 3}, .padding = {1, 1}};
  const ep_case_window half = {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  const ep_case_window two = {.kernel = {2, 2}};
  ep_case *self = ep_case_create_image(name, (ep_shape){3, 20, 17}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, 9, &same, true);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &half);
  ep_case_add_conv2d(self, 13, &half, true);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.3f);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_pool(self, EP_LAYER_AVG_POOL2D, &two);
  ep_case_add_conv2d(self, 6, &same, false);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.2f);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 7, true);
  ep_case_store_bytes(self);
  self->program.augment = (ep_augment){1, true};
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 700,
          .batch_size = 601,
          .shuffle = true,
          .steps = 5,
          .lr = 0.002f,
          .seed = 23,
          .optimizer = {.type = EP_OPTIMIZER_ADAMW, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-6f},
          .weight_decay = 0.1f});
  return self;
}

/* So many numbers that a thread takes several planes or four neighbours; windows that overlap, that
 * differ in size, and that are wide; rows of a norm that a block has in registers. */
static ep_case *planes_create(const char *name) {
  const ep_case_window near = {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}};
  ep_case *self = ep_case_create_image(name, (ep_shape){1, 20, 20}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, 16, &near, true);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &near);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.2f);
  ep_case_add_pool(self, EP_LAYER_AVG_POOL2D, &near);
  ep_case_add_adaptive_pool(self, 20, 19);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.1f);
  ep_case_add_adaptive_pool(self, 1, 2);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 5, true);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 260, .batch_size = 181, .shuffle = true, .steps = 4, .lr = 0.005f, .seed = 24});
  return self;
}

/* Rows of a norm of `channels` planes, which a large block has; a sum, a mask and a mean behind it:
 * of all of a plane, or of wide windows. */
static ep_case *rows_create(const char *name, int64_t channels, int64_t side, bool windows) {
  const ep_case_window one = {.kernel = {1, 1}}, six = {.kernel = {6, 6}};
  ep_case *self = ep_case_create_image(name, (ep_shape){2, side, side}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, channels, &one, true);
  ep_case_add(self, EP_LAYER_TANH);
  int block = ep_case_last(self);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, windows);
  ep_case_add(self, EP_LAYER_SILU);
  ep_case_add_residual(self, block);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.3f);
  if (windows)
    ep_case_add_pool(self, EP_LAYER_AVG_POOL2D, &six);
  else
    ep_case_add_adaptive_pool(self, 1, 1);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 4, true);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 40, .batch_size = 23, .shuffle = true, .steps = 4, .lr = 0.005f, .seed = 25});
  return self;
}

static ep_case *image_create(int number) {
  const ep_case_training training = {.rows = 150,
                                     .batch_size = 64,
                                     .shuffle = true,
                                     .steps = 5,
                                     .lr = 0.01f,
                                     .seed = 22,
                                     .optimizer = {.momentum = 0.5f}};
  switch (number) {
  case 0: return ep_gpu_mnist_create("MNIST's network", &training);
  case 1: return channels_create("3 to 21 channels", 3, 21, 1);
  case 2: return channels_create("40 to 70 channels", 40, 70, 1);
  case 3: return channels_create("12 to 36 channels in 12 groups", 12, 36, 12);
  case 4: return rounds_create("a batch of many images");
  case 5: return planes_create("several planes a thread");
  case 6: return rows_create("rows that 512 threads have", 29, 20, false);
  case 7: return rows_create("rows that 1,024 threads have", 32, 24, true);
  case 8: return rows_create("rows wider than registers hold", 39, 23, false);
  default: return overlaps_create("writing over inputs");
  }
}
enum { IMAGES = 10 };

/* --- products below float32 ---------------------------------------------------------------- */

static const net coarse_nets[] = {
    {"few outputs, a full batch",
     130,
     {257, 64, 10},
     EP_LAYER_RELU,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 300, .steps = 5, .lr = 0.1f, .seed = 31}},
    {"unaligned, mini-batches with a small last one",
     67,
     {131, 127, 3},
     EP_LAYER_GELU,
     EP_LOSS_MSE,
     {.rows = 307,
      .batch_size = 101,
      .shuffle = true,
      .steps = 6,
      .lr = 0.05f,
      .seed = 32,
      .optimizer = {.momentum = 0.9f, .nesterov = true}}},
    {"many outputs, two slots of state",
     96,
     {160, 48, 40},
     EP_LAYER_TANH,
     EP_LOSS_HUBER,
     {.rows = 256,
      .batch_size = 128,
      .shuffle = true,
      .steps = 6,
      .lr = 0.05f,
      .seed = 33,
      .weight_decay = 0.01f,
      .spare_biases = true,
      .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}}},
    {"narrow layers before wide ones",
     3,
     {6, 20, 70, 300, 514, 4},
     EP_LAYER_RELU,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 250, .batch_size = 100, .shuffle = true, .steps = 6, .lr = 0.05f, .seed = 37}},
    {"one layer alone",
     100,
     {33},
     EP_LAYER_RELU,
     EP_LOSS_MSE,
     {.rows = 77, .batch_size = 33, .steps = 6, .lr = 0.05f, .seed = 34}},
    {"few rows, whose sums are in one slice",
     64,
     {128, 72, 7},
     EP_LAYER_RELU,
     EP_LOSS_CROSS_ENTROPY,
     {.rows = 40,
      .batch_size = 13,
      .shuffle = true,
      .steps = 6,
      .lr = 0.05f,
      .seed = 47,
      .optimizer = {.type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1}}},
    {"graphs of many epochs",
     97,
     {72, 6},
     EP_LAYER_TANH,
     EP_LOSS_MSE,
     {.rows = 90, .batch_size = 40, .shuffle = true, .steps = 120, .lr = 0.01f, .seed = 38}},
    {"graphs of many epochs, one layer alone",
     100,
     {33},
     EP_LAYER_RELU,
     EP_LOSS_MSE,
     {.rows = 90, .batch_size = 40, .shuffle = true, .steps = 120, .lr = 0.01f, .seed = 39}},
    {"the first layer frozen",
     64,
     {128, 72, 7},
     EP_LAYER_SIGMOID,
     EP_LOSS_BCE_WITH_LOGITS,
     {.rows = 200,
      .batch_size = 64,
      .shuffle = true,
      .steps = 5,
      .lr = 0.1f,
      .seed = 35,
      .weight_decay = 0.02f,
      .frozen = 1}},
};
enum { COARSE_NETS = sizeof coarse_nets / sizeof *coarse_nets, COARSE = 2 * (COARSE_NETS + 1) };
enum { OWN = NETS + IMAGES + COARSE };

/* Bytes, layers without a bias, and an activation behind the last. */
static ep_case *coarse_image_create(void) {
  ep_case *self =
      ep_case_create_image("bytes, and log_softmax", (ep_shape){1, 12, 13}, EP_LOSS_NLL);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 90, false);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_linear(self, 70, false);
  ep_case_add_linear(self, 12, true);
  ep_case_add(self, EP_LAYER_LOG_SOFTMAX);
  ep_case_store_bytes(self);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 150, .batch_size = 64, .shuffle = true, .steps = 5, .lr = 0.05f, .seed = 36});
  return self;
}

/* Each in TF32, then in bfloat16. */
static ep_case *coarse_create(int number) {
  int row = number / 2;
  ep_case *self = row < COARSE_NETS ? net_create(&coarse_nets[row], &coarse_nets[row].training)
                                    : coarse_image_create();
  return ep_gpu_precision_set(self, number % 2 == 0 ? EP_PRECISION_TF32 : EP_PRECISION_BF16);
}

int ep_gpu_case_count(void) {
  return OWN + ep_fused_case_count() + ep_picture_case_count() + ep_crews_case_count() +
         ep_behind_case_count() + ep_embeddings_case_count() + ep_packed_case_count();
}

ep_case *ep_gpu_case_create(int number) {
  const int pictures = OWN + ep_fused_case_count(), crews = pictures + ep_picture_case_count();
  const int behind = crews + ep_crews_case_count();
  const int embeddings = behind + ep_behind_case_count();
  const int packed = embeddings + ep_embeddings_case_count();
  if (number >= packed) return ep_packed_case_create(number - packed);
  if (number >= embeddings) return ep_embeddings_case_create(number - embeddings);
  if (number >= behind) return ep_behind_case_create(number - behind);
  if (number >= crews) return ep_crews_case_create(number - crews);
  if (number >= pictures) return ep_picture_case_create(number - pictures);
  if (number >= OWN) return ep_fused_case_create(number - OWN);
  if (number >= NETS + IMAGES) return coarse_create(number - NETS - IMAGES);
  if (number >= NETS) return image_create(number - NETS);
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
