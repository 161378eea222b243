/* cpu/reference: the readable truth that every other executor is tested against. It takes every
 * program, and takes a batch a few rows at a time: sums run on in the order of the rows, so the
 * pieces change no bit, and memory does not grow with the batch. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/reference/losses.h"
#include "kernels/cpu/reference/network.h"
#include "kernels/cpu/reference/optimizers.h"
#include "kernels/random.h"

enum { PIECE_ROWS = 128 }; /* rows at a time: small layers' values stay in the cache */

typedef struct {
  const float *x; /* [rows, in_features], lent */
  const void *y;  /* float [rows, target_columns] or int32 [rows], lent */
  int64_t rows;
} split_data;

typedef struct {
  const ep_program *program; /* lent */
  ep_network network;
  int64_t state_count; /* parameters + optimizer_floats */
  ep_real *state;      /* [state_count]: the parameters, then the optimizer's */
  ep_real *kept;       /* [state_count]: the snapshot; NULL before the first */
  void *target;        /* the piece's y: [capacity, target_columns] of 4 bytes */
  split_data splits[EP_SPLIT_COUNT];
} reference;

/* Which rows of a split: first … first + rows - 1, through the epoch's permutation unless NULL. */
typedef struct {
  const split_data *data;
  const ep_permutation *order;
  int64_t first, rows;
} row_range;

static bool reference_accepts(const ep_backend *backend, const ep_program *program) {
  (void)backend, (void)program;
  return true;
}

static void reference_destroy(void *self) {
  reference *r = self;
  if (!r) return;
  free(r->target);
  free(r->kept);
  free(r->state);
  ep_network_deinit(&r->network);
  free(r);
}

static int64_t piece_capacity(const ep_program *program) {
  int64_t most = program->batch_size;
  if (program->max_predict_rows > most) most = program->max_predict_rows;
  return most < PIECE_ROWS ? most : PIECE_ROWS;
}

static ep_status reference_create(ep_backend *backend, const ep_program *program, void **out,
                                  ep_error *error) {
  (void)backend;
  reference *r = calloc(1, sizeof *r);
  if (!r) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  int64_t capacity = piece_capacity(program), targets = 0;
  r->program = program;
  ep_status status = ep_network_init(&r->network, program, capacity, error);
  if (status == EP_OK &&
      (__builtin_add_overflow(program->parameters, program->optimizer_floats, &r->state_count) ||
       __builtin_mul_overflow(capacity, program->target_columns, &targets))) {
    status = ep_fail(error, EP_TOO_LARGE, "the program's state is too large");
  }
  if (status == EP_OK) {
    r->state = calloc(r->state_count > 0 ? (size_t)r->state_count : 1, sizeof *r->state);
    r->target = calloc((size_t)targets, sizeof(float));
    if (!r->state || !r->target) {
      status = ep_fail(error, EP_NO_MEMORY, "no memory for %lld floats of state",
                       (long long)r->state_count);
    }
  }
  if (status != EP_OK) {
    reference_destroy(r);
    return status;
  }
  *out = r;
  return EP_OK;
}

static int64_t reference_bytes(const void *self) {
  const reference *r = self;
  const ep_program *program = r->program;
  int64_t bytes = (int64_t)sizeof *r + r->network.bytes;
  bytes += r->state_count * (int64_t)sizeof(ep_real) * (r->kept ? 2 : 1);
  bytes += r->network.capacity * program->target_columns * (int64_t)sizeof(float);
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    int64_t columns = program->in_features + program->target_columns;
    bytes += r->splits[split].rows * columns * (int64_t)sizeof(float);
  }
  return bytes;
}

static ep_status reference_load_data(void *self, ep_split split, const float *x, const void *y,
                                     int64_t rows, ep_error *error) {
  (void)error;
  reference *r = self;
  r->splits[split] = (split_data){x, y, rows};
  return EP_OK;
}

/* Copies rows into the network's input and the targets beside them. */
static void gather(reference *r, const row_range *range) {
  int64_t columns = r->program->in_features, targets = r->program->target_columns;
  for (int64_t i = 0; i < range->rows; i++) {
    int64_t row = range->first + i;
    if (range->order) row = ep_permutation_at(range->order, (uint32_t)row);
    const float *x = range->data->x + row * columns;
    ep_real *value = r->network.values[0] + i * columns;
    for (int64_t j = 0; j < columns; j++) value[j] = x[j];
    const char *y = (const char *)range->data->y + row * targets * (int64_t)sizeof(float);
    memcpy((char *)r->target + i * targets * (int64_t)sizeof(float), y,
           (size_t)targets * sizeof(float));
  }
}

/* Mean loss of a range of rows and its misclassified targets; with `train`, the gradient of that
 * mean is left in grad_parameters. */
static double run_rows(reference *r, row_range range, bool train, int64_t *errors) {
  const ep_program *program = r->program;
  ep_network *network = &r->network;
  int64_t count = range.rows * program->target_columns, end = range.first + range.rows;
  double sum = 0;
  *errors = 0;
  if (train) {
    memset(network->grad_parameters, 0, (size_t)program->parameters * sizeof(double));
  }
  for (; range.first < end; range.first += range.rows) {
    int64_t left = end - range.first;
    range.rows = left < network->capacity ? left : network->capacity;
    gather(r, &range);
    const ep_real *output = ep_network_forward(network, r->state, range.rows);
    sum += ep_reference_loss(program, output, r->target, range.rows, count,
                             train ? network->grad : NULL, errors);
    if (train) ep_network_backward(network, r->state, range.rows);
  }
  return sum / (double)count;
}

