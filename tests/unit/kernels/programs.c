#include "tests/unit/kernels/programs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/random.h"

static void *allocate(int64_t count, size_t size) {
  void *memory = calloc(count > 0 ? (size_t)count : 1, size);
  if (!memory) {
    fprintf(stderr, "a test case found no memory\n");
    exit(2);
  }
  return memory;
}

/* Number `index` of stream `stream` of a case: uniform in [-1, 1). */
static float uniform(uint64_t seed, uint64_t stream, int64_t index) {
  ep_random4 words = ep_random(seed, EP_RANDOM_GENERATOR, 1000 + stream, (uint64_t)index);
  return 2 * ep_random_float(words.word[0]) - 1;
}

ep_case *ep_case_create(const char *name, int64_t in_features, ep_loss_type loss) {
  ep_case *self = allocate(1, sizeof *self);
  snprintf(self->name, sizeof self->name, "%s", name);
  self->program = (ep_program){.ops = self->ops,
                               .in_features = in_features,
                               .out_features = in_features,
                               .loss = loss,
                               .huber_delta = 0.7f,
                               .max_predict_rows = 16,
                               .precision = EP_PRECISION_FP32};
  return self;
}

static ep_op *next_op(ep_case *self, ep_layer_type type, int64_t out_features) {
  ep_program *program = &self->program;
  if (program->ops_count == EP_CASE_OPS) {
    fprintf(stderr, "%s: a test case has at most %d layers\n", self->name, EP_CASE_OPS);
    exit(2);
  }
  ep_op *op = &self->ops[program->ops_count++];
  *op = (ep_op){.type = type,
                .in_features = program->out_features,
                .out_features = out_features,
                .weight = -1,
                .bias = -1,
                .negative_slope = type == EP_LAYER_LEAKY_RELU ? 0.1f : 0};
  program->out_features = out_features;
  return op;
}

void ep_case_add_linear(ep_case *self, int64_t out_features, bool bias) {
  ep_op *op = next_op(self, EP_LAYER_LINEAR, out_features);
  op->weight = self->program.parameters;
  self->program.parameters += op->in_features * out_features;
  if (!bias) return;
  op->bias = self->program.parameters;
  self->program.parameters += out_features;
}

void ep_case_add(ep_case *self, ep_layer_type type) {
  next_op(self, type, self->program.out_features);
}

/* torch's default: U(-1/sqrt(in), 1/sqrt(in)) for weight and bias. */
static void make_parameters(ep_case *self, uint64_t seed) {
  self->parameters = allocate(self->program.parameters, sizeof(float));
  for (int i = 0; i < self->program.ops_count; i++) {
    const ep_op *op = &self->ops[i];
    if (op->weight < 0) continue;
    int64_t count = op->in_features * op->out_features + (op->bias < 0 ? 0 : op->out_features);
    float bound = 1 / sqrtf((float)op->in_features);
    for (int64_t j = op->weight; j < op->weight + count; j++) {
      self->parameters[j] = bound * uniform(seed, 10, j);
    }
  }
}

static void make_split(ep_case *self, ep_split split, int64_t rows, uint64_t seed) {
  const ep_program *program = &self->program;
  uint64_t stream = 20 + 2 * (uint64_t)split;
  int64_t columns = program->target_columns;
  self->rows[split] = rows;
  self->x[split] = allocate(rows * program->in_features, sizeof(float));
  for (int64_t i = 0; i < rows * program->in_features; i++) {
    self->x[split][i] = uniform(seed, stream, i);
  }
  self->y[split] = allocate(rows * columns, sizeof(float));
  float *numbers = self->y[split];
  int32_t *classes = self->y[split];
  for (int64_t i = 0; i < rows * columns; i++) {
    float number = uniform(seed, stream + 1, i);
    if (ep_loss_takes_classes(program->loss)) {
      classes[i] = (int32_t)((number + 1) / 2 * (float)program->out_features);
    } else {
      numbers[i] = ep_loss_is_classifier(program->loss) ? (float)(number > 0) : number;
    }
  }
}

void ep_case_finish(ep_case *self, const ep_case_training *training) {
  ep_program *program = &self->program;
  int64_t rows = training->rows;
  bool full = training->batch_size <= 0 || training->batch_size > rows;
  program->target_columns = ep_loss_takes_classes(program->loss) ? 1 : program->out_features;
  program->optimizer = training->optimizer;
  program->optimizer_floats = training->optimizer.momentum != 0 ? program->parameters : 0;
  program->train_rows = rows;
  program->batch_size = full ? rows : training->batch_size;
  program->shuffle = training->shuffle;
  program->seed = training->seed;
  make_parameters(self, training->seed);
  make_split(self, EP_SPLIT_TRAIN, rows, training->seed);
  make_split(self, EP_SPLIT_VALIDATION, 5, training->seed);
  make_split(self, EP_SPLIT_TEST, 37, training->seed);
  self->steps = training->steps;
  self->lr_constant = !training->lr_falls;
  self->lr = allocate(self->steps, sizeof(float));
  for (int64_t i = 0; i < self->steps; i++) {
    float fall = training->lr_falls ? 0.5f * (float)i / (float)self->steps : 0;
    self->lr[i] = training->lr * (1 - fall);
  }
}

void ep_case_destroy(ep_case *self) {
  if (!self) return;
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    free(self->x[split]);
    free(self->y[split]);
  }
  free(self->parameters);
  free(self->lr);
  free(self);
}

