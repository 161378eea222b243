/* The list of programs.h. Few steps each: a unit that one executor's rounding carries over a relu's
 * kink a step before another's is a difference that no tolerance allows for. */
#include <stdio.h>
#include <string.h>

#include "kernels/formulas/activations.h"
#include "tests/unit/kernels/cases_graphs.h"
#include "tests/unit/kernels/cases_images.h"
#include "tests/unit/kernels/programs.h"

/* What must stand between a layer and a loss, so that the loss is defined: bce wants numbers in
 * (0, 1). */
static void add_head(ep_case *self, ep_layer_type last) {
  bool is_probability = last == EP_LAYER_SIGMOID || last == EP_LAYER_SOFTMAX;
  if (self->program.loss == EP_LOSS_BCE && !is_probability) ep_case_add(self, EP_LAYER_SIGMOID);
}

static bool takes_images(ep_layer_type layer) {
  switch (layer) {
  case EP_LAYER_FLATTEN:
  case EP_LAYER_CONV2D:
  case EP_LAYER_MAX_POOL2D:
  case EP_LAYER_AVG_POOL2D:
  case EP_LAYER_ADAPTIVE_AVG_POOL2D:
  case EP_LAYER_DROPOUT2D:
  case EP_LAYER_UNFOLD:
  case EP_LAYER_INSTANCE_NORM: return true;
  default: return false;
  }
}

/* One layer of the vocabulary, behind others that want its gradient. */
static void add_layer(ep_case *self, ep_layer_type layer) {
  const ep_case_window three = {.kernel = {3, 3}, .padding = {1, 1}};
  const ep_case_window two = {.kernel = {2, 2}, .stride = {2, 1}};
  switch (layer) {
  case EP_LAYER_LINEAR: ep_case_add_linear(self, 4, true); break;
  case EP_LAYER_CONV2D: ep_case_add_conv2d(self, 2, &three, true); break;
  case EP_LAYER_MAX_POOL2D:
  case EP_LAYER_AVG_POOL2D: ep_case_add_pool(self, layer, &two); break;
  case EP_LAYER_ADAPTIVE_AVG_POOL2D: ep_case_add_adaptive_pool(self, 2, 3); break;
  case EP_LAYER_DROPOUT:
  case EP_LAYER_DROPOUT2D: ep_case_add_dropout(self, layer, 0.4f); break;
  case EP_LAYER_BATCH_NORM:
  case EP_LAYER_LAYER_NORM:
  case EP_LAYER_INSTANCE_NORM: ep_case_add_norm(self, layer, true); break;
  case EP_LAYER_EMBEDDING: ep_case_add_embedding(self, 1, 9, 2); break;
  case EP_LAYER_MUL:
  case EP_LAYER_CONCAT: /* with what is two layers before */
    ep_case_add(self, EP_LAYER_TANH);
    ep_case_add(self, EP_LAYER_SIN);
    ep_case_add_join(self, layer, (int[]){ep_case_last(self) + 1, 1}, 2);
    break;
  case EP_LAYER_SLICE: ep_case_add_slice(self, 0, 1, 3); break;
  case EP_LAYER_RESHAPE: ep_case_add_reshape(self, (ep_shape){1, 7, 1}); break;
  case EP_LAYER_PERMUTE: /* of what was reshaped; then back */
    ep_case_add_linear(self, 6, true);
    ep_case_add_reshape(self, (ep_shape){2, 1, 3});
    ep_case_add_permute(self, (int[]){2, 0, 1});
    break;
  case EP_LAYER_CONV1D:
    ep_case_add_linear(self, 8, true);
    ep_case_add_reshape(self, (ep_shape){2, 1, 4});
    ep_case_add_conv1d(self, 3, 2, 2, true);
    break;
  case EP_LAYER_UNFOLD: ep_case_add_unfold(self, &two); break;
  case EP_LAYER_GRU:
    ep_case_add_linear(self, 8, true);
    ep_case_add_reshape(self, (ep_shape){2, 1, 4});
    ep_case_add_gru(self, 3, true);
    break;
  case EP_LAYER_ADD:
  case EP_LAYER_RESIDUAL:
    ep_case_add(self, EP_LAYER_TANH);
    ep_case_add_linear(self, 7, true);
    ep_case_add_residual(self, 0);
    break;
  default: ep_case_add(self, layer);
  }
}

