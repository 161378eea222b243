#include "tests/unit/kernels/cases_images.h"

#include <stdio.h>

#include "kernels/formulas/augment.h"

/* Convolutions: [channels, height, width] in, channels out. */
static const struct {
  ep_shape in;
  int64_t out_channels;
  ep_case_window window;
  bool bias;
} convs[] = {
    {{1, 1, 1}, 1, {.kernel = {1, 1}}, true},
    {{1, 7, 7}, 3, {.kernel = {3, 3}}, true},
    {{1, 9, 5}, 2, {.kernel = {5, 1}}, false},
    {{2, 5, 5}, 4, {.kernel = {5, 5}}, true}, /* one window */
    {{3, 4, 4}, 5, {.kernel = {1, 1}}, true},
    {{3, 8, 8}, 4, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}, true},
    {{2, 7, 11}, 3, {.kernel = {3, 2}, .stride = {3, 2}, .padding = {2, 1}}, false},
    {{2, 9, 9}, 3, {.kernel = {3, 3}, .dilation = {2, 2}}, true},
    {{2, 8, 7}, 3, {{2, 3}, {2, 1}, {1, 2}, {3, 2}, 1}, true},
    {{4, 6, 6}, 4, {.kernel = {3, 3}, .padding = {1, 1}, .groups = 4}, true}, /* depthwise */
    {{3, 5, 6}, 6, {.kernel = {3, 3}, .padding = {1, 1}, .groups = 3}, false},
    {{6, 5, 5}, 4, {.kernel = {2, 2}, .stride = {2, 2}, .groups = 2}, true},
    {{17, 4, 4}, 33, {.kernel = {3, 3}, .padding = {1, 1}}, true},
    {{9, 4, 5}, 65, {.kernel = {3, 3}, .padding = {1, 1}}, false},
    {{3, 6, 9}, 7, {.kernel = {3, 2}}, true}, /* no padding, steps of one: direct.h's */
    {{6, 9, 10}, 11, {.kernel = {5, 5}}, true},
    {{5, 8, 9}, 6, {.kernel = {4, 3}, .dilation = {1, 2}}, false},
};
_Static_assert(sizeof convs / sizeof convs[0] == EP_CASE_CONVS, "as many as the header says");

/* Pools of an image; out is adaptive_avg_pool2d's. */
static const struct {
  ep_layer_type type;
  ep_shape in;
  ep_case_window window;
  int64_t out[2];
} pools[] = {
    {EP_LAYER_MAX_POOL2D, {2, 6, 6}, {.kernel = {2, 2}}, {0}},
    {EP_LAYER_MAX_POOL2D, {1, 7, 5}, {.kernel = {2, 2}}, {0}},  /* leaves out a line */
    {EP_LAYER_MAX_POOL2D, {2, 9, 11}, {.kernel = {4, 5}}, {0}}, /* side by side, in no tile */
    {EP_LAYER_MAX_POOL2D, {3, 5, 5}, {.kernel = {3, 3}, .stride = {1, 1}}, {0}}, /* overlapping */
    {EP_LAYER_MAX_POOL2D, {2, 7, 7}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}, {0}},
    {EP_LAYER_MAX_POOL2D, {2, 8, 9}, {{2, 3}, {2, 1}, {1, 0}, {2, 3}, 0}, {0}},
    {EP_LAYER_MAX_POOL2D, {2, 4, 4}, {.kernel = {4, 4}}, {0}},
    {EP_LAYER_AVG_POOL2D, {2, 6, 6}, {.kernel = {2, 2}}, {0}},
    {EP_LAYER_AVG_POOL2D, {1, 7, 5}, {.kernel = {2, 3}}, {0}},
    {EP_LAYER_AVG_POOL2D, {3, 5, 5}, {.kernel = {3, 3}, .stride = {1, 2}}, {0}},
    {EP_LAYER_AVG_POOL2D, {2, 7, 7}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}, {0}},
    {EP_LAYER_AVG_POOL2D, {2, 4, 4}, {.kernel = {4, 4}}, {0}},
    {EP_LAYER_ADAPTIVE_AVG_POOL2D, {3, 5, 6}, {.kernel = {0}}, {1, 1}},
    {EP_LAYER_ADAPTIVE_AVG_POOL2D, {2, 7, 5}, {.kernel = {0}}, {3, 2}},
    {EP_LAYER_ADAPTIVE_AVG_POOL2D, {2, 6, 4}, {.kernel = {0}}, {3, 2}},
    {EP_LAYER_ADAPTIVE_AVG_POOL2D, {2, 3, 3}, {.kernel = {0}}, {4, 5}}, /* larger than it was */
    {EP_LAYER_ADAPTIVE_AVG_POOL2D, {1, 5, 7}, {.kernel = {0}}, {5, 7}},
    {EP_LAYER_ADAPTIVE_AVG_POOL2D, {1, 1, 1}, {.kernel = {0}}, {1, 1}},
};
_Static_assert(sizeof pools / sizeof pools[0] == EP_CASE_POOLS, "as many as the header says");

