#include "tests/gpu/pictures.h"

#include "tests/gpu/cases.h"

static const ep_case_window same = {.kernel = {3, 3}, .padding = {1, 1}};
static const ep_case_window halves = {.kernel = {2, 2}};

/* A convolution with what usually follows it. */
static void stage_add(ep_case *self, int64_t channels, const ep_case_window *window, bool bias) {
  ep_case_add_conv2d(self, channels, window, bias);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add(self, EP_LAYER_RELU);
}

/* Bytes, augmented; convolutions with a bias and without, norms and none; windows that hang over
 * the edge. */
static ep_case *stages_create(void) {
  ep_case *self = ep_case_create_image("norms and pools", (ep_shape){3, 15, 13}, EP_LOSS_NLL);
  stage_add(self, 16, &same, true);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &halves);
  stage_add(self, 27, &same, false);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &(ep_case_window){.kernel = {3, 2}});
  ep_case_add_conv2d(self, 33, &(ep_case_window){.kernel = {2, 3}, .stride = {1, 2}}, true);
  ep_case_add(self, EP_LAYER_SILU);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 7, true);
  ep_case_add(self, EP_LAYER_LOG_SOFTMAX);
  ep_case_store_bytes(self);
  self->program.augment = (ep_augment){1, true};
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 101, .batch_size = 37, .shuffle = true, .steps = 7, .lr = 0.005f, .seed = 41});
  return self;
}

ep_case *ep_picture_benchmark_create(const char *name, const ep_case_training *training) {
  ep_case *self = ep_case_create_image(name, (ep_shape){3, 32, 32}, EP_LOSS_CROSS_ENTROPY);
  for (int64_t channels = 64; channels <= 512; channels *= 2) {
    stage_add(self, channels, &same, true);
    self->ops[ep_case_last(self) - 1].momentum = 0; /* running means are sums of rounded weights */
    ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &halves);
  }
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 10, true);
  ep_case_store_bytes(self);
  ep_case_finish(self, training);
  return self;
}

/* Blocks with what goes past them, pools of all kinds, masks, and no bias before a dropout. */
static ep_case *blocks_create(void) {
  const ep_case_window overlap = {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  ep_case *self = ep_case_create_image("blocks", (ep_shape){18, 17, 14}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, 18, &same, true);
  ep_case_add_residual(self, -1);
  ep_case_add(self, EP_LAYER_TANH);
  int block = ep_case_last(self);
  stage_add(self, 20, &same, false);
  ep_case_add_conv2d(self, 18, &(ep_case_window){.kernel = {1, 1}}, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, false);
  ep_case_add_residual(self, block);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &overlap);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.2f);
  ep_case_add_conv2d(self, 40, &same, false);
  ep_case_add_pool(self, EP_LAYER_AVG_POOL2D, &overlap);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.3f);
  ep_case_add_adaptive_pool(self, 3, 2);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add_linear(self, 11, true);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 90, .batch_size = 41, .shuffle = true, .steps = 7, .lr = 0.005f, .seed = 42});
  return self;
}

/* A full batch, the first convolution frozen, nothing after the last pool. */
static ep_case *frozen_create(void) {
  ep_case *self = ep_case_create_image("the first frozen", (ep_shape){5, 12, 12}, EP_LOSS_MSE);
  ep_case_add_conv2d(self, 24, &same, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_conv2d(self, 16, &(ep_case_window){.kernel = {3, 3}, .dilation = {2, 2}}, true);
  ep_case_add(self, EP_LAYER_LEAKY_RELU);
  ep_case_add_conv2d(self, 19, &(ep_case_window){.kernel = {8, 8}}, true);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 33,
          .steps = 6,
          .lr = 0.02f,
          .seed = 43,
          .frozen = 1,
          .weight_decay = 0.01f,
          .optimizer = {
              .type = EP_OPTIMIZER_ADAM, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1, .clip_norm = 1}});
  return self;
}

/* Of all layers the last one learns: nothing goes back to those before it. */
static ep_case *tuned_create(void) {
  ep_case *self = ep_case_create_image("only the last learns", (ep_shape){3, 12, 12}, EP_LOSS_MSE);
  ep_case_add_conv2d(self, 16, &same, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 13, true);
  int frozen = ep_case_last(self);
  ep_case_add_linear(self, 2, true);
  ep_case_finish(self, &(ep_case_training){.rows = 70,
                                           .batch_size = 32,
                                           .steps = 6,
                                           .lr = 0.02f,
                                           .seed = 44,
                                           .frozen = 1 | UINT32_C(1) << frozen});
  return self;
}

/* Channels in groups, down to one each; layer_norm between; the input's own channels in a group. */
static ep_case *groups_create(void) {
  ep_case *self = ep_case_create_image("groups", (ep_shape){4, 11, 14}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, 10, &(ep_case_window){.kernel = {3, 3}, .padding = {1, 1}, .groups = 2},
                     true);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add(self, EP_LAYER_SILU);
  ep_case_add_conv2d(
      self, 20,
      &(ep_case_window){.kernel = {5, 3}, .stride = {2, 1}, .padding = {2, 1}, .groups = 10}, true);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, false);
  ep_case_add(self, EP_LAYER_TANH);
  int block = ep_case_last(self);
  ep_case_add_conv2d(self, 20, &(ep_case_window){.kernel = {1, 1}, .groups = 4}, false);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add_residual(self, block);
  ep_case_add_conv2d(self, 40, &(ep_case_window){.kernel = {2, 2}, .groups = 20}, false);
  ep_case_add_pool(self, EP_LAYER_AVG_POOL2D, &halves);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 6, true);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 75, .batch_size = 32, .shuffle = true, .steps = 7, .lr = 0.005f, .seed = 45});
  return self;
}

