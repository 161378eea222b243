#include "tests/unit/kernels/programs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/formulas/optimizers.h"
#include "kernels/formulas/pools.h"
#include "kernels/operators/operator.h"
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

ep_case *ep_case_create_image(const char *name, ep_shape in, ep_loss_type loss) {
  ep_case *self = allocate(1, sizeof *self);
  snprintf(self->name, sizeof self->name, "%s", name);
  self->program = (ep_program){.ops = self->ops,
                               .stored = in,
                               .in = in,
                               .in_features = ep_shape_count(in),
                               .out_features = ep_shape_count(in),
                               .groups = self->groups,
                               .loss = loss,
                               .loss_parameter =
                                   loss == EP_LOSS_FOCAL ? 2 : 0.7f, /* below 1 focal has a kink */
                               .max_predict_rows = 16,
                               .precision = EP_PRECISION_FP32};
  return self;
}

ep_case *ep_case_create(const char *name, int64_t in_features, ep_loss_type loss) {
  return ep_case_create_image(name, (ep_shape){in_features, 1, 1}, loss);
}

static ep_op *next_op(ep_case *self, ep_layer_type type) {
  ep_program *program = &self->program;
  if (program->ops_count == EP_CASE_OPS) {
    fprintf(stderr, "%s: a test case has at most %d layers\n", self->name, EP_CASE_OPS);
    exit(2);
  }
  int number = program->ops_count++;
  ep_op *op = &self->ops[number];
  *op = (ep_op){.type = type,
                .in = number == 0 ? program->in : self->ops[number - 1].out,
                .in_features = program->out_features,
                .weight = -1,
                .bias = -1,
                .running = -1,
                .inputs = 1,
                .input = {number},
                .layer = number};
  return op;
}

/* What comes out of the layer that was added last. */
static void put_out(ep_case *self, ep_op *op, ep_shape out) {
  op->out = out;
  op->out_features = self->program.out_features = ep_shape_count(out);
}

static void put_parameters(ep_case *self, ep_op *op, int64_t weights, int64_t biases) {
  int64_t *next = &self->program.parameters;
  if (weights > 0) op->weight = *next;
  *next += weights;
  if (biases > 0) op->bias = *next;
  *next += biases;
}

/* The same of all that the op's row names, one behind the other. */
static void put_named_parameters(ep_case *self, ep_op *op, bool bias) {
  for (int k = 0; ep_op_parameter(op, k); k++) {
    const bool exists = bias || !ep_op_parameter_is_bias(op, k);
    op->parameter[k] = exists ? self->program.parameters : -1;
    self->program.parameters += ep_op_own_count(op, k);
  }
}

void ep_case_add_linear(ep_case *self, int64_t out_features, bool bias) {
  ep_op *op = next_op(self, EP_LAYER_LINEAR);
  put_out(self, op, (ep_shape){out_features, 1, 1});
  put_parameters(self, op, op->in_features * out_features, bias ? out_features : 0);
}

void ep_case_add(ep_case *self, ep_layer_type type) {
  ep_op *op = next_op(self, type);
  bool flat = type == EP_LAYER_FLATTEN;
  put_out(self, op, flat ? (ep_shape){op->in_features, 1, 1} : op->in);
  if (type == EP_LAYER_LEAKY_RELU) op->negative_slope = 0.1f;
  if (type == EP_LAYER_ELU) op->alpha = 0.8f;
  if (type == EP_LAYER_SOFTPLUS) {
    op->beta = 1.5f;
    op->threshold = 20;
  }
}

static void put_window(ep_op *op, const ep_case_window *window) {
  bool conv = op->type == EP_LAYER_CONV2D || op->type == EP_LAYER_UNFOLD;
  for (int axis = 0; axis < 2; axis++) {
    int usual = conv ? 1 : window->kernel[axis];
    op->kernel[axis] = window->kernel[axis];
    op->stride[axis] = window->stride[axis] ? window->stride[axis] : usual;
    op->padding[axis] = window->padding[axis];
    op->dilation[axis] = window->dilation[axis] ? window->dilation[axis] : 1;
  }
  op->groups = conv && window->groups == 0 ? 1 : window->groups;
}

static void put_windows_out(ep_case *self, ep_op *op, int64_t channels) {
  int64_t side[2];
  for (int axis = 0; axis < 2; axis++) {
    side[axis] = ep_window_count(axis == 0 ? op->in.height : op->in.width, op->kernel[axis],
                                 op->stride[axis], op->padding[axis], op->dilation[axis]);
  }
  put_out(self, op, (ep_shape){channels, side[0], side[1]});
}