static void name_window(char *name, size_t size, ep_layer_type type, ep_shape in,
                        const ep_case_window *window) {
  snprintf(name, size, "%s of %dx%dx%d, kernel %dx%d, stride %dx%d, padding %dx%d, dilation %dx%d",
           ep_layer_type_name((int)type), (int)in.channels, (int)in.height, (int)in.width,
           window->kernel[0], window->kernel[1], window->stride[0], window->stride[1],
           window->padding[0], window->padding[1], window->dilation[0], window->dilation[1]);
}

/* What follows a convolution or a pool, so that its gradient is not all alike. */
static ep_case *finish_window(ep_case *self, int number) {
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 3, true);
  const bool many = number == EP_CASE_CONVS - 1; /* more rows than are taken at a time */
  ep_case_finish(self, &(ep_case_training){.rows = many ? 41 : 11,
                                           .batch_size = many ? 21 : 4,
                                           .shuffle = true,
                                           .seed = 5000 + (uint64_t)number,
                                           .steps = 8,
                                           .lr = 0.05f});
  return self;
}

ep_case *ep_case_create_window(int number) {
  char name[128];
  if (number < EP_CASE_CONVS) {
    const ep_case_window *window = &convs[number].window;
    name_window(name, sizeof name, EP_LAYER_CONV2D, convs[number].in, window);
    ep_case *self = ep_case_create_image(name, convs[number].in, EP_LOSS_MSE);
    /* The first layer's own input has no gradient: another stands before it. */
    ep_case_add_conv2d(self, convs[number].in.channels, &(ep_case_window){.kernel = {1, 1}}, true);
    ep_case_add_conv2d(self, convs[number].out_channels, window, convs[number].bias);
    return finish_window(self, number);
  }
  int pool = number - EP_CASE_CONVS;
  name_window(name, sizeof name, pools[pool].type, pools[pool].in, &pools[pool].window);
  ep_case *self = ep_case_create_image(name, pools[pool].in, EP_LOSS_MSE);
  ep_case_add_conv2d(self, pools[pool].in.channels, &(ep_case_window){.kernel = {1, 1}}, true);
  if (pools[pool].type == EP_LAYER_ADAPTIVE_AVG_POOL2D) {
    ep_case_add_adaptive_pool(self, pools[pool].out[0], pools[pool].out[1]);
  } else {
    ep_case_add_pool(self, pools[pool].type, &pools[pool].window);
  }
  return finish_window(self, number);
}

static const ep_case_window five = {.kernel = {5, 5}}, three = {.kernel = {3, 3}},
                            same = {.kernel = {3, 3}, .padding = {1, 1}}, two = {.kernel = {2, 2}};