static ep_status reference_train_segment(void *self, const ep_segment *segment, ep_error *error) {
  (void)error;
  reference *r = self;
  const ep_program *program = r->program;
  int64_t steps_per_epoch = ep_program_steps_per_epoch(program);
  ep_real *velocity = program->optimizer_floats > 0 ? r->state + program->parameters : NULL;
  for (int64_t i = 0; i < segment->steps; i++) {
    int64_t epoch = (segment->first_step + i) / steps_per_epoch;
    int64_t batch = (segment->first_step + i) % steps_per_epoch;
    ep_permutation order;
    /* A full batch has all rows in any order. */
    bool shuffle = program->shuffle && steps_per_epoch > 1;
    if (shuffle) {
      order = ep_permutation_make(program->seed, EP_RANDOM_SHUFFLE, (uint64_t)epoch,
                                  (uint64_t)program->train_rows);
    }
    row_range range = {.data = &r->splits[EP_SPLIT_TRAIN],
                       .order = shuffle ? &order : NULL,
                       .first = batch * program->batch_size,
                       .rows = ep_program_batch_rows(program, batch)};
    int64_t errors;
    segment->loss[i] = (float)run_rows(r, range, true, &errors);
    segment->errors[i] = errors < INT32_MAX ? (int32_t)errors : INT32_MAX;
    ep_reference_update(&program->optimizer, segment->lr[segment->lr_count == 1 ? 0 : i],
                        program->parameters, r->state, r->network.grad_parameters, velocity);
  }
  return EP_OK;
}

static ep_status reference_evaluate(void *self, ep_split split, double *loss, int64_t *errors,
                                    ep_error *error) {
  (void)error;
  reference *r = self;
  row_range range = {.data = &r->splits[split], .rows = r->splits[split].rows};
  *loss = run_rows(r, range, false, errors);
  return EP_OK;
}

static ep_status reference_predict(void *self, const float *x, int64_t rows, float *output,
                                   ep_error *error) {
  (void)error;
  reference *r = self;
  int64_t columns = r->program->in_features, outputs = r->program->out_features;
  while (rows > 0) {
    int64_t piece = rows < r->network.capacity ? rows : r->network.capacity;
    for (int64_t i = 0; i < piece * columns; i++) r->network.values[0][i] = x[i];
    const ep_real *y = ep_network_forward(&r->network, r->state, piece);
    for (int64_t i = 0; i < piece * outputs; i++) output[i] = (float)y[i];
    x += piece * columns;
    output += piece * outputs;
    rows -= piece;
  }
  return EP_OK;
}

static ep_status reference_export_state(void *self, float *parameters, float *optimizer,
                                        ep_error *error) {
  (void)error;
  const reference *r = self;
  const ep_real *velocity = r->state + r->program->parameters;
  for (int64_t i = 0; i < r->program->parameters; i++) parameters[i] = (float)r->state[i];
  for (int64_t i = 0; optimizer && i < r->program->optimizer_floats; i++) {
    optimizer[i] = (float)velocity[i];
  }
  return EP_OK;
}

/* Without an optimizer's state it starts from zero. */
static ep_status reference_import_state(void *self, const float *parameters, const float *optimizer,
                                        ep_error *error) {
  (void)error;
  reference *r = self;
  ep_real *velocity = r->state + r->program->parameters;
  for (int64_t i = 0; i < r->program->parameters; i++) r->state[i] = parameters[i];
  for (int64_t i = 0; i < r->program->optimizer_floats; i++) {
    velocity[i] = optimizer ? optimizer[i] : 0;
  }
  return EP_OK;
}

static ep_status reference_snapshot(void *self, ep_error *error) {
  reference *r = self;
  size_t bytes = (size_t)r->state_count * sizeof *r->state;
  if (!r->kept) r->kept = malloc(bytes > 0 ? bytes : 1);
  if (!r->kept) return ep_fail(error, EP_NO_MEMORY, "no memory for a snapshot of the state");
  memcpy(r->kept, r->state, bytes);
  return EP_OK;
}

static ep_status reference_rollback(void *self, ep_error *error) {
  reference *r = self;
  if (!r->kept) return ep_fail(error, EP_CONFLICT, "there is no snapshot to go back to");
  memcpy(r->state, r->kept, (size_t)r->state_count * sizeof *r->state);
  return EP_OK;
}

const ep_executor ep_cpu_reference = {
    .name = "cpu/reference",
    .capabilities = {~UINT64_C(0), ~UINT32_C(0), ~UINT32_C(0)},
    .accepts = reference_accepts,
    .create = reference_create,
    .destroy = reference_destroy,
    .bytes = reference_bytes,
    .load_data = reference_load_data,
    .train_segment = reference_train_segment,
    .evaluate = reference_evaluate,
    .predict = reference_predict,
    .export_state = reference_export_state,
    .import_state = reference_import_state,
    .snapshot = reference_snapshot,
    .rollback = reference_rollback,
};
