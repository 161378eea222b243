/* cpu/reference: the readable truth that every other executor is tested against. It takes every
 * program, and takes a batch a few rows at a time: sums run on in the order of the rows, so the
 * pieces change no bit, and memory does not grow with the batch. Only batch_norm must see a
 * training batch as a whole: with it, the batch is one piece. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/executors/executor.h"
#include "kernels/cpu/executors/reference/plan.h"
#include "kernels/cpu/layers/batch.h"
#include "kernels/cpu/layers/losses.h"
#include "kernels/cpu/layers/network.h"
#include "kernels/cpu/layers/optimizers.h"
#include "kernels/cpu/runtime/cpu.h"
#include "kernels/random.h"

enum { PIECE_ROWS = 128 }; /* rows at a time: small layers' values stay in the cache */

typedef struct {
  const void *x; /* [rows, the stored shape's count] of x_type, lent */
  const void *y; /* float [rows, target_columns] or int32 [rows], lent */
  int64_t rows;
} split_data;

typedef struct {
  const ep_program *program; /* lent */
  ep_network network;
  int64_t state_count; /* parameters + buffers + optimizer_floats */
  ep_real *state;      /* [state_count]: in that order */
  ep_real *kept;       /* [state_count]: the snapshot; NULL before the first */
  double *grad;        /* [parameters] */
  void *target;        /* the piece's y: [capacity, target_columns] of 4 bytes */
  split_data splits[EP_SPLIT_COUNT];
} reference;

/* Which rows of a split: first … first + rows - 1, through the epoch's permutation unless NULL. */
typedef struct {
  const split_data *data;
  const ep_permutation *order;
  int64_t first, rows;
  bool train; /* augmented, dropped out, and with a gradient; in … */
  int64_t epoch, step;
} row_range;

static void reference_destroy(void *self) {
  reference *r = self;
  if (!r) return;
  free(r->target);
  free(r->grad);
  free(r->kept);
  free(r->state);
  ep_network_deinit(&r->network);
  free(r);
}