/* Every layer with every loss, as the last layer and with a linear one behind it. */
static ep_case *create_vocabulary_case(int number) {
  bool inside = number % 2, images;
  ep_loss_type loss = (ep_loss_type)(number / 2 % EP_LOSS_COUNT);
  ep_layer_type layer = (ep_layer_type)(number / 2 / EP_LOSS_COUNT);
  char name[128];
  snprintf(name, sizeof name, "%s %s, %s", ep_layer_type_name((int)layer),
           inside ? "inside" : "last", ep_loss_type_name((int)loss));
  images = takes_images(layer);
  ep_case *self = ep_case_create_image(
      name, images ? (ep_shape){2, 5, 4} : (ep_shape){layer == EP_LAYER_EMBEDDING ? 3 : 5, 1, 1},
      loss);
  if (images) {
    ep_case_add_conv2d(self, 2, &(ep_case_window){.kernel = {2, 2}}, true);
  } else if (layer != EP_LAYER_EMBEDDING) {
    ep_case_add_linear(self, 7, true);
  }
  add_layer(self, layer);
  if (inside) ep_case_add_linear(self, 3, true);
  add_head(self, inside ? EP_LAYER_LINEAR : layer);
  ep_case_finish(self, &(ep_case_training){.rows = 15, /* the last batch has 3 */
                                           .batch_size = 4,
                                           .shuffle = true,
                                           .seed = 100 + (uint64_t)number,
                                           .steps = 11,
                                           .lr = 0.1f,
                                           .lr_falls = number % 3 == 0});
  return self;
}

/* Awkward rows, widths and batches, with the layers and losses taking turns. */
static const int awkward[] = {1, 2, 31, 32, 33, 97};
static const int batches[] = {0, 1, 7, 32};
#define CODE(code, ...) EP_LAYER_##code,
static const ep_layer_type between[] = {EP_ACTIVATIONS(CODE) EP_LAYER_SOFTMAX, EP_LAYER_LOG_SOFTMAX,
                                        EP_LAYER_DROPOUT};
#undef CODE
enum {
  AWKWARD = 6,
  BATCHES = 4,
  BETWEEN = sizeof between / sizeof between[0],
  SIZE_CASES = AWKWARD * AWKWARD * BATCHES
};

static ep_case *create_size_case(int number) {
  int rows = awkward[number % AWKWARD];
  int width = awkward[number / AWKWARD % AWKWARD];
  int batch = batches[number / AWKWARD / AWKWARD];
  ep_loss_type loss = (ep_loss_type)(number * 5 % EP_LOSS_COUNT);
  ep_layer_type layer = between[(number + number / BETWEEN) % BETWEEN];
  char name[128];
  snprintf(name, sizeof name, "rows %d, width %d, batch %d, %s, %s", rows, width, batch,
           ep_layer_type_name((int)layer), ep_loss_type_name((int)loss));
  ep_case *self = ep_case_create(name, awkward[(number + 1) % AWKWARD], loss);
  ep_case_add_linear(self, width, true);
  add_layer(self, layer);
  ep_case_add_linear(self, awkward[number / 2 % AWKWARD], number % 5 != 0);
  add_head(self, EP_LAYER_LINEAR);
  ep_case_finish(self, &(ep_case_training){.rows = rows,
                                           .batch_size = batch,
                                           .shuffle = number % 2 == 0,
                                           .seed = 1000 + (uint64_t)number,
                                           .steps = 6,
                                           .lr = 0.01f,
                                           .optimizer = {.momentum = number % 3 ? 0 : 0.5f}});
  return self;
}

/* Every option of the optimizers, full batch and mini-batches. */
typedef struct {
  const char *name;
  ep_optimizer optimizer;
  float lr, weight_decay;
  bool spare_biases;
  uint32_t frozen;
} optimizer_row;