/* What a network is trained with, unless it says otherwise. */
static ep_case_training usual(uint64_t seed) {
  return (ep_case_training){.rows = 22,
                            .batch_size = 8, /* the last has 6 */
                            .shuffle = true,
                            .seed = seed,
                            .steps = 8,
                            .lr = 0.02f,
                            .optimizer = {EP_OPTIMIZER_SGD, .momentum = 0.5f}};
}

/* The MNIST notebook's network, with smaller images and fewer channels. */
static void add_mnist(ep_case *self) {
  ep_case_add_conv2d(self, 3, &five, true); /* 16x16 -> 12x12 */
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &two);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_conv2d(self, 5, &three, true); /* 6x6 -> 4x4 */
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.5f);
  ep_case_add_pool(self, EP_LAYER_MAX_POOL2D, &two);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 9, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.5f);
  ep_case_add_linear(self, 10, true);
  ep_case_add(self, EP_LAYER_LOG_SOFTMAX);
}

static ep_case *create_mnist(const char *name, int64_t channels) {
  ep_case *self = ep_case_create_image(name, (ep_shape){channels, 16, 16}, EP_LOSS_NLL);
  add_mnist(self);
  return self;
}

static ep_case *mnist_floats(void) {
  return create_mnist("mnist's net, floats", 1);
}

static ep_case *mnist_bytes(void) {
  ep_case *self = create_mnist("mnist's net, bytes", 1);
  ep_case_store_bytes(self);
  return self;
}

/* An augmented image: floats or bytes, one channel or three. */
static ep_case *create_augmented(const char *name, int64_t channels, bool bytes, ep_augment augment,
                                 bool crop) {
  ep_case *self = ep_case_create_image(name, (ep_shape){channels, 7, 6}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, 4, &same, true);
  ep_case_add(self, EP_LAYER_SILU);
  ep_case_add_pool(self, EP_LAYER_AVG_POOL2D, &two);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 5, true);
  self->program.augment = augment;
  if (crop) ep_case_store_larger(self, 10, 11);
  if (bytes) ep_case_store_bytes(self);
  return self;
}

static ep_case *augment_shift(void) {
  return create_augmented("shifted floats", 1, false, (ep_augment){2, false}, false);
}
static ep_case *augment_shift_far(void) {
  return create_augmented("shifted out of sight", 2, true, (ep_augment){9, false}, false);
}
static ep_case *augment_flip(void) {
  return create_augmented("flipped bytes", 3, true, (ep_augment){0, true}, false);
}
static ep_case *augment_crop(void) {
  return create_augmented("cropped floats", 2, false, (ep_augment){0, false}, true);
}
static ep_case *augment_all(void) {
  return create_augmented("shifted, flipped, cropped bytes", 3, true, (ep_augment){3, true}, true);
}

/* Bytes that are no image: one channel a feature. */
static ep_case *vector_bytes(void) {
  ep_case *self = ep_case_create("a vector of bytes", 6, EP_LOSS_MSE);
  ep_case_store_bytes(self);
  ep_case_add_linear(self, 5, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 2, true);
  return self;
}

static ep_case *batch_norm_vector(void) {
  ep_case *self = ep_case_create("batch_norm of vectors", 5, EP_LOSS_MSE);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, false); /* first of all, and without weights */
  ep_case_add_linear(self, 9, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 2, true);
  return self;
}

/* No bias before a batch_norm: its gradient is 0 but for rounding, and adamw makes steps of that.
 */
static ep_case *batch_norm_images(void) {
  ep_case *self =
      ep_case_create_image("batch_norm of images", (ep_shape){2, 6, 5}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, 3, &same, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add(self, EP_LAYER_ELU);
  ep_case_add_pool(self, EP_LAYER_AVG_POOL2D, &two);
  ep_case_add_conv2d(self, 4, &two, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, false);
  ep_case_add(self, EP_LAYER_GELU);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 4, true);
  return self;
}