void ep_case_add_conv2d(ep_case *self, int64_t out_channels, const ep_case_window *window,
                        bool bias) {
  ep_op *op = next_op(self, EP_LAYER_CONV2D);
  put_window(op, window);
  put_windows_out(self, op, out_channels);
  int64_t filter = op->in.channels / op->groups * op->kernel[0] * op->kernel[1];
  put_parameters(self, op, out_channels * filter, bias ? out_channels : 0);
}

void ep_case_add_pool(ep_case *self, ep_layer_type type, const ep_case_window *window) {
  ep_op *op = next_op(self, type);
  put_window(op, window);
  put_windows_out(self, op, op->in.channels);
}

void ep_case_add_adaptive_pool(ep_case *self, int64_t height, int64_t width) {
  ep_op *op = next_op(self, EP_LAYER_ADAPTIVE_AVG_POOL2D);
  put_out(self, op, (ep_shape){op->in.channels, height, width});
}

void ep_case_add_dropout(ep_case *self, ep_layer_type type, float p) {
  ep_op *op = next_op(self, type);
  put_out(self, op, op->in);
  op->p = p;
}

void ep_case_add_norm(ep_case *self, ep_layer_type type, bool affine) {
  ep_op *op = next_op(self, type);
  int64_t count = type == EP_LAYER_LAYER_NORM ? op->in_features : op->in.channels;
  put_out(self, op, op->in);
  put_parameters(self, op, affine ? count : 0, affine ? count : 0);
  op->eps = 1e-5f;
  if (type != EP_LAYER_BATCH_NORM) return;
  op->momentum = 0.2f;
  op->running = self->program.buffers;
  self->program.buffers += 2 * count;
}

void ep_case_add_embedding(ep_case *self, int64_t numbers, int64_t embeddings, int64_t dimension) {
  ep_op *op = next_op(self, EP_LAYER_EMBEDDING);
  op->embeddings = embeddings;
  op->numbers = numbers;
  put_out(self, op, (ep_shape){numbers + ep_op_columns(op) * dimension, 1, 1});
  put_parameters(self, op, embeddings * dimension, 0);
}

void ep_case_add_residual(ep_case *self, int source) {
  ep_op *op = next_op(self, EP_LAYER_ADD);
  put_out(self, op, op->in);
  op->inputs = 2;
  op->input[1] = source + 1;
}

void ep_case_add_join(ep_case *self, ep_layer_type type, const int *values, int count) {
  ep_op *op = next_op(self, type);
  const ep_program *program = &self->program;
  op->inputs = count;
  for (int k = 0; k < count; k++) op->input[k] = values[k];
  op->in = values[0] == 0 ? program->in : self->ops[values[0] - 1].out;
  op->in_features = ep_shape_count(op->in);
  ep_shape out = op->in;
  if (type == EP_LAYER_CONCAT) out.channels = 0;
  for (int k = 0; k < count && type == EP_LAYER_CONCAT; k++) {
    op->length[k] = values[k] == 0 ? program->in.channels : self->ops[values[k] - 1].out.channels;
    out.channels += op->length[k];
  }
  put_out(self, op, out);
}

void ep_case_read(ep_case *self, int value) {
  ep_op *op = &self->ops[self->program.ops_count - 1];
  op->input[0] = value;
}

void ep_case_add_slice(ep_case *self, int axis, int64_t start, int64_t count) {
  ep_op *op = next_op(self, EP_LAYER_SLICE);
  ep_shape out = op->in;
  ep_shape_set_side(&out, axis, count);
  op->axis = axis;
  op->start = start;
  put_out(self, op, out);
}

void ep_case_add_reshape(ep_case *self, ep_shape shape) {
  put_out(self, next_op(self, EP_LAYER_RESHAPE), shape);
}

void ep_case_add_permute(ep_case *self, const int order[EP_SHAPE_SIDES]) {
  ep_op *op = next_op(self, EP_LAYER_PERMUTE);
  for (int side = 0; side < EP_SHAPE_SIDES; side++) op->order[side] = order[side];
  put_out(self, op,
          (ep_shape){ep_shape_side(op->in, order[0]), ep_shape_side(op->in, order[1]),
                     ep_shape_side(op->in, order[2])});
}

void ep_case_add_conv1d(ep_case *self, int64_t out_channels, int kernel, int dilation,
                        bool causal) {
  const int past = dilation * (kernel - 1);
  ep_op *op = next_op(self, EP_LAYER_CONV2D);
  put_window(op, &(ep_case_window){.kernel = {1, kernel},
                                   .dilation = {1, dilation},
                                   .padding = {0, causal ? past : past / 2}});
  op->is_1d = true;
  op->causal = causal;
  put_out(self, op, (ep_shape){out_channels, 1, causal ? op->in.width : op->in.width - past % 2});
  put_parameters(self, op, out_channels * op->in.channels * kernel, out_channels);
}

