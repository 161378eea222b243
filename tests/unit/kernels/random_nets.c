#include "tests/unit/kernels/random_nets.h"

#include <math.h>
#include <stdio.h>

#include "kernels/formulas/activations.h"
#include "kernels/formulas/losses.h"
#include "kernels/random.h"

typedef struct {
  uint64_t number, drawn;
} source;

/* 0 … count - 1. */
static int below(source *from, int count) {
  const ep_random4 words = ep_random(from->number, EP_RANDOM_GENERATOR, 7, from->drawn++);
  return (int)(words.word[0] % (uint32_t)count);
}

/* 1 … most, small ones as often as large ones. */
static int width(source *from, int most) {
  const double share = (double)below(from, 1000) / 1000;
  const int of = (int)exp(share * log((double)most + 1));
  return of < most ? of : most;
}

#define TYPE(code, ...) EP_LAYER_##code,
static const ep_layer_type activations[] = {EP_ACTIVATIONS(TYPE)};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

enum { NORM_LEAST = 4 }; /* numbers: of two, the normalized ones are 1 and -1, whatever they were */

static void tail_add(ep_case *self, source *from, int features, int batch) {
  const int kind = below(from, 6);
  const bool affine = below(from, 4) != 0;
  if (kind == 0 && batch >= NORM_LEAST) ep_case_add_norm(self, EP_LAYER_BATCH_NORM, affine);
  if (kind == 1 && features >= NORM_LEAST) ep_case_add_norm(self, EP_LAYER_LAYER_NORM, affine);
  if (below(from, 8) != 0) ep_case_add(self, activations[below(from, ACTIVATIONS)]);
  if (below(from, 4) == 0) ep_case_add_dropout(self, EP_LAYER_DROPOUT, 0.3f);
}

/* Whether tail_add begins with one: a bias in front of it would be trained by rounding alone. */
static bool is_batch_norm_next(source from, int batch) {
  return below(&from, 6) == 0 && batch >= NORM_LEAST;
}

/* A case that begins with an embedding, behind up to two numbers. What is drawn here is drawn
 * apart, so that what follows is the same without. */
static ep_case *embedding_create(const char *name, source from, int words, int batch,
                                 ep_loss_type loss) {
  const int numbers = below(&from, 3), columns = width(&from, 6), dimension = width(&from, 40);
  ep_case *self = ep_case_create(name, numbers + columns, loss);
  ep_case_add_embedding(self, numbers, width(&from, words), dimension);
  if (below(&from, 2) == 0) tail_add(self, &from, numbers + columns * dimension, batch);
  return self;
}

/* The sign of a gradient that rounding made is as good as any: lion needs a precise one. */
static ep_optimizer optimizer_of(source *from, ep_precision precision) {
  const ep_optimizer_type type = (ep_optimizer_type)below(from, EP_OPTIMIZER_COUNT);
  const bool is_lion = type == EP_OPTIMIZER_LION && precision != EP_PRECISION_FP32;
  ep_optimizer of = {.type = is_lion ? EP_OPTIMIZER_ADAM : type,
                     .beta1 = 0.9f,
                     .beta2 = 0.99f,
                     .alpha = 0.95f,
                     .eps = 1e-2f,
                     .decay = 0.004f};
  if (below(from, 2)) of.momentum = of.type == EP_OPTIMIZER_SGD ? 0.9f : 0.5f;
  of.nesterov = of.momentum != 0 && of.type == EP_OPTIMIZER_SGD && below(from, 2);
  of.centered = of.type == EP_OPTIMIZER_RMSPROP && below(from, 2);
  if (below(from, 6) == 0) of.clip_value = 0.01f;
  return of;
}

ep_case *ep_random_net_create(uint64_t number, const ep_random_net_limits *limits,
                              ep_precision precision) {
  source from = {number, 0};
  char name[64];
  snprintf(name, sizeof name, "random net %llu", (unsigned long long)number);
  static const ep_loss_type losses[] = {
      EP_LOSS_MSE,           EP_LOSS_CROSS_ENTROPY,   EP_LOSS_HUBER, EP_LOSS_MSE,
      EP_LOSS_CROSS_ENTROPY, EP_LOSS_BCE_WITH_LOGITS, EP_LOSS_FOCAL};
  const ep_loss_type loss = losses[below(&from, (int)(sizeof losses / sizeof *losses))];
  const int inputs = width(&from, limits->widest);
  const int layers = 1 + below(&from, limits->layers_max), batch = width(&from, limits->batch_max);
  source apart = {~number, 0};
  ep_case *self = limits->words > 0 && below(&apart, 2) == 0
                      ? embedding_create(name, apart, limits->words, batch, loss)
                      : ep_case_create(name, inputs, loss);
  for (int l = 0; l < layers - 1; l++) {
    const int features = width(&from, limits->widest);
    const bool bias = below(&from, 5) != 0;
    ep_case_add_linear(self, features, bias && !is_batch_norm_next(from, batch));
    tail_add(self, &from, features, batch);
    if (below(&from, 8) == 0) tail_add(self, &from, features, batch);
  }
  const int outputs = width(&from, limits->widest);
  ep_case_add_linear(self, outputs > 1 || !ep_loss_takes_classes(loss) ? outputs : 2, true);
  if (below(&from, 6) == 0) ep_case_add(self, EP_LAYER_TANH);
  self->program.precision = precision;
  if (loss == EP_LOSS_CROSS_ENTROPY && below(&from, 3) == 0) {
    self->program.label_smoothing = 0.1f;
  } else if (loss == EP_LOSS_CROSS_ENTROPY && below(&apart, 3) == 0) {
    ep_case_add(self, EP_LAYER_LOG_SOFTMAX);
    self->program.loss = EP_LOSS_NLL;
  }
  int rows = batch + below(&from, 3 * batch + 1);
  if (rows % batch < NORM_LEAST) rows -= rows % batch;
  ep_case_finish(self, &(ep_case_training){.rows = rows,
                                           .batch_size = batch,
                                           .shuffle = below(&from, 4) != 0,
                                           .seed = number,
                                           .steps = limits->steps,
                                           .only_planned = limits->only_planned,
                                           .lr = 0.02f,
                                           .lr_falls = below(&from, 3) == 0,
                                           .optimizer = optimizer_of(&from, precision),
                                           .weight_decay = below(&from, 3) == 0 ? 0.01f : 0,
                                           .spare_biases = below(&from, 2) != 0,
                                           .frozen = below(&from, 8) == 0 ? 1u : 0u});
  return self;
}

double ep_random_net_tolerance(const ep_subject *reference, const ep_case *test, FILE *log) {
  if (test->program.precision == EP_PRECISION_FP32)
    return ep_case_tolerance(reference, test, 0x1p-20f, 20, 5e-4, log);
  return ep_case_tolerance(reference, test, 0x1p-10f, 80, 1e-2, log);
}
