/* cpu/fused: MLPs, samples across SIMD lanes, large layers on all cores; fused.h says how. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/executors/executor.h"
#include "kernels/cpu/executors/fused/fused.h"
#include "kernels/cpu/executors/fused/plan.h"
#include "kernels/formulas/augment.h"

enum { PREDICT_ROWS = 1024 }; /* of bytes, that become numbers together */

typedef struct {
  const float *x; /* lent, or `numbers` */
  const void *y;  /* lent */
  int64_t rows;   /* 0 = not loaded */
  float *numbers; /* [rows, in_features], what rows of bytes come to; owned; NULL: x is lent */
} split_data;

typedef struct {
  const ep_program *program;
  const ep_fused_variant *variant;
  ep_fused_net net;    /* the batch's first part has its gradients; outside training it is alone */
  ep_fused_net *parts; /* [net.parts - 1]: the others */
  split_data data[EP_SPLIT_COUNT];
  bool saved;          /* net.saved holds a snapshot */
  uint32_t *rows_from; /* [net.parts, stride]: where a gathered chunk's rows come from */

  /* Without a shuffle every epoch sees the same chunks: they are made once, at load.
   * [batch, chunk of the batch, in_features + target_columns, stride]; NULL when gathered. */
  float *packed;
  int64_t packed_bytes, chunk_floats, chunks_per_batch;

  bool shuffle;
  uint32_t *order;     /* shuffle: [train_rows, padded] the rows of order_epoch */
  int64_t order_epoch; /* -1 = none yet */
} fused;

const ep_fused_variant *ep_fused_variant_of(ep_instruction_set instruction_set) {
#ifdef EP_FUSED_X86
#ifdef EP_FUSED_AMX
  if (instruction_set >= EP_CPU_AMX) return &ep_fused_amx;
#endif
  if (instruction_set >= EP_CPU_AVX512) return &ep_fused_avx512;
  if (instruction_set >= EP_CPU_AVX2) return &ep_fused_avx2;
#else
  (void)instruction_set;
#endif
  return &ep_fused_baseline;
}

static void fused_destroy(void *self) {
  fused *executor = self;
  if (!executor) return;
  for (int split = 0; split < EP_SPLIT_COUNT; split++) free(executor->data[split].numbers);
  free(executor->order);
  free(executor->packed);
  free(executor->rows_from);
  ep_crew_destroy(executor->net.crew);
  for (int i = 0; executor->parts && i < executor->net.parts - 1; i++)
    ep_fused_net_deinit(&executor->parts[i]);
  free(executor->parts);
  ep_fused_net_deinit(&executor->net);
  free(executor);
}

/* A batch that holds all rows needs no shuffle: the mean is the same. */
static ep_status make_order(fused *self, ep_error *error) {
  const ep_program *program = self->program;
  self->order_epoch = -1;
  self->shuffle = ep_program_shuffles(program);
  if (!self->shuffle) return EP_OK;
  self->order = malloc(((size_t)program->train_rows + EP_FUSED_PAD) * sizeof *self->order);
  return self->order ? EP_OK : ep_fail(error, EP_NO_MEMORY, "no memory for the order of the rows");
}

static ep_status make_parts(fused *self, int threads, ep_error *error) {
  const int parts = self->net.parts;
  if (parts == 1) return EP_OK;
  self->parts = calloc((size_t)parts, sizeof *self->parts);
  if (!self->parts) return ep_fail(error, EP_NO_MEMORY, "no memory for the parts of a batch");
  for (int i = 0; i < parts - 1; i++) {
    ep_status status = ep_fused_net_init_part(&self->parts[i], &self->net, error);
    if (status != EP_OK) return status;
  }
  return ep_crew_create(threads < parts ? threads : parts, &self->net.crew, error);
}