/* A batch of more rows than an executor may take at a time. */
static ep_case *batch_norm_many(void) {
  ep_case *self = ep_case_create("batch_norm of many rows", 3, EP_LOSS_MSE);
  ep_case_add_linear(self, 6, true);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add(self, EP_LAYER_SIGMOID);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.25f);
  ep_case_add_linear(self, 1, true);
  return self;
}

/* The same of dropout, whose masks go on from one piece of the batch to the next. */
static ep_case *dropout_many(void) {
  ep_case *self = ep_case_create_image("dropout of many rows", (ep_shape){3, 2, 3}, EP_LOSS_MSE);
  ep_case_add_conv2d(self, 5, &two, true);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.5f);
  ep_case_add(self, EP_LAYER_SIGMOID);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.25f);
  ep_case_add_linear(self, 1, true);
  return self;
}

static ep_case *layer_norm_vector(void) {
  ep_case *self = ep_case_create("layer_norm of vectors", 6, EP_LOSS_HUBER);
  ep_case_add_linear(self, 9, true);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, false);
  ep_case_add(self, EP_LAYER_SOFTPLUS);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add_linear(self, 2, true);
  return self;
}

static ep_case *layer_norm_images(void) {
  ep_case *self =
      ep_case_create_image("layer_norm of images", (ep_shape){3, 4, 5}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, 3, &same, true);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add(self, EP_LAYER_SILU);
  ep_case_add_adaptive_pool(self, 2, 2);
  ep_case_add_linear(self, 4, true); /* an image needs no flatten */
  return self;
}

static ep_case *embedding(void) {
  ep_case *self = ep_case_create("embedding of four columns", 4, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_embedding(self, 0, 13, 3);
  ep_case_add_norm(self, EP_LAYER_LAYER_NORM, true);
  ep_case_add_linear(self, 8, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 5, true);
  return self;
}

static ep_case *embedding_behind_numbers(void) {
  ep_case *self = ep_case_create("embedding of three columns behind two numbers", 5, EP_LOSS_MSE);
  ep_case_add_embedding(self, 2, 37, 4);
  ep_case_add_linear(self, 31, true);
  ep_case_add(self, EP_LAYER_RELU);
  ep_case_add_linear(self, 1, true);
  return self;
}

/* conv, norm, activation, conv, norm, and the block's input on top: He et al.'s. */
static void add_block(ep_case *self, int64_t channels) {
  int source = ep_case_last(self);
  ep_case_add_conv2d(self, channels, &same, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add(self, EP_LAYER_SILU);
  ep_case_add_conv2d(self, channels, &same, false);
  ep_case_add_norm(self, EP_LAYER_BATCH_NORM, true);
  ep_case_add_residual(self, source);
  ep_case_add(self, EP_LAYER_SILU);
}

static ep_case *residual_images(void) {
  ep_case *self =
      ep_case_create_image("residual blocks of images", (ep_shape){2, 5, 5}, EP_LOSS_CROSS_ENTROPY);
  ep_case_add_conv2d(self, 3, &same, true);
  add_block(self, 3);
  add_block(self, 3);
  ep_case_add_adaptive_pool(self, 1, 1);
  ep_case_add(self, EP_LAYER_FLATTEN);
  ep_case_add_linear(self, 4, true);
  return self;
}

/* The network's own input is taken again. */
static ep_case *residual_input(void) {
  ep_case *self = ep_case_create("residual of the input", 5, EP_LOSS_MSE);
  ep_case_add_linear(self, 5, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_residual(self, -1);
  ep_case_add_linear(self, 2, true);
  return self;
}

/* Blocks within a block, two that take the same value, and one with nothing in it. */
static ep_case *residual_nested(void) {
  ep_case *self = ep_case_create("residual blocks within a block", 4, EP_LOSS_MSE);
  ep_case_add_linear(self, 6, true);
  int outer = ep_case_last(self);
  ep_case_add_residual(self, outer); /* x + x */
  ep_case_add(self, EP_LAYER_TANH);
  int inner = ep_case_last(self);
  ep_case_add_linear(self, 6, true);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.3f);
  ep_case_add_residual(self, inner);
  ep_case_add(self, EP_LAYER_SIN);
  ep_case_add_residual(self, inner);
  ep_case_add_linear(self, 6, false);
  ep_case_add_residual(self, outer);
  ep_case_add_linear(self, 2, true);
  return self;
}

/* Dropout's ends, p = 0 and p = 1, and two layers that must not have the same mask. */
static ep_case *dropouts(void) {
  ep_case *self = ep_case_create_image("dropouts", (ep_shape){3, 4, 3}, EP_LOSS_MSE);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.2f);
  ep_case_add_conv2d(self, 5, &two, true);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.5f);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 7, true);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.5f);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.5f);
  ep_case_add_linear(self, 4, true);
  ep_case_add_residual(self, ep_case_last(self));
  ep_case_add_dropout(self, EP_LAYER_DROPOUT2D, 0.1f); /* a vector's channels are its features */
  return self;
}