static int64_t piece_capacity(const ep_program *program) {
  if (ep_reference_needs_whole_batch(program)) return program->batch_size;
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
  ep_status status =
      ep_network_init(&r->network, program, 0, program->ops_count, capacity, true, error);
  if (status == EP_OK && (__builtin_add_overflow(ep_program_state_floats(program),
                                                 program->optimizer_floats, &r->state_count) ||
                          __builtin_mul_overflow(capacity, program->target_columns, &targets))) {
    status = ep_fail(error, EP_TOO_LARGE, "the program's state is too large");
  }
  if (status == EP_OK) {
    r->state = calloc(r->state_count > 0 ? (size_t)r->state_count : 1, sizeof *r->state);
    r->target = calloc((size_t)targets, sizeof(float));
    r->grad = calloc(program->parameters > 0 ? (size_t)program->parameters : 1, sizeof *r->grad);
    if (!r->state || !r->target || !r->grad) {
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
  bytes += program->parameters * (int64_t)sizeof *r->grad;
  bytes += r->network.capacity * program->target_columns * (int64_t)sizeof(float);
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    int64_t x_size = program->x_type == EP_X_UINT8 ? 1 : (int64_t)sizeof(float);
    int64_t row_bytes =
        ep_shape_count(program->stored) * x_size + program->target_columns * (int64_t)sizeof(float);
    bytes += r->splits[split].rows * row_bytes;
  }
  return bytes;
}

static ep_status reference_load_data(void *self, ep_split split, const void *x, const void *y,
                                     int64_t rows, ep_error *error) {
  (void)error;
  reference *r = self;
  r->splits[split] = (split_data){x, y, rows};
  return EP_OK;
}

static int64_t row_at(const row_range *range, int64_t i) {
  int64_t at = range->first + i;
  return range->order ? (int64_t)ep_permutation_at(range->order, (uint32_t)at) : at;
}

static const void *target_of(const reference *r, const row_range *range, int64_t row) {
  size_t row_bytes = (size_t)r->program->target_columns * sizeof(float);
  return (const char *)range->data->y + (size_t)row * row_bytes;
}

/* Copies rows into the network's input and the targets beside them. */
static void gather(reference *r, const row_range *range) {
  const ep_program *program = r->program;
  size_t target_bytes = (size_t)program->target_columns * sizeof(float);
  for (int64_t i = 0; i < range->rows; i++) {
    int64_t row = row_at(range, i);
    ep_real *value = r->network.values[0] + i * program->in_features;
    if (range->train) {
      ep_reference_read_training_row(program, range->data->x, row, range->epoch, value);
    } else {
      ep_reference_read_evaluation_row(program, range->data->x, row, value);
    }
    memcpy((char *)r->target + (size_t)i * target_bytes, target_of(r, range, row), target_bytes);
  }
}

/* What the mean loss of a range divides by. */
static double loss_divisor(const reference *r, const row_range *range) {
  double sum = 0;
  for (int64_t i = 0; i < range->rows; i++) {
    sum += ep_reference_loss_share(r->program, target_of(r, range, row_at(range, i)));
  }
  return sum;
}

static ep_reference_pass pass_of(const reference *r, const row_range *piece, int64_t first_row) {
  return (ep_reference_pass){.parameters = r->state,
                             .buffers = r->state + r->program->parameters,
                             .rows = piece->rows,
                             .first_row = first_row,
                             .step = piece->step,
                             .seed = r->program->seed,
                             .training = piece->train};
}

/* Mean loss of a range of rows and its misclassified targets; in training, the gradient of that
 * mean is left in `grad`. */
static double run_rows(reference *r, row_range range, int64_t *errors) {
  const ep_program *program = r->program;
  ep_network *network = &r->network;
  int64_t first = range.first, end = range.first + range.rows;
  double sum = 0, divisor = loss_divisor(r, &range);
  *errors = 0;
  if (range.train) {
    memset(r->grad, 0, (size_t)program->parameters * sizeof *r->grad);
  }
  for (; range.first < end; range.first += range.rows) {
    int64_t left = end - range.first;
    range.rows = left < network->capacity ? left : network->capacity;
    gather(r, &range);
    ep_reference_pass pass = pass_of(r, &range, range.first - first);
    const ep_real *output = ep_network_forward(network, &pass);
    sum += ep_reference_loss(program, output, r->target, range.rows, divisor,
                             range.train ? network->grad : NULL, errors);
    if (range.train) ep_network_backward(network, &pass, r->grad);
  }
  return sum / divisor;
}

static ep_real *optimizer_state(const reference *r) {
  return r->state + ep_program_state_floats(r->program);
}

/* One step: a batch's gradient and the update. */
static void train_step(reference *r, int64_t step, float lr, float *loss, int32_t *errors) {
  const ep_program *program = r->program;
  int64_t steps_per_epoch = ep_program_steps_per_epoch(program);
  int64_t epoch = step / steps_per_epoch, batch = step % steps_per_epoch, misses;
  bool shuffle = ep_program_shuffles(program);
  ep_permutation order;
  if (shuffle) {
    order = ep_permutation_make(program->seed, EP_RANDOM_SHUFFLE, (uint64_t)epoch,
                                (uint64_t)program->train_rows);
  }
  row_range range = {.data = &r->splits[EP_SPLIT_TRAIN],
                     .order = shuffle ? &order : NULL,
                     .first = batch * program->batch_size,
                     .rows = ep_program_batch_rows(program, batch),
                     .train = true,
                     .epoch = epoch,
                     .step = step};
  *loss = (float)run_rows(r, range, &misses);
  *errors = misses < INT32_MAX ? (int32_t)misses : INT32_MAX;
  ep_reference_update(program, step, lr, r->state, r->grad, optimizer_state(r));
}

static ep_status reference_train_segment(void *self, const ep_segment *segment, ep_error *error) {
  (void)error;
  for (int64_t i = 0; i < segment->steps; i++) {
    float lr = segment->lr[segment->lr_count == 1 ? 0 : i];
    train_step(self, segment->first_step + i, lr, &segment->loss[i], &segment->errors[i]);
  }
  return EP_OK;
}

static ep_status reference_evaluate(void *self, ep_split split, double *loss, int64_t *errors,
                                    ep_error *error) {
  (void)error;
  reference *r = self;
  row_range range = {.data = &r->splits[split], .rows = r->splits[split].rows};
  *loss = run_rows(r, range, errors);
  return EP_OK;
}

static ep_status reference_predict(void *self, const void *x, int64_t rows, float *output,
                                   ep_error *error) {
  (void)error;
  reference *r = self;
  int64_t columns = r->program->in_features, outputs = r->program->out_features;
  for (int64_t first = 0; first < rows; first += r->network.capacity) {
    int64_t left = rows - first;
    row_range piece = {.rows = left < r->network.capacity ? left : r->network.capacity};
    for (int64_t i = 0; i < piece.rows; i++) {
      ep_real *value = r->network.values[0] + i * columns;
      ep_reference_read_evaluation_row(r->program, x, first + i, value);
    }
    ep_reference_pass pass = pass_of(r, &piece, 0);
    const ep_real *y = ep_network_forward(&r->network, &pass);
    for (int64_t i = 0; i < piece.rows * outputs; i++) output[first * outputs + i] = (float)y[i];
  }
  return EP_OK;
}

static ep_status reference_export_state(void *self, float *parameters, float *optimizer,
                                        ep_error *error) {
  (void)error;
  const reference *r = self;
  const ep_real *slots = optimizer_state(r);
  for (int64_t i = 0; i < ep_program_state_floats(r->program); i++) {
    parameters[i] = (float)r->state[i];
  }
  for (int64_t i = 0; optimizer && i < r->program->optimizer_floats; i++) {
    optimizer[i] = (float)slots[i];
  }
  return EP_OK;
}

/* Without an optimizer's state it starts from zero. */
static ep_status reference_import_state(void *self, const float *parameters, const float *optimizer,
                                        ep_error *error) {
  (void)error;
  reference *r = self;
  ep_real *slots = optimizer_state(r);
  for (int64_t i = 0; i < ep_program_state_floats(r->program); i++) r->state[i] = parameters[i];
  for (int64_t i = 0; i < r->program->optimizer_floats; i++) {
    slots[i] = optimizer ? optimizer[i] : 0;
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
  if (!r->kept) return ep_fail(error, EP_CONFLICT, "no snapshot to restore");
  memcpy(r->state, r->kept, (size_t)r->state_count * sizeof *r->state);
  return EP_OK;
}

const ep_executor ep_cpu_reference = {
    .profile = &ep_cpu_reference_profile,
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