static ep_status fused_create(ep_backend *backend, const ep_program *program, void **out,
                              ep_error *error) {
  fused *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an executor");
  self->program = program;
  self->variant = ep_fused_variant_of(backend->instruction_set);
  ep_status status = ep_fused_net_init(&self->net, program, self->variant, error);
  int threads = ep_fused_threads(program, self->variant->tiles);
  if (threads > backend->threads) threads = backend->threads;
  if (status == EP_OK && self->net.shared && threads > 1)
    status = ep_crew_create(threads, &self->net.crew, error);
  if (status == EP_OK) status = make_parts(self, backend->threads, error);
  if (status == EP_OK) status = make_order(self, error);
  if (status == EP_OK) {
    int64_t stride = self->net.stride;
    self->chunk_floats = (program->in_features + program->target_columns) * stride;
    self->chunks_per_batch = (program->batch_size + stride - 1) / stride;
    self->rows_from = malloc((size_t)stride * (size_t)self->net.parts * sizeof *self->rows_from);
    if (!self->rows_from) status = ep_fail(error, EP_NO_MEMORY, "no memory for row numbers");
  }
  if (status != EP_OK) {
    fused_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

static int64_t fused_bytes(const void *self) {
  const fused *executor = self;
  const ep_program *program = executor->program;
  int64_t bytes = (int64_t)sizeof *executor + executor->net.arena_bytes + executor->packed_bytes;
  for (int i = 0; i < executor->net.parts - 1; i++) bytes += executor->parts[i].arena_bytes;
  if (executor->shuffle) bytes += program->train_rows * (int64_t)sizeof *executor->order;
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    if (executor->data[split].numbers)
      bytes += executor->data[split].rows * program->in_features * (int64_t)sizeof(float);
  return bytes;
}

/* x of `rows` rows, those of rows_from, into one chunk; the last row fills up the last vector. */
static ep_fused_chunk chunk_x(const fused *self, const float *x, int64_t rows, uint32_t *rows_from,
                              float *to) {
  const ep_fused_net *net = &self->net;
  ep_fused_chunk chunk = {.x = to, .rows = rows, .vectors = (rows + net->lanes - 1) / net->lanes};
  for (int64_t row = rows; row < chunk.vectors * net->lanes; row++)
    rows_from[row] = rows_from[rows - 1];
  self->variant->pack(to, net->stride, x, self->program->in_features, rows_from, chunk.vectors);
  return chunk;
}

/* x and y. */
static ep_fused_chunk chunk_make(const fused *self, const split_data *data, int64_t rows,
                                 uint32_t *rows_from, float *to) {
  const ep_fused_net *net = &self->net;
  ep_fused_chunk chunk = chunk_x(self, data->x, rows, rows_from, to);
  float *y = to + self->program->in_features * net->stride;
  chunk.y = y;
  if (ep_loss_takes_classes(self->program->loss)) {
    const int32_t *classes = data->y;
    for (int64_t row = 0; row < chunk.vectors * net->lanes; row++)
      memcpy(&y[row], &classes[rows_from[row]], sizeof *y);
  } else {
    self->variant->pack(y, net->stride, data->y, self->program->target_columns, rows_from,
                        chunk.vectors);
  }
  return chunk;
}

static void rows_in_turn(uint32_t *rows_from, int64_t first, int64_t rows) {
  for (int64_t row = 0; row < rows; row++) rows_from[row] = (uint32_t)(first + row);
}

static int64_t chunk_rows(const fused *self, int64_t first, int64_t rows) {
  int64_t left = rows - first;
  return left < self->net.stride ? left : self->net.stride;
}

/* Small batches waste lanes: then packed data may be many times the rows that came, and gathering
 * them at each step is the better bargain. */
static bool worth_packing(fused *self) {
  const ep_program *program = self->program;
  int64_t chunks, floats, plain;
  if (self->shuffle) return false;
  if (__builtin_mul_overflow(ep_program_steps_per_epoch(program), self->chunks_per_batch,
                             &chunks) ||
      __builtin_mul_overflow(chunks, self->chunk_floats, &floats) ||
      __builtin_add_overflow(floats, EP_FUSED_PAD, &floats) ||
      __builtin_mul_overflow(floats / EP_FUSED_PAD, EP_FUSED_ALIGN_BYTES, &self->packed_bytes) ||
      __builtin_mul_overflow(program->train_rows, 8 * (program->in_features + 1), &plain)) {
    return false;
  }
  return self->packed_bytes <= (1 << 20) || self->packed_bytes <= plain;
}

static void pack_training(fused *self) {
  const ep_program *program = self->program;
  free(self->packed);
  self->packed = NULL;
  if (worth_packing(self))
    self->packed = aligned_alloc(EP_FUSED_ALIGN_BYTES, (size_t)self->packed_bytes);
  if (!self->packed) { /* then rows are gathered, which costs time and no memory */
    self->packed_bytes = 0;
    return;
  }
  for (int64_t batch = 0; batch < ep_program_steps_per_epoch(program); batch++) {
    int64_t rows = ep_program_batch_rows(program, batch);
    float *to = self->packed + batch * self->chunks_per_batch * self->chunk_floats;
    for (int64_t first = 0; first < rows; first += self->net.stride, to += self->chunk_floats) {
      int64_t count = chunk_rows(self, first, rows);
      rows_in_turn(self->rows_from, batch * program->batch_size + first, count);
      chunk_make(self, &self->data[EP_SPLIT_TRAIN], count, self->rows_from, to);
    }
  }
}

/* What rows of bytes come to: [rows, in_features], the caller's to free; NULL: no memory. */
static float *numbers_make(const ep_program *program, const uint8_t *x, int64_t rows) {
  const int64_t channels = program->stored.channels, pixels = program->in_features / channels;
  int64_t bytes;
  if (__builtin_mul_overflow(rows, program->in_features * (int64_t)sizeof(float), &bytes))
    return NULL;
  float *numbers = malloc((size_t)bytes), *to = numbers;
  if (!numbers) return NULL;
  for (int64_t row = 0; row < rows; row++)
    for (int64_t channel = 0; channel < channels; channel++)
      for (int64_t pixel = 0; pixel < pixels; pixel++)
        *to++ = ep_byte_value(*x++, program->x_scale[channel], program->x_shift[channel]);
  return numbers;
}

static ep_status fused_load_data(void *self, ep_split split, const void *x, const void *y,
                                 int64_t rows, ep_error *error) {
  fused *executor = self;
  split_data *data = &executor->data[split];
  free(data->numbers);
  *data = (split_data){.x = x, .y = y, .rows = rows};
  if (executor->program->x_type == EP_X_UINT8) {
    data->x = data->numbers = numbers_make(executor->program, x, rows);
    if (!data->numbers) return ep_fail(error, EP_NO_MEMORY, "no memory for bytes as numbers");
  }
  if (split == EP_SPLIT_TRAIN) pack_training(executor);
  return EP_OK;
}

static void shuffle_for(fused *self, int64_t epoch) {
  if (!self->shuffle || self->order_epoch == epoch) return;
  ep_permutation permutation = ep_permutation_make(
      self->program->seed, EP_RANDOM_SHUFFLE, (uint64_t)epoch, (uint64_t)self->program->train_rows);
  self->variant->permute(&permutation, self->order, (uint32_t)self->program->train_rows);
  self->order_epoch = epoch;
}

/* Rows `first` … of a batch of `rows` rows of the epoch that shuffle_for prepared. */
static ep_fused_chunk training_chunk(const fused *self, const ep_fused_net *net,
                                     uint32_t *rows_from, int64_t batch, int64_t first,
                                     int64_t rows) {
  int64_t count = chunk_rows(self, first, rows);
  if (self->packed) {
    int64_t number = batch * self->chunks_per_batch + first / net->stride;
    const float *x = self->packed + number * self->chunk_floats;
    return (ep_fused_chunk){.x = x,
                            .y = x + self->program->in_features * net->stride,
                            .rows = count,
                            .vectors = (count + net->lanes - 1) / net->lanes};
  }
  int64_t row = batch * self->program->batch_size + first;
  if (self->shuffle) {
    memcpy(rows_from, self->order + row, (size_t)count * sizeof *rows_from);
  } else {
    rows_in_turn(rows_from, row, count);
  }
  return chunk_make(self, &self->data[EP_SPLIT_TRAIN], count, rows_from, net->gathered);
}

/* Values that the mean loss of `rows` rows is over. */
static double loss_values(const fused *self, int64_t rows) {
  const ep_program *program = self->program;
  return (double)rows *
         (ep_loss_takes_classes(program->loss) ? 1.0 : (double)program->out_features);
}

/* A step, for those who take its parts. */
typedef struct {
  fused *self;
  int64_t step, batch, rows;
  double values; /* loss_values */
  double loss[EP_FUSED_PARTS_MAX];
  int64_t errors[EP_FUSED_PARTS_MAX];
} step_work;

static const ep_fused_net *part_net(const fused *self, int64_t part) {
  return part == 0 ? &self->net : &self->parts[part - 1];
}

/* The first chunk of a part, of all chunks of the batch: the first parts have one more. */
static int64_t part_first(const step_work *w, int64_t part) {
  const int64_t stride = w->self->net.stride, parts = w->self->net.parts;
  const int64_t chunks = (w->rows + stride - 1) / stride, more = chunks % parts;
  return part * (chunks / parts) + (part < more ? part : more);
}

/* A part's way forward and back. */
static void part_task(void *context, int64_t part, int member) {
  (void)member;
  step_work *w = context;
  const fused *self = w->self;
  const ep_fused_net *net = part_net(self, part);
  uint32_t *rows_from = self->rows_from + part * net->stride;
  const bool alone = net->parts == 1; /* and then a step may be shorter than a few divisions */
  const int64_t begin = alone ? 0 : part_first(w, part) * net->stride;
  const int64_t end = alone ? w->rows : part_first(w, part + 1) * net->stride;
  w->loss[part] = 0;
  w->errors[part] = 0;
  for (int64_t first = begin; first < end; first += net->stride) {
    ep_fused_chunk chunk = training_chunk(self, net, rows_from, w->batch, first, w->rows);
    chunk.training = true;
    chunk.first_row = first;
    chunk.step = w->step;
    self->variant->forward(net, &chunk);
    self->variant->loss(net, &chunk, (float)(1.0 / w->values), &w->loss[part], &w->errors[part]);
    self->variant->backward(net, &chunk, first == begin);
  }
}

enum { ADD_FLOATS = 1 << 14 }; /* of the sums that a thread adds up at a time */

static void add_task(void *context, int64_t number, int member) {
  (void)member;
  const step_work *w = context;
  const ep_fused_net *net = &w->self->net;
  const int64_t all = ep_fused_net_sums(net), first = number * ADD_FLOATS;
  const int64_t end = all - first < ADD_FLOATS ? all : first + ADD_FLOATS;
  for (int part = 1; part < net->parts && part_first(w, part) < part_first(w, part + 1); part++)
    w->self->variant->add(net, part_net(w->self, part), first, end);
}

static void train_step(fused *self, int64_t step, float lr, float *loss, int32_t *errors) {
  const ep_program *program = self->program;
  const ep_fused_net *net = &self->net;
  const int64_t steps_per_epoch = ep_program_steps_per_epoch(program);
  const int64_t batch = step % steps_per_epoch, rows = ep_program_batch_rows(program, batch);
  step_work w = {
      .self = self, .step = step, .batch = batch, .rows = rows, .values = loss_values(self, rows)};
  double total = 0;
  int64_t wrong = 0;
  shuffle_for(self, step / steps_per_epoch);
  if (net->parts > 1) {
    ep_crew_run(net->crew, part_task, &w, net->parts);
    ep_crew_run(net->crew, add_task, &w, (ep_fused_net_sums(net) + ADD_FLOATS - 1) / ADD_FLOATS);
  } else {
    part_task(&w, 0, 0);
  }
  for (int part = 0; part < net->parts; part++) {
    total += w.loss[part];
    wrong += w.errors[part];
  }
  self->variant->update(net, step, lr);
  *loss = (float)(total / w.values);
  *errors = (int32_t)wrong;
}

static ep_status fused_train_segment(void *self, const ep_segment *segment, ep_error *error) {
  (void)error;
  for (int64_t i = 0; i < segment->steps; i++) {
    float lr = segment->lr[segment->lr_count == 1 ? 0 : i];
    train_step(self, segment->first_step + i, lr, &segment->loss[i], &segment->errors[i]);
  }
  return EP_OK;
}

static ep_status fused_evaluate(void *self, ep_split split, double *loss, int64_t *errors,
                                ep_error *error) {
  (void)error;
  fused *executor = self;
  const ep_fused_net *net = &executor->net;
  const split_data *data = &executor->data[split];
  double total = 0;
  int64_t wrong = 0;
  for (int64_t first = 0; first < data->rows; first += net->stride) {
    int64_t rows = chunk_rows(executor, first, data->rows);
    rows_in_turn(executor->rows_from, first, rows);
    ep_fused_chunk chunk = chunk_make(executor, data, rows, executor->rows_from, net->gathered);
    executor->variant->forward(net, &chunk);
    executor->variant->loss(net, &chunk, 0.0f, &total, &wrong);
  }
  *loss = total / loss_values(executor, data->rows);
  *errors = wrong;
  return EP_OK;
}

static void numbers_predict(fused *executor, const float *x, int64_t rows, float *output) {
  const ep_fused_net *net = &executor->net;
  const int64_t features = executor->program->out_features;
  for (int64_t first = 0; first < rows; first += net->stride) {
    int64_t count = chunk_rows(executor, first, rows);
    rows_in_turn(executor->rows_from, first, count);
    ep_fused_chunk chunk = chunk_x(executor, x, count, executor->rows_from, net->gathered);
    executor->variant->forward(net, &chunk);
    const float *from = net->output ? net->output : chunk.x;
    float *to = output + first * features;
    for (int64_t row = 0; row < count; row++)
      for (int64_t f = 0; f < features; f++) to[row * features + f] = from[f * net->stride + row];
  }
}

static ep_status fused_predict(void *self, const void *x, int64_t rows, float *output,
                               ep_error *error) {
  fused *executor = self;
  const ep_program *program = executor->program;
  if (program->x_type != EP_X_UINT8) {
    numbers_predict(executor, x, rows, output);
    return EP_OK;
  }
  for (int64_t first = 0; first < rows; first += PREDICT_ROWS) {
    const int64_t count = rows - first < PREDICT_ROWS ? rows - first : PREDICT_ROWS;
    const uint8_t *bytes = (const uint8_t *)x + first * program->in_features;
    float *numbers = numbers_make(program, bytes, count);
    if (!numbers) return ep_fail(error, EP_NO_MEMORY, "no memory for bytes as numbers");
    numbers_predict(executor, numbers, count, output + first * program->out_features);
    free(numbers);
  }
  return EP_OK;
}

static size_t buffers_bytes(const ep_fused_net *net) {
  return (size_t)net->program->buffers * sizeof(float);
}

static ep_status fused_export_state(void *self, float *parameters, float *optimizer,
                                    ep_error *error) {
  (void)error;
  const ep_fused_net *net = &((fused *)self)->net;
  ep_fused_net_get(net, net->parameters, parameters);
  memcpy(parameters + net->program->parameters, net->buffers, buffers_bytes(net));
  for (int64_t slot = 0; optimizer && slot < net->slots; slot++)
    ep_fused_net_get(net, net->state + slot * net->floats,
                     optimizer + slot * net->program->parameters);
  return EP_OK;
}

static ep_status fused_import_state(void *self, const float *parameters, const float *optimizer,
                                    ep_error *error) {
  (void)error;
  const ep_fused_net *net = &((fused *)self)->net;
  ep_fused_net_put(net, parameters, net->parameters);
  memcpy(net->buffers, parameters + net->program->parameters, buffers_bytes(net));
  for (int64_t slot = 0; optimizer && slot < net->slots; slot++)
    ep_fused_net_put(net, optimizer + slot * net->program->parameters,
                     net->state + slot * net->floats);
  return EP_OK;
}

static ep_status fused_snapshot(void *self, ep_error *error) {
  (void)error;
  fused *executor = self;
  const ep_fused_net *net = &executor->net;
  const size_t bytes = (size_t)net->floats * sizeof(float);
  memcpy(net->saved, net->parameters, bytes);
  if (net->state) memcpy(net->saved + net->floats, net->state, bytes * (size_t)net->slots);
  memcpy(net->saved + (1 + net->slots) * net->floats, net->buffers, buffers_bytes(net));
  executor->saved = true;
  return EP_OK;
}

static ep_status fused_rollback(void *self, ep_error *error) {
  fused *executor = self;
  const ep_fused_net *net = &executor->net;
  const size_t bytes = (size_t)net->floats * sizeof(float);
  if (!executor->saved) return ep_fail(error, EP_CONFLICT, "no snapshot to restore");
  memcpy(net->parameters, net->saved, bytes);
  if (net->state) memcpy(net->state, net->saved + net->floats, bytes * (size_t)net->slots);
  memcpy(net->buffers, net->saved + (1 + net->slots) * net->floats, buffers_bytes(net));
  return EP_OK;
}

const ep_executor ep_cpu_fused = {.profile = &ep_cpu_fused_profile,
                                  .rows_apart = true, /* each has a lane of its own */
                                  .create = fused_create,
                                  .destroy = fused_destroy,
                                  .bytes = fused_bytes,
                                  .load_data = fused_load_data,
                                  .train_segment = fused_train_segment,
                                  .evaluate = fused_evaluate,
                                  .predict = fused_predict,
                                  .export_state = fused_export_state,
                                  .import_state = fused_import_state,
                                  .snapshot = fused_snapshot,
                                  .rollback = fused_rollback};