static ep_case *dropout_all(void) {
  ep_case *self = ep_case_create("dropout of everything", 4, EP_LOSS_MSE);
  ep_case_add_linear(self, 6, true);
  ep_case_add_dropout(self, EP_LAYER_DROPOUT, 1);
  ep_case_add_linear(self, 2, true);
  return self;
}

static const struct {
  ep_case *(*create)(void);
  int64_t rows, batch_size; /* zeros: as usual */
  ep_optimizer_type optimizer;
  float weight_decay;
  bool spare_biases;
  uint32_t frozen;
} image_nets[] = {
    {mnist_floats, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {mnist_bytes, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {mnist_bytes, 30, 30, EP_OPTIMIZER_ADAM, 0, false, 0}, /* the full batch, masks and all */
    {augment_shift, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {augment_shift_far, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {augment_flip, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {augment_crop, 9, 9, EP_OPTIMIZER_SGD, 0, false, 0},
    {augment_all, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {vector_bytes, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {batch_norm_vector, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {batch_norm_images, 0, 0, EP_OPTIMIZER_SGD, 0.1f, true, 0},
    {batch_norm_images, 0, 0, EP_OPTIMIZER_ADAMW, 0.1f, false, 1 | 1 << 1}, /* its norm moves on */
    {batch_norm_many, 321, 307, EP_OPTIMIZER_SGD, 0, false, 0},
    {dropout_many, 321, 307, EP_OPTIMIZER_SGD, 0, false, 0},
    {layer_norm_vector, 0, 0, EP_OPTIMIZER_SGD, 0.1f, true, 0},
    {layer_norm_images, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {embedding, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {embedding, 0, 0, EP_OPTIMIZER_LION, 0, false, 1},
    {embedding_behind_numbers, 0, 0, EP_OPTIMIZER_ADAM, 0, false, 0},
    {residual_images, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {residual_input, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {residual_nested, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {dropouts, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
    {dropout_all, 0, 0, EP_OPTIMIZER_SGD, 0, false, 0},
};
_Static_assert(sizeof image_nets / sizeof image_nets[0] == EP_CASE_IMAGE_NETS,
               "as many as the header says");

ep_case *ep_case_create_image_net(int number) {
  ep_case *self = image_nets[number].create();
  ep_case_training training = usual(6000 + (uint64_t)number);
  if (image_nets[number].rows) {
    training.rows = image_nets[number].rows;
    training.batch_size = image_nets[number].batch_size;
  }
  training.weight_decay = image_nets[number].weight_decay;
  training.spare_biases = image_nets[number].spare_biases;
  training.frozen = image_nets[number].frozen;
  if (image_nets[number].optimizer != EP_OPTIMIZER_SGD) {
    training.lr = 0.002f;
    training.optimizer =
        (ep_optimizer){image_nets[number].optimizer, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-6f};
  }
  ep_case_finish(self, &training);
  return self;
}