/* Few rows, and many pixels before the last layer; a window of more taps than a thread holds. */
static ep_case *pixels_create(void) {
  ep_case *self =
      ep_case_create_image("few rows of many pixels", (ep_shape){3, 26, 25}, EP_LOSS_MSE);
  ep_case_add_conv2d(
      self, 20, &(ep_case_window){.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}, true);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_add_conv2d(self, 18, &(ep_case_window){.kernel = {6, 7}, .padding = {3, 3}}, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 5, true);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 21, .batch_size = 8, .shuffle = true, .steps = 7, .lr = 0.005f, .seed = 46});
  return self;
}

/* Channels so many that cuDNN has all products in TF32; a mean of many pixels. */
static ep_case *wide_create(void) {
  ep_case *self =
      ep_case_create_image("many channels", (ep_shape){3, 14, 11}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, 64, &same, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &halves);
  ep_case_add_conv2d(self, 72, &same, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_add_adaptive_pool(self, 1, 1);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 4, true);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 40, .batch_size = 18, .shuffle = true, .steps = 5, .lr = 0.005f, .seed = 48});
  return self;
}

/* PyTorch's example for MNIST, with a wide layer behind the convolutions. */
static ep_case *example_create(void) {
  const ep_case_window three = {.kernel = {3, 3}};
  ep_case *self =
      ep_case_create_image("an example of PyTorch's", (ep_shape){1, 18, 18}, EP_LOSS_NLL);
  ep_case_add_conv2d(self, 12, &three, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_conv2d(self, 24, &three, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &halves);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.25f);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 128, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.5f);
  ep_case_add_linear(self, 10, true);
  ep_case_add(self, EP_LAYER_LOG_SOFTMAX);
  ep_case_store_bytes(self);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 150, .batch_size = 64, .shuffle = true, .steps = 6, .lr = 0.005f, .seed = 47});
  return self;
}

/* Layers too small for a GPU's blocks; what goes past a convolution without a bias; a layer_norm
 * of channels that fill their packs; masks of channels that do not; a mean of some pixels. */
static ep_case *small_create(void) {
  ep_case *self =
      ep_case_create_image("small and deep", (ep_shape){3, 24, 25}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(
      self, 9, &(ep_case_window){.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}, true);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_add_conv2d(self, 12, &(ep_case_window){.kernel = {1, 1}}, false);
  int block = ep_case_last(self);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_conv2d(self, 12, &same, true);
  ep_case_add_residual(self, block);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add(self, EP_LAYER_SILU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.2f);
  ep_case_add_pool(self, EP_LAYER_AVG_POOL2D, &(ep_case_window){.kernel = {3, 3}});
  ep_case_add_conv2d(self, 22, &(ep_case_window){.kernel = {1, 1}}, true);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.3f);
  ep_case_add_adaptive_pool(self, 1, 1);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 5, true);
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 61, .batch_size = 24, .shuffle = true, .steps = 7, .lr = 0.005f, .seed = 49});
  return self;
}

/* Enough steps for graphs of several epochs, each of which ends with a smaller batch. */
static ep_case *epochs_create(const char *name, int64_t channels, bool bytes) {
  ep_case *self = ep_case_create_image(name, (ep_shape){channels, 9, 8}, EP_LOSS_MSE);
  ep_case_add_conv2d(self, 8, &same, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_pool(self, EP_LAYER_AVG_POOL2D, &halves);
  ep_case_add_conv2d(self, 6, &same, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 4, true);
  if (bytes) {
    ep_case_store_bytes(self);
    self->program.augment = (ep_augment){1, true};
  }
  ep_case_finish(
      self,
      &(ep_case_training){
          .rows = 23, .batch_size = 10, .shuffle = true, .steps = 60, .lr = 0.002f, .seed = 49});
  return self;
}

static ep_case *few_create(void) {
  return epochs_create("many epochs of few channels, augmented", 3, true);
}

static ep_case *many_create(void) {
  return epochs_create("many epochs of more channels", 6, false);
}

static ep_case *(*const create[])(void) = {
    stages_create, blocks_create,  frozen_create, tuned_create, groups_create, pixels_create,
    wide_create,   example_create, small_create,  few_create,   many_create};
enum { PICTURES = sizeof create / sizeof *create, PRECISIONS = 3 };

/* In each precision. It happens in bfloat16 that another pixel of a window is the greatest, or a
 * unit on the other side of its kink: a gradient that jumps, not one that is a little off. So the
 * steps are short, without momentum. */
ep_case *ep_picture_case_create(int number) {
  static const ep_precision precisions[] = {EP_PRECISION_BF16, EP_PRECISION_TF32,
                                            EP_PRECISION_FP32};
  return ep_gpu_precision_set(create[number / PRECISIONS](), precisions[number % PRECISIONS]);
}

int ep_picture_case_count(void) {
  return PICTURES * PRECISIONS;
}