void ep_case_add_unfold(ep_case *self, const ep_case_window *window) {
  ep_op *op = next_op(self, EP_LAYER_UNFOLD);
  put_window(op, window);
  put_windows_out(self, op, op->in.channels * op->kernel[0] * op->kernel[1]);
  put_out(self, op, (ep_shape){op->out.channels, 1, op->out.height * op->out.width});
}

void ep_case_add_gru(ep_case *self, int64_t hidden, bool bias) {
  ep_op *op = next_op(self, EP_LAYER_GRU);
  put_out(self, op, (ep_shape){hidden, 1, op->in.width});
  put_named_parameters(self, op, bias);
}

int ep_case_last(const ep_case *self) {
  return self->program.ops_count - 1;
}

void ep_case_store_bytes(ep_case *self) {
  self->program.x_type = EP_X_UINT8;
  self->program.x_scale = self->x_scale;
  self->program.x_shift = self->x_shift;
  for (int i = 0; i < EP_CASE_CHANNELS; i++) {
    self->x_scale[i] = (2 + 0.25f * (float)i) / 255;
    self->x_shift[i] = -1 + 0.125f * (float)i;
  }
}

void ep_case_store_larger(ep_case *self, int64_t height, int64_t width) {
  self->program.stored.height = height;
  self->program.stored.width = width;
}

void ep_case_weigh_classes(ep_case *self) {
  self->program.class_weights = self->class_weights;
  for (int i = 0; i < EP_CASE_CLASSES; i++) self->class_weights[i] = 0.5f + 0.375f * (float)(i % 5);
}

static bool is_norm(const ep_op *op) {
  return op->type == EP_LAYER_BATCH_NORM || op->type == EP_LAYER_LAYER_NORM ||
         op->type == EP_LAYER_INSTANCE_NORM;
}

/* Of one op: torch's default where there are weights, U(-1/sqrt(n), 1/sqrt(n)) of n inputs, of a
 * gru its units; a norm's weight is about 1, an embedding's as it comes. */
static void make_op_parameters(ep_case *self, const ep_op *op, int64_t end, uint64_t seed) {
  bool norm = is_norm(op);
  int64_t inputs = op->type == EP_LAYER_GRU ? op->out.channels : op->in_features;
  if (op->type == EP_LAYER_CONV2D) {
    inputs = op->in.channels / op->groups * op->kernel[0] * op->kernel[1];
  }
  float bound = 1 / sqrtf((float)inputs);
  if (norm || op->type == EP_LAYER_EMBEDDING) bound = 0.5f;
  int64_t first = op->weight >= 0 ? op->weight : op->bias;
  for (int64_t i = first; first >= 0 && i < end; i++) {
    bool about_one = norm && (op->bias < 0 || i < op->bias);
    self->parameters[i] = bound * uniform(seed, 10, i) + (about_one ? 1 : 0);
  }
}

static void make_parameters(ep_case *self, uint64_t seed) {
  const ep_program *program = &self->program;
  int64_t end = program->parameters;
  self->parameters = allocate(ep_program_state_floats(program), sizeof(float));
  for (int i = program->ops_count - 1; i >= 0; i--) {
    const ep_op *op = &self->ops[i];
    make_op_parameters(self, op, end, seed);
    if (op->weight >= 0 || op->bias >= 0) end = op->weight >= 0 ? op->weight : op->bias;
    for (int64_t c = 0; op->running >= 0 && c < op->in.channels; c++) {
      float *running = self->parameters + program->parameters + op->running;
      running[c] = 0.2f * uniform(seed, 11, c);
      running[op->in.channels + c] = 1 + 0.5f * uniform(seed, 12, c);
    }
  }
}

static void add_group(ep_case *self, int64_t first, int64_t end, float weight_decay, bool frozen) {
  if (first < 0 || first == end) return;
  self->groups[self->program.groups_count++] = (ep_parameter_group){
      .first = first, .count = end - first, .weight_decay = weight_decay, .frozen = frozen};
}

/* Two for each layer: neighbours that are treated alike may lie in groups of their own. */
static void make_groups(ep_case *self, const ep_case_training *training) {
  for (int i = 0; i < self->program.ops_count; i++) {
    const ep_op *op = &self->ops[i];
    int64_t end = self->program.parameters;
    for (int j = self->program.ops_count - 1; j > i; j--) {
      if (self->ops[j].bias >= 0) end = self->ops[j].bias;
      if (self->ops[j].weight >= 0) end = self->ops[j].weight;
    }
    bool norm = is_norm(op);
    bool frozen = training->frozen >> i & 1;
    float decay = training->weight_decay, spared = training->spare_biases ? 0 : decay;
    add_group(self, op->weight, op->bias >= 0 ? op->bias : end, norm ? spared : decay, frozen);
    add_group(self, op->bias, end, spared, frozen);
  }
}