/* What must stand between a layer and a loss, so that the loss is defined: bce wants numbers in
 * (0, 1). */
static void add_head(ep_case *self, ep_layer_type last) {
  bool is_probability = last == EP_LAYER_SIGMOID || last == EP_LAYER_SOFTMAX;
  if (self->program.loss == EP_LOSS_BCE && !is_probability) ep_case_add(self, EP_LAYER_SIGMOID);
}

/* Every layer with every loss, as the last layer and with a linear one behind it. */
enum { VOCABULARY_CASES = EP_LAYER_COUNT * EP_LOSS_COUNT * 2 };

static ep_case *create_vocabulary_case(int number) {
  bool inside = number % 2;
  ep_loss_type loss = (ep_loss_type)(number / 2 % EP_LOSS_COUNT);
  ep_layer_type layer = (ep_layer_type)(number / 2 / EP_LOSS_COUNT);
  char name[128];
  snprintf(name, sizeof name, "%s %s, %s", ep_layer_type_name((int)layer),
           inside ? "inside" : "last", ep_loss_type_name((int)loss));
  ep_case *self = ep_case_create(name, 5, loss);
  ep_case_add_linear(self, 7, true);
  if (layer == EP_LAYER_LINEAR) {
    ep_case_add_linear(self, inside ? 4 : 3, true);
  } else {
    ep_case_add(self, layer);
  }
  if (inside) ep_case_add_linear(self, 3, true);
  add_head(self, inside ? EP_LAYER_LINEAR : layer);
  ep_case_finish(self, &(ep_case_training){.rows = 13,
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
enum { AWKWARD = 6, BATCHES = 4, SIZE_CASES = AWKWARD * AWKWARD * BATCHES };

static ep_case *create_size_case(int number) {
  int rows = awkward[number % AWKWARD];
  int width = awkward[number / AWKWARD % AWKWARD];
  int batch = batches[number / AWKWARD / AWKWARD];
  ep_loss_type loss = (ep_loss_type)(number * 5 % EP_LOSS_COUNT);
  ep_layer_type layer = (ep_layer_type)(1 + number % (EP_LAYER_COUNT - 1));
  char name[128];
  snprintf(name, sizeof name, "rows %d, width %d, batch %d, %s, %s", rows, width, batch,
           ep_layer_type_name((int)layer), ep_loss_type_name((int)loss));
  ep_case *self = ep_case_create(name, awkward[(number + 1) % AWKWARD], loss);
  ep_case_add_linear(self, width, true);
  ep_case_add(self, layer);
  ep_case_add_linear(self, awkward[number / 2 % AWKWARD], number % 5 != 0);
  add_head(self, EP_LAYER_LINEAR);
  /* Few steps: a unit that one executor's rounding carries over a relu's kink a step before
   * another's is a difference that no tolerance allows for. */
  ep_case_finish(self, &(ep_case_training){.rows = rows,
                                           .batch_size = batch,
                                           .shuffle = number % 2 == 0,
                                           .seed = 1000 + (uint64_t)number,
                                           .steps = 6,
                                           .lr = 0.01f,
                                           .optimizer = {.momentum = number % 3 ? 0 : 0.5f}});
  return self;
}

/* Every option of the optimizer, full batch and mini-batches. */
static const ep_optimizer optimizers[] = {
    {EP_OPTIMIZER_SGD, 0, 0, false},    {EP_OPTIMIZER_SGD, 0, 0.1f, false},
    {EP_OPTIMIZER_SGD, 0.9f, 0, false}, {EP_OPTIMIZER_SGD, 0.9f, 0.1f, false},
    {EP_OPTIMIZER_SGD, 0.9f, 0, true},  {EP_OPTIMIZER_SGD, 0.9f, 0.1f, true},
};
enum { OPTIMIZERS = 6, OPTIMIZER_CASES = OPTIMIZERS * BATCHES };

static ep_case *create_optimizer_case(int number) {
  const ep_optimizer *optimizer = &optimizers[number % OPTIMIZERS];
  int batch = batches[number / OPTIMIZERS];
  char name[128];
  snprintf(name, sizeof name, "momentum %g%s, weight decay %g, batch %d", optimizer->momentum,
           optimizer->nesterov ? " nesterov" : "", optimizer->weight_decay, batch);
  ep_case *self = ep_case_create(name, 6, EP_LOSS_MSE);
  ep_case_add_linear(self, 8, true);
  ep_case_add(self, EP_LAYER_TANH);
  ep_case_add_linear(self, 2, true);
  ep_case_finish(self, &(ep_case_training){.rows = 45,
                                           .batch_size = batch,
                                           .shuffle = true,
                                           .seed = 2000 + (uint64_t)number,
                                           .steps = 60,
                                           .lr = 0.05f,
                                           .optimizer = *optimizer});
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
enum { NETS = 8 };

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

int ep_case_count(void) {
  return VOCABULARY_CASES + SIZE_CASES + OPTIMIZER_CASES + NETS;
}

ep_case *ep_case_create_number(int number) {
  if (number < VOCABULARY_CASES) return create_vocabulary_case(number);
  number -= VOCABULARY_CASES;
  if (number < SIZE_CASES) return create_size_case(number);
  number -= SIZE_CASES;
  if (number < OPTIMIZER_CASES) return create_optimizer_case(number);
  return create_net_case(number - OPTIMIZER_CASES);
}