#define SGD EP_OPTIMIZER_SGD
#define ADAM .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f
#define RMSPROP EP_OPTIMIZER_RMSPROP, .alpha = 0.9f, .eps = 1e-3f
#define LION EP_OPTIMIZER_LION, .beta1 = 0.9f, .beta2 = 0.99f
static const optimizer_row optimizers[] = {
    {"sgd", {SGD}, 0.05f, 0, false, 0},
    {"sgd decay", {SGD}, 0.05f, 0.1f, false, 0},
    {"sgd momentum", {SGD, .momentum = 0.9f}, 0.05f, 0, false, 0},
    {"sgd momentum decay", {SGD, .momentum = 0.9f}, 0.05f, 0.1f, false, 0},
    {"sgd nesterov", {SGD, .momentum = 0.9f, .nesterov = true}, 0.05f, 0, false, 0},
    {"sgd nesterov decay", {SGD, .momentum = 0.9f, .nesterov = true}, 0.05f, 0.1f, false, 0},
    {"sgd clip norm", {SGD, .clip_norm = 0.2f}, 0.05f, 0, false, 0},
    {"sgd clip value", {SGD, .clip_value = 0.03f}, 0.05f, 0, false, 0},
    {"sgd clip both, momentum",
     {SGD, .momentum = 0.5f, .clip_norm = 0.2f, .clip_value = 0.05f},
     0.05f,
     0.1f,
     true,
     0},
    {"sgd clip norm, frozen", {SGD, .clip_norm = 0.2f}, 0.05f, 0, false, 1},
    {"sgd all frozen", {SGD, .momentum = 0.9f}, 0.05f, 0.1f, false, 5},
    {"adam", {EP_OPTIMIZER_ADAM, ADAM}, 0.01f, 0, false, 0},
    {"adam decay", {EP_OPTIMIZER_ADAM, ADAM}, 0.01f, 0.1f, false, 0},
    {"adam betas, clip norm",
     {EP_OPTIMIZER_ADAM, .beta1 = 0.5f, .beta2 = 0.9f, .eps = 1e-3f, .clip_norm = 0.3f},
     0.01f,
     0,
     false,
     0},
    {"adamw", {EP_OPTIMIZER_ADAMW, ADAM}, 0.01f, 0.1f, false, 0},
    {"adamw sparing biases", {EP_OPTIMIZER_ADAMW, ADAM}, 0.01f, 0.1f, true, 0},
    {"adamw frozen", {EP_OPTIMIZER_ADAMW, ADAM}, 0.01f, 0.1f, false, 4},
    {"rmsprop", {RMSPROP}, 0.005f, 0, false, 0},
    {"rmsprop decay", {RMSPROP}, 0.005f, 0.1f, false, 0},
    {"rmsprop momentum", {RMSPROP, .momentum = 0.8f}, 0.005f, 0, false, 0},
    {"rmsprop centered", {RMSPROP, .centered = true}, 0.005f, 0, false, 0},
    {"rmsprop centered momentum decay",
     {RMSPROP, .momentum = 0.8f, .centered = true},
     0.005f,
     0.1f,
     true,
     0},
    {"adagrad", {EP_OPTIMIZER_ADAGRAD, .eps = 1e-10f}, 0.02f, 0, false, 0},
    {"adagrad decays", {EP_OPTIMIZER_ADAGRAD, .eps = 1e-10f, .decay = 0.1f}, 0.02f, 0.1f, false, 0},
    {"adamax", {EP_OPTIMIZER_ADAMAX, ADAM}, 0.005f, 0, false, 0},
    {"adamax decay, frozen", {EP_OPTIMIZER_ADAMAX, ADAM}, 0.005f, 0.1f, true, 1},
    {"nadam", {EP_OPTIMIZER_NADAM, ADAM, .decay = 0.004f}, 0.005f, 0, false, 0},
    {"nadam decay, frozen", {EP_OPTIMIZER_NADAM, ADAM, .decay = 0.5f}, 0.005f, 0.1f, true, 1},
    {"lion", {LION}, 0.002f, 0, false, 0},
    {"lion decay, frozen", {LION}, 0.002f, 0.5f, true, 1},
};
enum {
  OPTIMIZERS = sizeof optimizers / sizeof optimizers[0],
  OPTIMIZER_CASES = OPTIMIZERS * BATCHES
};

static ep_case *create_optimizer_case(int number) {
  const optimizer_row *row = &optimizers[number % OPTIMIZERS];
  int batch = batches[number / OPTIMIZERS];
  char name[128];
  snprintf(name, sizeof name, "%s, batch %d", row->name, batch);
  ep_case *self = ep_case_create(name, 6, EP_LOSS_MSE);
  ep_case_add_linear(self, 8, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 2, true);
  ep_case_finish(self, &(ep_case_training){.rows = 45,
                                           .batch_size = batch,
                                           .shuffle = true,
                                           .seed = 2000 + (uint64_t)number,
                                           .steps = row->optimizer.type == SGD ? 60 : 30,
                                           .lr = row->lr,
                                           .optimizer = row->optimizer,
                                           .weight_decay = row->weight_decay,
                                           .spare_biases = row->spare_biases,
                                           .frozen = row->frozen});
  return self;
}