/* The first of the data's columns that an embedding looks up: they go to the last. *embedding:
 * NULL where there is none. It may read what a slice has left. */
static int64_t words_find(const ep_program *program, const ep_op **embedding) {
  *embedding = NULL;
  for (int i = program->ops_count - 1; i >= 0; i--)
    if (program->ops[i].type == EP_LAYER_EMBEDDING) *embedding = &program->ops[i];
  if (!*embedding) return program->in_features;
  const int read = (*embedding)->input[0];
  return (*embedding)->numbers + (read > 0 ? program->ops[read - 1].start : 0);
}

static void *make_x(const ep_program *program, int64_t rows, uint64_t seed, uint64_t stream) {
  int64_t count = rows * ep_shape_count(program->stored);
  const ep_op *embedding;
  const int64_t words = words_find(program, &embedding);
  float *numbers = allocate(count, sizeof(float));
  uint8_t *bytes = (uint8_t *)numbers;
  for (int64_t i = 0; i < count; i++) {
    float number = uniform(seed, stream, i);
    if (program->x_type == EP_X_UINT8) {
      bytes[i] = (uint8_t)((number + 1) * 128);
    } else {
      bool whole = embedding && i % program->in_features >= words;
      float embeddings = whole ? (float)embedding->embeddings : 0;
      numbers[i] = whole ? floorf((number + 1) / 2 * embeddings) : number;
    }
  }
  return numbers;
}

static void *make_y(const ep_program *program, int64_t rows, uint64_t seed, uint64_t stream) {
  int64_t count = rows * program->target_columns;
  float *numbers = allocate(count, sizeof(float));
  int32_t *classes = (int32_t *)numbers;
  for (int64_t i = 0; i < count; i++) {
    float number = uniform(seed, stream, i);
    if (ep_loss_takes_classes(program->loss)) {
      classes[i] = (int32_t)((number + 1) / 2 * (float)program->out_features);
    } else {
      numbers[i] = ep_loss_is_classifier(program->loss) ? (float)(number > 0) : number;
    }
  }
  return numbers;
}

static void make_split(ep_case *self, ep_split split, int64_t rows, uint64_t seed) {
  uint64_t stream = 20 + 2 * (uint64_t)split;
  self->rows[split] = rows;
  self->x[split] = make_x(&self->program, rows, seed, stream);
  self->y[split] = make_y(&self->program, rows, seed, stream + 1);
}

void ep_case_finish(ep_case *self, const ep_case_training *training) {
  ep_program *program = &self->program;
  if (training->bytes) ep_case_store_bytes(self);
  int64_t rows = training->rows;
  bool full = training->batch_size <= 0 || training->batch_size > rows;
  program->target_columns = ep_loss_takes_classes(program->loss) ? 1 : program->out_features;
  program->optimizer = training->optimizer;
  program->optimizer_floats = ep_optimizer_slots(&training->optimizer) * program->parameters;
  program->train_rows = rows;
  program->batch_size = full ? rows : training->batch_size;
  program->shuffle = training->shuffle;
  program->seed = training->seed;
  make_groups(self, training);
  if (!training->only_planned) {
    make_parameters(self, training->seed);
    make_split(self, EP_SPLIT_TRAIN, rows, training->seed);
    make_split(self, EP_SPLIT_VALIDATION, 5, training->seed);
    make_split(self, EP_SPLIT_TEST, 37, training->seed);
  }
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

/* Whether a stage may begin with the op. */
static bool may_begin(const ep_program *program, int op) {
  for (int i = op; i < program->ops_count; i++)
    for (int k = 0; k < program->ops[i].inputs; k++)
      if (program->ops[i].input[k] < op) return false;
  return true;
}

void ep_case_set_ranks(ep_case *self, int data, int model, int micro_batches) {
  ep_program *program = &self->program;
  ep_parallel *parallel = &program->parallel;
  int least = program->ops_count / model > 0 ? program->ops_count / model : 1, last = 0;
  *parallel = (ep_parallel){.data = data, .model = 1, .micro_batches = micro_batches};
  for (int op = 1; op < program->ops_count && parallel->model < model; op++)
    if (op - last >= least && may_begin(program, op))
      parallel->stage_first[parallel->model++] = last = op;
  parallel->stage_first[parallel->model] = program->ops_count;
  if (parallel->model == 1) parallel->micro_batches = 1;
  for (int i = 0; i < program->ops_count; i++) {
    self->ops[i].sync = self->ops[i].type == EP_LAYER_BATCH_NORM;
    if (self->ops[i].sync) parallel->micro_batches = 1;
  }
}
