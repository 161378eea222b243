#include "tests/gpu/population.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/random.h"

enum { MEMBERS = 7, PREDICTED = 3, STEPS_MAX = 40 };

/* --- what is tried -------------------------------------------------------------------------- */

/* A shape, and how its members are trained. */
typedef struct {
  const char *name;
  int64_t in_features;
  int64_t widths[6];           /* ends with 0 */
  ep_layer_type between, last; /* last: behind the output; EP_LAYER_LINEAR: none */
  bool drops_inputs;           /* by `dropout`, as behind each hidden layer */
  float dropout;               /* 0: none */
  ep_loss_type loss;
  ep_precision precision;
  ep_case_training training;
} shape;

static const shape shapes[] = {
    {.name = "a table, full batch",
     .in_features = 6,
     .widths = {6, 1},
     .between = EP_LAYER_RELU,
     .training = {.rows = 321, .steps = 30, .lr = 0.01f}},
    {.name = "exclusive or",
     .in_features = 2,
     .widths = {2, 1},
     .between = EP_LAYER_TANH,
     .loss = EP_LOSS_BCE_WITH_LOGITS,
     .training = {.rows = 4, .steps = 40, .lr = 0.5f, .optimizer = {.momentum = 0.9f}}},
    {.name = "one weight",
     .in_features = 1,
     .widths = {1},
     .training = {.rows = 3, .batch_size = 2, .shuffle = true, .steps = 9, .lr = 0.1f}},
    {.name = "batches with a small last one, shuffled, dropout",
     .in_features = 5,
     .widths = {6, 3},
     .between = EP_LAYER_SIGMOID,
     .dropout = 0.3f,
     .loss = EP_LOSS_CROSS_ENTROPY,
     .training = {.rows = 101,
                  .batch_size = 33,
                  .shuffle = true,
                  .steps = 20,
                  .lr = 0.1f,
                  .weight_decay = 0.01f,
                  .spare_biases = true,
                  .optimizer = {.momentum = 0.5f, .nesterov = true}}},
    {.name = "adam, norms clipped",
     .in_features = 4,
     .widths = {5, 4, 2},
     .between = EP_LAYER_GELU,
     .loss = EP_LOSS_HUBER,
     .training = {.rows = 250,
                  .batch_size = 100,
                  .shuffle = true,
                  .steps = 25,
                  .lr = 0.01f,
                  .lr_falls = true,
                  .optimizer = {.type = EP_OPTIMIZER_ADAM,
                                .beta1 = 0.9f,
                                .beta2 = 0.99f,
                                .eps = 1e-2f,
                                .clip_norm = 0.5f}}},
    {.name = "a layer frozen, gradients cut",
     .in_features = 3,
     .widths = {4, 4, 2},
     .between = EP_LAYER_LEAKY_RELU,
     .dropout = 0.5f,
     .training = {.rows = 70,
                  .steps = 12,
                  .lr = 0.1f,
                  .frozen = 1,
                  .optimizer = {.type = EP_OPTIMIZER_RMSPROP,
                                .alpha = 0.9f,
                                .eps = 1e-2f,
                                .clip_value = 0.05f}}},
    {.name = "more rows than shared memory has room for",
     .in_features = 7,
     .widths = {2},
     .loss = EP_LOSS_FOCAL,
     .training = {.rows = 9001, .batch_size = 1500, .shuffle = true, .steps = 5, .lr = 0.1f}},
    {.name = "a block each, batches of 32",
     .in_features = 13,
     .widths = {32, 16, 3},
     .between = EP_LAYER_RELU,
     .loss = EP_LOSS_CROSS_ENTROPY,
     .training = {.rows = 128, .batch_size = 32, .steps = 9, .lr = 0.05f}},
    {.name = "a block each, inputs dropped, momentum",
     .in_features = 30,
     .widths = {41, 9},
     .between = EP_LAYER_TANH,
     .last = EP_LAYER_SIGMOID,
     .drops_inputs = true,
     .dropout = 0.4f,
     .training = {.rows = 95,
                  .batch_size = 30,
                  .shuffle = true,
                  .steps = 11,
                  .lr = 0.05f,
                  .weight_decay = 0.02f,
                  .spare_biases = true,
                  .optimizer = {.momentum = 0.8f, .nesterov = true}}},
    {.name = "a block each, batches in parts, norms clipped, nadam",
     .in_features = 17,
     .widths = {24, 33, 5},
     .between = EP_LAYER_SILU,
     .dropout = 0.2f,
     .loss = EP_LOSS_CROSS_ENTROPY,
     .training = {.rows = 411,
                  .batch_size = 150,
                  .shuffle = true,
                  .steps = 10,
                  .lr = 0.01f,
                  .lr_falls = true,
                  .optimizer = {.type = EP_OPTIMIZER_NADAM,
                                .beta1 = 0.9f,
                                .beta2 = 0.95f,
                                .eps = 1e-2f,
                                .decay = 0.01f,
                                .clip_norm = 0.3f}}},
    {.name = "a block each, all rows, the first layers frozen",
     .in_features = 9,
     .widths = {20, 20, 20, 1},
     .between = EP_LAYER_RELU,
     .loss = EP_LOSS_BCE_WITH_LOGITS,
     .training = {.rows = 333,
                  .steps = 10,
                  .lr = 0.05f,
                  .frozen = 2,
                  .optimizer = {.momentum = 0.5f, .clip_value = 0.01f}}},
    {.name = "a block each, more state than shared memory has room for",
     .in_features = 90,
     .widths = {192, 70, 2},
     .between = EP_LAYER_GELU,
     .training =
         {.rows = 70,
          .batch_size = 40,
          .shuffle = true,
          .steps = 6,
          .lr = 0.01f,
          .optimizer = {.type = EP_OPTIMIZER_ADAMW, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-2f}}},
    {.name = "a block each, activations and rows in device memory",
     .in_features = 784,
     .widths = {64, 10},
     .between = EP_LAYER_RELU,
     .loss = EP_LOSS_CROSS_ENTROPY,
     .precision = EP_PRECISION_TF32,
     .training = {.rows = 230, .batch_size = 100, .shuffle = true, .steps = 6, .lr = 0.02f}},
    {.name = "a block each, the same, with momentum, in float32",
     .in_features = 752,
     .widths = {63, 11},
     .between = EP_LAYER_RELU,
     .dropout = 0.3f,
     .training =
         {.rows = 155, .batch_size = 77, .steps = 5, .lr = 0.02f, .optimizer = {.momentum = 0.9f}}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, CHANCES = 24 };

/* A number below `most` of a case by chance. */
static int chance(int number, int what, int most) {
  ep_random4 words = ep_random(77, EP_RANDOM_GENERATOR, (uint64_t)number, (uint64_t)what);
  return (int)(words.word[0] % (unsigned)most);
}

static ep_optimizer optimizer_by_chance(int number) {
  ep_optimizer optimizer = {.type = (ep_optimizer_type)chance(number, 20, EP_OPTIMIZER_COUNT),
                            .beta1 = 0.9f,
                            .beta2 = 0.95f,
                            .alpha = 0.9f,
                            .eps = 1e-2f,
                            .decay = 0.01f};
  if (chance(number, 21, 2) == 0) optimizer.type = EP_OPTIMIZER_SGD;
  if (chance(number, 22, 2) == 0) optimizer.momentum = 0.7f;
  optimizer.nesterov = optimizer.type == EP_OPTIMIZER_SGD && chance(number, 23, 3) == 0;
  optimizer.centered = chance(number, 24, 3) == 0;
  if (chance(number, 25, 4) == 0) optimizer.clip_value = 0.02f;
  return optimizer;
}

static shape shape_by_chance(int number) {
  static const ep_layer_type between[] = {EP_LAYER_RELU, EP_LAYER_TANH, EP_LAYER_ELU,
                                          EP_LAYER_SOFTPLUS, EP_LAYER_SILU};
  const int hidden = chance(number, 0, 3), out = 1 + chance(number, 1, 4);
  const bool small = number % 3 != 0; /* for a few lanes */
  shape self = {.name = "by chance", .in_features = 1 + chance(number, 2, small ? 6 : 90)};
  for (int i = 0; i < hidden; i++) self.widths[i] = 1 + chance(number, 3 + i, small ? 5 : 70);
  self.widths[hidden] = out;
  self.between = between[chance(number, 8, 5)];
  self.dropout = chance(number, 9, 3) == 0 ? 0.25f : 0;
  self.loss = (ep_loss_type)chance(number, 10, EP_LOSS_COUNT);
  if (self.loss == EP_LOSS_BCE) self.loss = EP_LOSS_BCE_WITH_LOGITS; /* bce wants 0 to 1 */
  self.precision = !small && chance(number, 11, 2) ? EP_PRECISION_TF32 : EP_PRECISION_FP32;
  self.training = (ep_case_training){.rows = 1 + chance(number, 12, 150),
                                     .batch_size = chance(number, 13, 2) * 37,
                                     .shuffle = chance(number, 14, 2),
                                     .steps = 3 + chance(number, 15, STEPS_MAX - 3),
                                     .lr = 0.02f,
                                     .lr_falls = chance(number, 16, 2),
                                     .optimizer = optimizer_by_chance(number),
                                     .weight_decay = chance(number, 17, 2) ? 0.01f : 0};
  return self;
}

/* --- members -------------------------------------------------------------------------------- */

/* The case of one of the members: another seed and other numbers, on the rows of member 0. */
static ep_case *member_create(const shape *of, int i) {
  ep_case_training training = of->training;
  ep_case *self = ep_case_create(of->name, of->in_features, of->loss);
  if (of->drops_inputs) ep_case_add_dropout(self, EP_LAYER_DROPOUT, of->dropout / 2);
  for (int w = 0; of->widths[w] > 0; w++) {
    if (w > 0) {
      ep_case_add(self, of->between);
      if (of->dropout > 0)
        ep_case_add_dropout(self, EP_LAYER_DROPOUT, of->dropout / (float)(1 + i));
    }
    ep_case_add_linear(self, of->widths[w], true);
  }
  if (of->last != EP_LAYER_LINEAR) ep_case_add(self, of->last);
  const float scale = 1 - 0.1f * (float)i;
  training.weight_decay *= scale;
  training.optimizer.momentum *= scale;
  training.optimizer.beta1 *= scale;
  training.optimizer.clip_value *= i % 2 ? 1 : scale;
  training.optimizer.clip_norm *= scale;
  training.steps = of->training.steps - i * of->training.steps / (2 * MEMBERS);
  training.lr *= scale;
  self->program.precision = of->precision;
  self->program.label_smoothing = of->loss == EP_LOSS_CROSS_ENTROPY && i % 2 ? 0.1f : 0;
  ep_case_finish(self, &training);
  self->program.seed = (uint64_t)i * 1000003;
  for (int64_t p = 0; p < self->program.parameters; p++) self->parameters[p] *= scale;
  return self;
}

/* What a population leaves behind. */
typedef struct {
  float *state[MEMBERS], *optimizer[MEMBERS], *outputs[PREDICTED];
  double loss[MEMBERS];
  bool finite[MEMBERS];
} result;

typedef struct {
  const shape *of;
  ep_case *cases[MEMBERS];
  int64_t first_step[MEMBERS];
  FILE *log;
} trial;

static int64_t outputs_count(const trial *self, int split) {
  return self->cases[0]->rows[split] * self->cases[0]->program.out_features;
}

static void result_init(result *out, const trial *self) {
  const ep_program *program = &self->cases[0]->program;
  memset(out, 0, sizeof *out);
  for (int i = 0; i < MEMBERS; i++) {
    out->state[i] = ep_guarded_create(program->parameters);
    out->optimizer[i] = ep_guarded_create(program->optimizer_floats);
    memcpy(out->state[i], self->cases[i]->parameters, (size_t)program->parameters * sizeof(float));
    memset(out->optimizer[i], 0, (size_t)program->optimizer_floats * sizeof(float));
  }
  for (int split = 0; split < PREDICTED; split++)
    out->outputs[split] = ep_guarded_create(MEMBERS * outputs_count(self, split));
}

static void result_deinit(result *self) {
  for (int i = 0; i < MEMBERS; i++) {
    ep_guarded_destroy(self->state[i]);
    ep_guarded_destroy(self->optimizer[i]);
  }
  for (int split = 0; split < PREDICTED; split++) ep_guarded_destroy(self->outputs[split]);
}

static bool result_intact(const result *self, const trial *of) {
  const ep_program *program = &of->cases[0]->program;
  bool intact = true;
  for (int i = 0; i < MEMBERS; i++) {
    intact &= ep_guarded_intact(self->state[i], program->parameters, "a state", of->log);
    intact &= ep_guarded_intact(self->optimizer[i], program->optimizer_floats,
                                "an optimizer's state", of->log);
  }
  for (int split = 0; split < PREDICTED; split++)
    intact &= ep_guarded_intact(self->outputs[split], MEMBERS * outputs_count(of, split), "outputs",
                                of->log);
  return intact;
}

/* Steps `from` to `till` of each member, in parts of its own steps, in the order of `places`.
 * predicts: into the outputs, which lie in the order of the members. */
static ep_status population_run(const ep_subject *subject, const trial *self, const int *places,
                                double from, double till, bool predicts, result *out) {
  const ep_case *test = self->cases[0];
  ep_member members[MEMBERS];
  ep_error error = {.message = ""};
  float *outputs[PREDICTED];
  for (int i = 0; i < MEMBERS; i++) {
    const int at = places[i];
    const int64_t begin = (int64_t)(from * (double)self->cases[at]->steps),
                  end = (int64_t)(till * (double)self->cases[at]->steps);
    const bool one = self->cases[at]->lr_constant;
    members[i] =
        (ep_member){.program = &self->cases[at]->program,
                    .first_step = self->first_step[at] + begin,
                    .steps = end - begin,
                    .lr = self->cases[at]->lr + (one ? 0 : begin),
                    .lr_count = one ? 1 : end - begin,
                    .state = out->state[at],
                    .optimizer = test->program.optimizer_floats > 0 ? out->optimizer[at] : NULL};
  }
  ep_population population = {
      .train = {test->x[0], test->y[0], test->rows[0]}, .members = members, .count = MEMBERS};
  for (int split = 0; split < PREDICTED; split++) {
    outputs[split] = ep_guarded_create(MEMBERS * outputs_count(self, split));
    population.predict[split] = (ep_population_rows){test->x[split], NULL, test->rows[split]};
    population.outputs[split] = predicts ? outputs[split] : NULL;
  }
  ep_status status = subject->ops->train_population(subject->backend, &population, &error);
  if (status != EP_OK) fprintf(self->log, "  %s: %s\n", ep_status_name(status), error.message);
  for (int i = 0; i < MEMBERS; i++) {
    out->loss[places[i]] = members[i].loss;
    out->finite[places[i]] = members[i].finite;
  }
  for (int split = 0; split < PREDICTED; split++) {
    const int64_t each = outputs_count(self, split);
    if (!ep_guarded_intact(outputs[split], MEMBERS * each, "outputs", self->log))
      status = EP_INTERNAL;
    for (int i = 0; i < MEMBERS; i++)
      memcpy(out->outputs[split] + places[i] * each, outputs[split] + i * each,
             (size_t)each * sizeof(float));
    ep_guarded_destroy(outputs[split]);
  }
  return status;
}

/* --- the reference -------------------------------------------------------------------------- */

/* Member i alone. */
static ep_status reference_run(const ep_subject *reference, const trial *self, int i, result *out) {
  const ep_backend_ops *ops = reference->ops;
  const ep_case *test = self->cases[i], *data = self->cases[0];
  const int64_t per_epoch = ep_program_steps_per_epoch(&test->program);
  ep_error error = {.message = ""};
  ep_instance *instance = NULL;
  float loss[STEPS_MAX], *optimizer = test->program.optimizer_floats > 0 ? out->optimizer[i] : NULL;
  int32_t errors[STEPS_MAX];
  ep_segment segment = {.first_step = self->first_step[i],
                        .steps = test->steps,
                        .lr = test->lr,
                        .lr_count = test->steps,
                        .loss = loss,
                        .errors = errors};
  ep_status status =
      ops->compile(reference->backend, &test->program, reference->executor, &instance, &error);
  for (int split = 0; split < PREDICTED && status == EP_OK; split++)
    status = ops->load_data(instance, (ep_split)split, data->x[split], data->y[split],
                            data->rows[split], &error);
  if (status == EP_OK) status = ops->import_state(instance, out->state[i], optimizer, &error);
  if (status == EP_OK) status = ops->train_segment(instance, &segment, &error);
  if (status == EP_OK) status = ops->export_state(instance, out->state[i], optimizer, &error);
  for (int split = 0; split < PREDICTED && status == EP_OK; split++)
    status = ops->predict(instance, data->x[split], data->rows[split],
                          out->outputs[split] + i * outputs_count(self, split), &error);
  if (instance) ops->release(instance);
  if (status != EP_OK) fprintf(self->log, "  the reference: %s\n", error.message);
  const int64_t counted = test->steps < per_epoch ? test->steps : per_epoch;
  out->loss[i] = 0;
  for (int64_t step = test->steps - counted; step < test->steps; step++)
    out->loss[i] += loss[step] / (double)counted;
  out->finite[i] = isfinite(out->loss[i]);
  return status;
}

/* --- comparisons ---------------------------------------------------------------------------- */

static bool within(const trial *self, const char *what, int member, double difference,
                   double tolerance, double *worst) {
  if (difference > *worst) *worst = difference;
  if (difference <= tolerance) return true;
  fprintf(self->log, "  member %d: %s differs by %.3g, %.3g is allowed\n", member, what, difference,
          tolerance);
  return false;
}

/* The updates are compared, not the weights: a small one would hide behind a large weight. */
static bool result_agrees(const trial *self, const result *actual, const result *expected,
                          double *worst) {
  const ep_program *program = &self->cases[0]->program;
  const double tolerance = self->of->precision == EP_PRECISION_FP32 ? EP_COMPARE_TOLERANCE : 3e-2;
  bool agrees = true;
  for (int i = 0; i < MEMBERS; i++) {
    float *moved[2] = {ep_guarded_create(program->parameters),
                       ep_guarded_create(program->parameters)};
    for (int64_t p = 0; p < program->parameters; p++) {
      moved[0][p] = actual->state[i][p] - self->cases[i]->parameters[p];
      moved[1][p] = expected->state[i][p] - self->cases[i]->parameters[p];
    }
    agrees &=
        within(self, "the update", i,
               ep_compare_floats(moved[0], moved[1], program->parameters, 1e-2), tolerance, worst);
    agrees &= within(self, "the optimizer's state", i,
                     ep_compare_floats(actual->optimizer[i], expected->optimizer[i],
                                       program->optimizer_floats, 1e-2),
                     tolerance, worst);
    for (int split = 0; split < PREDICTED; split++) {
      const int64_t each = outputs_count(self, split);
      agrees &= within(self, "an output", i,
                       ep_compare_floats(actual->outputs[split] + i * each,
                                         expected->outputs[split] + i * each, each, 1),
                       tolerance, worst);
    }
    const float losses[2] = {(float)actual->loss[i], (float)expected->loss[i]};
    agrees &=
        within(self, "the loss", i, ep_compare_floats(losses, losses + 1, 1, 1), tolerance, worst);
    agrees &= actual->finite[i] == expected->finite[i];
    ep_guarded_destroy(moved[0]);
    ep_guarded_destroy(moved[1]);
  }
  return agrees;
}

static bool same(const trial *self, const char *how, const void *a, const void *b, int64_t count) {
  if (memcmp(a, b, (size_t)count * sizeof(float)) == 0) return true;
  fprintf(self->log, "  %s: not the same to the last bit\n", how);
  return false;
}

/* loss: whether the losses are of the same steps. */
static bool result_same(const trial *self, const char *how, const result *a, const result *b,
                        bool loss) {
  const ep_program *program = &self->cases[0]->program;
  bool equal = true;
  for (int i = 0; i < MEMBERS; i++) {
    equal &= same(self, how, a->state[i], b->state[i], program->parameters);
    equal &= same(self, how, a->optimizer[i], b->optimizer[i], program->optimizer_floats);
    equal &= a->finite[i] == b->finite[i] && (!loss || a->loss[i] == b->loss[i]);
  }
  for (int split = 0; split < PREDICTED; split++)
    equal &=
        same(self, how, a->outputs[split], b->outputs[split], MEMBERS * outputs_count(self, split));
  return equal;
}

/* --- a population --------------------------------------------------------------------------- */

/* In one call; again, in another order; in two calls, cut within epochs; and each member alone. */
static bool trial_run(const ep_subject *subject, const ep_subject *reference, const trial *self,
                      double *worst) {
  static const int forward[MEMBERS] = {0, 1, 2, 3, 4, 5, 6}, other[MEMBERS] = {4, 6, 1, 0, 5, 3, 2};
  result whole, again, cut, expected;
  result_init(&whole, self);
  result_init(&again, self);
  result_init(&cut, self);
  result_init(&expected, self);
  bool good = population_run(subject, self, forward, 0, 1, true, &whole) == EP_OK &&
              population_run(subject, self, other, 0, 1, true, &again) == EP_OK &&
              population_run(subject, self, forward, 0, 0.4, false, &cut) == EP_OK &&
              population_run(subject, self, forward, 0.4, 1, true, &cut) == EP_OK;
  for (int i = 0; i < MEMBERS && good; i++)
    good = reference_run(reference, self, i, &expected) == EP_OK;
  good = good && result_intact(&whole, self) && result_intact(&again, self) &&
         result_intact(&cut, self);
  good = good && result_agrees(self, &whole, &expected, worst) &&
         result_same(self, "in another order", &again, &whole, true) &&
         result_same(self, "in two calls", &cut, &whole, false);
  result_deinit(&expected);
  result_deinit(&cut);
  result_deinit(&again);
  result_deinit(&whole);
  return good;
}

/* A member that diverges is said to, and changes nothing about the others. */
static bool divergence_run(const ep_subject *subject, trial *self) {
  static const int forward[MEMBERS] = {0, 1, 2, 3, 4, 5, 6};
  enum { SPOILT = 2 };
  result whole, spoilt;
  result_init(&whole, self);
  result_init(&spoilt, self);
  bool good = population_run(subject, self, forward, 0, 1, true, &whole) == EP_OK;
  spoilt.state[SPOILT][0] = NAN;
  good = good && population_run(subject, self, forward, 0, 1, true, &spoilt) == EP_OK;
  for (int i = 0; i < MEMBERS && good; i++) {
    good = spoilt.finite[i] == (i != SPOILT);
    if (i != SPOILT)
      good = good && spoilt.loss[i] == whole.loss[i] &&
             same(self, "beside one that diverged", spoilt.state[i], whole.state[i],
                  self->cases[i]->program.parameters);
  }
  result_deinit(&spoilt);
  result_deinit(&whole);
  return good;
}

int ep_gpu_population_count(void) {
  return SHAPES + CHANCES;
}

ep_population_outcome ep_gpu_population_try(const ep_subject *subject, const ep_subject *reference,
                                            int number, char *name, double *worst, FILE *log) {
  const shape drawn = shape_by_chance(number);
  trial self = {.of = number < SHAPES ? &shapes[number] : &drawn, .log = log};
  ep_population_outcome outcome = EP_POPULATION_SKIPPED;
  *worst = 0;
  snprintf(name, 128, "population %d, %s", number, self.of->name);
  for (int i = 0; i < MEMBERS; i++) {
    self.cases[i] = member_create(self.of, i);
    self.first_step[i] = i % 3;
  }
  if (subject->ops->population_size(subject->backend, &self.cases[0]->program) > 0) {
    bool good = trial_run(subject, reference, &self, worst) && divergence_run(subject, &self);
    outcome = good ? EP_POPULATION_PASSED : EP_POPULATION_FAILED;
  }
  for (int i = 0; i < MEMBERS; i++) ep_case_destroy(self.cases[i]);
  return outcome;
}