/* The nets that people bring: a linear and a logistic regression, small and deep MLPs. */
typedef struct {
  const char *name;
  int64_t in_features;
  int64_t widths[12]; /* ends with 0 */
  ep_layer_type between;
  ep_loss_type loss;
  int64_t rows, batch_size;
} net;
static const net nets[] = {
    {"linear regression", 6, {1}, EP_LAYER_RELU, EP_LOSS_MSE, 321, 0},
    {"logistic regression", 19, {1}, EP_LAYER_RELU, EP_LOSS_BCE_WITH_LOGITS, 353, 0},
    {"softmax regression", 11, {10}, EP_LAYER_RELU, EP_LOSS_CROSS_ENTROPY, 200, 32},
    {"6-6-1", 6, {6, 1}, EP_LAYER_RELU, EP_LOSS_MSE, 321, 0},
    {"6-6-6-1", 6, {6, 6, 1}, EP_LAYER_RELU, EP_LOSS_MSE, 321, 0},
    {"xor 2-4-1", 2, {4, 1}, EP_LAYER_TANH, EP_LOSS_BCE_WITH_LOGITS, 4, 0},
    {"disc 2-4-…-256-2", 2, {4, 8, 16, 32, 64, 128, 256, 2}, EP_LAYER_RELU, EP_LOSS_MSE, 250, 100},
    {"deep and narrow", 3, {5, 4, 3, 2, 3, 4, 5, 2}, EP_LAYER_TANH, EP_LOSS_HUBER, 50, 9},
};
enum { NETS = sizeof nets / sizeof nets[0] };

static ep_case *create_net_case(int number) {
  const net *row = &nets[number];
  ep_case *self = ep_case_create(row->name, row->in_features, row->loss);
  for (int i = 0; row->widths[i]; i++) {
    if (i > 0) ep_case_add(self, row->between);
    ep_case_add_linear(self, row->widths[i], true);
  }
  ep_case_finish(self, &(ep_case_training){.rows = row->rows,
                                           .batch_size = row->batch_size,
                                           .shuffle = true,
                                           .seed = 3000 + (uint64_t)number,
                                           .steps = 20,
                                           .lr = 0.05f});
  return self;
}

/* What a classifier's loss can be told. */
static const struct {
  const char *name;
  ep_loss_type loss;
  float smoothing;
  bool weights;
} class_losses[] = {
    {"smoothing", EP_LOSS_CROSS_ENTROPY, 0.1f, false},
    {"class weights", EP_LOSS_CROSS_ENTROPY, 0, true},
    {"smoothing and class weights", EP_LOSS_CROSS_ENTROPY, 0.2f, true},
    {"nll class weights", EP_LOSS_NLL, 0, true},
    {"focal class weights", EP_LOSS_FOCAL, 0, true},
};
enum {
  CLASS_LOSSES = sizeof class_losses / sizeof class_losses[0],
  CLASS_LOSS_CASES = CLASS_LOSSES * BATCHES
};

static ep_case *create_class_loss_case(int number) {
  int which = number % CLASS_LOSSES, batch = batches[number / CLASS_LOSSES];
  char name[128];
  snprintf(name, sizeof name, "%s, batch %d", class_losses[which].name, batch);
  ep_case *self = ep_case_create(name, 5, class_losses[which].loss);
  ep_case_add_linear(self, 8, true);
  ep_case_add(self, EP_LAYER_SILU);
  ep_case_add_linear(self, 7, true);
  if (class_losses[which].loss == EP_LOSS_NLL) ep_case_add(self, EP_LAYER_LOG_SOFTMAX);
  self->program.label_smoothing = class_losses[which].smoothing;
  if (class_losses[which].weights) ep_case_weigh_classes(self);
  ep_case_finish(self, &(ep_case_training){.rows = 45,
                                           .batch_size = batch,
                                           .shuffle = true,
                                           .seed = 4000 + (uint64_t)number,
                                           .steps = 20,
                                           .lr = 0.05f});
  return self;
}

/* The list's chapters, in order. */
static const struct {
  int count;
  ep_case *(*create)(int number);
} chapters[] = {
    {EP_CASE_VOCABULARY, create_vocabulary_case},   {SIZE_CASES, create_size_case},
    {OPTIMIZER_CASES, create_optimizer_case},       {NETS, create_net_case},
    {CLASS_LOSS_CASES, create_class_loss_case},     {EP_CASE_WINDOWS, ep_case_create_window},
    {EP_CASE_IMAGE_NETS, ep_case_create_image_net}, {EP_CASE_GRAPHS, ep_case_create_graph},
};
enum { CHAPTERS = sizeof chapters / sizeof chapters[0] };

int ep_case_count(void) {
  int count = 0;
  for (int i = 0; i < CHAPTERS; i++) count += chapters[i].count;
  return count;
}

ep_case *ep_case_create_number(int number) {
  int chapter = 0;
  for (; number >= chapters[chapter].count; chapter++) number -= chapters[chapter].count;
  return chapters[chapter].create(number);
}
