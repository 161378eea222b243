#include "kernels/cuda/instance.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/network/feed.h"
#include "kernels/operators/values.h"

typedef struct {
  void *x; /* device: rows as the network holds them; the training set's are the network's own */
  void *y; /* device [rows, target_columns] */
  int64_t rows, bytes;
  const char *host_x, *host_y; /* lent; not NULL when the rows stay there */
  const char *lent_x;          /* where the rows were copied from: lent, and the same ever since */
} split_data;

struct ep_instance {
  ep_cuda_network *network;
  const ep_cuda_executor *executor;
  void *executor_state;
  ep_cuda_graphs graphs; /* of steps, unless segments are run; from the first segment on */
  bool adopted;          /* the executor knows the parameters and training rows that are there */
  split_data splits[EP_SPLIT_COUNT];
  ep_cuda_feed *feed; /* training rows that are streamed */
  /* A segment's, for `segment_steps` steps: learning rates in; losses, errors out. update: only for
   * an executor that runs segments, and an optimizer whose rates are more than the lr. */
  float *lr, *loss;
  int32_t *errors;
  ep_optimizer_step *update;
  int64_t segment_steps, segment_bytes;
  float *kept_parameters, *kept_state; /* a snapshot's */
  int64_t kept_bytes;
  bool kept;
};

/* An instance is made with memory for a segment of so many steps: to take it anew costs a training
 * some 45 us. */
enum { SEGMENT_STEPS_LEAST = 1024 };

static const ep_program *program_of(const ep_instance *self) {
  return self->network->program;
}

/* --- transfers ----------------------------------------------------------------------------- */

static ep_status copy(ep_instance *self, void *to, const void *from, int64_t count, int64_t bytes,
                      enum cudaMemcpyKind kind, ep_error *error) {
  if (count == 0) return EP_OK;
  EP_CUDA_TRY(cudaMemcpyAsync(to, from, (size_t)(count * bytes), kind, self->network->stream),
              "copying to or from the device");
  return EP_OK;
}

static ep_status wait(ep_instance *self, ep_error *error) {
  EP_CUDA_TRY(cudaStreamSynchronize(self->network->stream), "the work on the device");
  return EP_OK;
}

/* Joins a status with the end of the stream's work: host memory lent for a copy must not be given
 * back before. */
static ep_status finish(ep_instance *self, ep_status status, ep_error *error) {
  ep_status waited = wait(self, status == EP_OK ? error : NULL);
  return status == EP_OK ? waited : status;
}

/* --- create, destroy ----------------------------------------------------------------------- */

static bool runs_segments(const ep_instance *self) {
  return self->executor->run != NULL;
}

static void segment_free(ep_instance *self) {
  ep_cuda_free(self->update);
  ep_cuda_free(self->errors);
  ep_cuda_free(self->loss);
  ep_cuda_free(self->lr);
  self->update = NULL;
  self->errors = NULL;
  self->loss = self->lr = NULL;
  self->segment_steps = self->segment_bytes = 0;
}

static ep_status segment_reserve(ep_instance *self, int64_t steps, ep_error *error) {
  if (steps <= self->segment_steps) return EP_OK;
  if (steps < SEGMENT_STEPS_LEAST) steps = SEGMENT_STEPS_LEAST;
  segment_free(self);
  const int64_t size = (int64_t)sizeof(float);
  ep_status status = ep_cuda_allocate(self->network->backend, (void **)&self->lr, steps, size,
                                      &self->segment_bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(self->network->backend, (void **)&self->loss, steps, size,
                              &self->segment_bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(self->network->backend, (void **)&self->errors, steps, size,
                              &self->segment_bytes, error);
  if (status == EP_OK && runs_segments(self) &&
      !ep_optimizer_is_plain(program_of(self)->optimizer.type))
    status = ep_cuda_allocate(self->network->backend, (void **)&self->update, steps,
                              (int64_t)sizeof *self->update, &self->segment_bytes, error);
  if (status == EP_OK)
    self->segment_steps = steps;
  else
    segment_free(self);
  return status;
}

/* Sets the device's clock to the start of a segment. */
static ep_status clock_set(ep_instance *self, int64_t first_step, int64_t lr_count,
                           ep_error *error) {
  int64_t steps_per_epoch = ep_program_steps_per_epoch(program_of(self));
  ep_cuda_clock clock = {.epoch = first_step / steps_per_epoch,
                         .batch = first_step % steps_per_epoch,
                         .steps_per_epoch = steps_per_epoch,
                         .lr = self->lr,
                         .lr_count = lr_count,
                         .loss = self->loss,
                         .errors = self->errors};
  EP_CUDA_TRY(cudaMemcpyAsync(self->network->clock, &clock, sizeof clock, cudaMemcpyHostToDevice,
                              self->network->stream),
              "setting the clock");
  return EP_OK;
}

static ep_status state_clear(ep_instance *self, ep_error *error) {
  const ep_program *program = program_of(self);
  ep_cuda_network *network = self->network;
  const size_t size = sizeof(float);
  if (ep_program_state_floats(program) > 0)
    EP_CUDA_TRY(cudaMemsetAsync(network->parameters, 0,
                                (size_t)ep_program_state_floats(program) * size, network->stream),
                "clearing the parameters");
  if (program->optimizer_floats > 0)
    EP_CUDA_TRY(cudaMemsetAsync(network->state, 0, (size_t)program->optimizer_floats * size,
                                network->stream),
                "clearing the optimizer's state");
  return EP_OK;
}

static ep_status step_queue(void *context, int64_t rows, ep_error *error) {
  const ep_instance *self = context;
  if (self->executor->step) return self->executor->step(self->executor_state, rows, error);
  ep_status status = self->executor->gradients(self->executor_state, rows, error);
  return status == EP_OK ? ep_cuda_network_update(self->network, error) : status;
}

static ep_cuda_step step_of(ep_instance *self) {
  return (ep_cuda_step){step_queue, self};
}

/* Runs a step of each kind on zeros, and forgets it: so that every kernel is loaded, and each
 * product's algorithm chosen, before a graph records them. */
static ep_status rehearse(ep_instance *self, ep_error *error) {
  const ep_program *program = program_of(self);
  int64_t last = ep_program_steps_per_epoch(program) - 1;
  const float lr = 0;
  const ep_cuda_step step = step_of(self);
  const int64_t size = (int64_t)sizeof lr;
  ep_status status = copy(self, self->lr, &lr, 1, size, cudaMemcpyHostToDevice, error);
  for (int64_t batch = 0; status == EP_OK && batch <= last; batch += last > 0 ? last : 1) {
    status = clock_set(self, batch, 1, error);
    if (status == EP_OK)
      status = step.queue(step.self, ep_program_batch_rows(program, batch), error);
  }
  if (status == EP_OK) status = state_clear(self, error);
  return finish(self, status, error);
}

static void split_free(split_data *data) {
  ep_cuda_free(data->y);
  ep_cuda_free(data->x);
  memset(data, 0, sizeof *data);
}

void ep_cuda_instance_destroy(ep_instance *self) {
  if (!self) return;
  if (self->network) cudaStreamSynchronize(self->network->stream);
  ep_cuda_free(self->kept_state);
  ep_cuda_free(self->kept_parameters);
  segment_free(self);
  ep_cuda_feed_destroy(self->feed);
  if (self->executor->destroy) self->executor->destroy(self->executor_state);
  split_free(&self->splits[EP_SPLIT_VALIDATION]);
  split_free(&self->splits[EP_SPLIT_TEST]);
  ep_cuda_graphs_deinit(&self->graphs);
  ep_cuda_network_destroy(self->network);
  free(self);
}

ep_status ep_cuda_instance_create(ep_backend *backend, const ep_program *program,
                                  const ep_cuda_executor *executor, ep_instance **out,
                                  ep_error *error) {
  *out = NULL;
  ep_instance *self = calloc(1, sizeof *self);
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for an instance");
  self->executor = executor;
  const ep_cuda_share share = {.evaluates = ep_program_ranks(program) > 1, /* its ranks train */
                               .numbers = executor->takes_numbers};
  ep_status status = ep_cuda_network_create(backend, program, &share, &self->network, error);
  if (status == EP_OK && runs_segments(self) && !self->network->resident) /* others stream them */
    status = ep_fail(error, EP_UNSUPPORTED, "the training rows do not fit the device");
  if (status == EP_OK) status = executor->create(self->network, &self->executor_state, error);
  if (status == EP_OK) status = segment_reserve(self, 1, error);
  if (status == EP_OK && !runs_segments(self)) status = rehearse(self, error);
  if (status != EP_OK) {
    ep_cuda_instance_destroy(self);
    return status;
  }
  *out = self;
  return EP_OK;
}

void ep_cuda_instance_info(const ep_instance *self, ep_instance_info *out) {
  out->executor = self->executor->profile->name;
  out->ranks = 0;
  out->bytes = self->network->memory.bytes + self->segment_bytes + self->kept_bytes +
               ep_cuda_feed_bytes(self->feed);
  for (int split = 0; split < EP_SPLIT_COUNT; split++) out->bytes += self->splits[split].bytes;
  if (self->executor->info) self->executor->info(self->executor_state, out);
}

const ep_backend *ep_cuda_instance_backend(const ep_instance *self) {
  return self->network->backend;
}

/* --- data ---------------------------------------------------------------------------------- */

static ep_status classes_check(const ep_program *program, const int32_t *y, int64_t rows,
                               ep_error *error) {
  for (int64_t row = 0; row < rows; row++)
    if (y[row] < 0 || y[row] >= program->out_features)
      return ep_fail(error, EP_DATA, "row %lld is of class %d, and the network has %lld outputs",
                     (long long)row, y[row], (long long)program->out_features);
  return EP_OK;
}

/* An embedding's numbers, which choose rows of its table. */
static ep_status embedded_check(const ep_program *program, const float *x, int64_t rows,
                                ep_error *error) {
  const int64_t columns = program->in_features;
  for (int number = 0; number < program->ops_count; number++) {
    const ep_op *op = &program->ops[number];
    if (op->type != EP_LAYER_EMBEDDING || program->x_type != EP_X_FLOAT32) continue;
    const int64_t first = ep_value_data_column(program, op->input[0]);
    for (int64_t i = 0; i < rows * op->in_features; i++) {
      const int64_t row = i / op->in_features, column = i % op->in_features;
      const float word = x[row * columns + first + column];
      if (column >= op->numbers && !(word >= 0 && word < (float)op->embeddings))
        return ep_fail(error, EP_DATA, "row %lld holds %g, and the embedding has %lld rows",
                       (long long)row, (double)word, (long long)op->embeddings);
    }
  }
  return EP_OK;
}

static ep_status split_reserve(ep_instance *self, ep_split split, int64_t rows, ep_error *error) {
  const ep_program *program = program_of(self);
  split_data *data = &self->splits[split];
  if (split == EP_SPLIT_TRAIN) {
    if (rows != program->train_rows)
      return ep_fail(error, EP_INTERNAL, "%lld training rows, and the program was made for %lld",
                     (long long)rows, (long long)program->train_rows);
    *data = (split_data){.x = self->network->train_x, .y = self->network->train_y, .rows = rows};
    return EP_OK;
  }
  split_free(data);
  const int64_t size = (int64_t)sizeof(float); /* columns are few enough for a product of two */
  ep_status status =
      ep_cuda_allocate(self->network->backend, &data->x, rows,
                       ep_cuda_network_row_bytes(self->network), &data->bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(self->network->backend, &data->y, rows,
                              program->target_columns * size, &data->bytes, error);
  if (status == EP_OK)
    data->rows = rows;
  else
    split_free(data);
  return status;
}

/* The rows stay on the host, and are streamed from there. */
static ep_status feed_load(ep_instance *self, const void *x, const void *y, ep_error *error) {
  split_data *data = &self->splits[EP_SPLIT_TRAIN];
  ep_cuda_feed_destroy(self->feed);
  self->feed = NULL;
  data->host_x = x;
  data->host_y = y;
  return ep_cuda_feed_create(self->network, x, y, &self->feed, error);
}

static int64_t chunk_rows(const ep_instance *self, int64_t left) {
  return left < self->network->capacity_rows ? left : self->network->capacity_rows;
}

/* x: host [rows, stored], to where the split's rows lie on the device. */
static ep_status rows_load(ep_instance *self, const split_data *data, const void *x,
                           ep_error *error) {
  ep_cuda_network *network = self->network;
  const int64_t stored_bytes = ep_cuda_row_bytes(network->program);
  if (network->plain || !network->numbers)
    return copy(self, data->x, x, data->rows, stored_bytes, cudaMemcpyHostToDevice, error);
  ep_status status = EP_OK;
  for (int64_t row = 0, rows; status == EP_OK && row < data->rows; row += rows) {
    rows = chunk_rows(self, data->rows - row);
    status = copy(self, network->stage_x, (const char *)x + row * stored_bytes, rows, stored_bytes,
                  cudaMemcpyHostToDevice, error);
    if (status == EP_OK)
      status = ep_cuda_network_load(network, network->stage_x, rows,
                                    (float *)data->x + row * network->program->in_features, error);
  }
  return status;
}

ep_status ep_cuda_instance_load_data(ep_instance *self, ep_split split, const void *x,
                                     const void *y, int64_t rows, ep_error *error) {
  const ep_program *program = program_of(self);
  ep_status status = embedded_check(program, x, rows, error);
  if (status == EP_OK && ep_loss_takes_classes(program->loss))
    status = classes_check(program, y, rows, error);
  if (status == EP_OK) status = split_reserve(self, split, rows, error);
  if (status != EP_OK) return status;
  if (split == EP_SPLIT_TRAIN) {
    self->adopted = false;
    self->network->loads++;
  }
  if (split == EP_SPLIT_TRAIN && !self->network->resident) return feed_load(self, x, y, error);
  split_data *data = &self->splits[split];
  data->lent_x = x;
  status = rows_load(self, data, x, error);
  if (status == EP_OK)
    status = copy(self, data->y, y, rows, program->target_columns * (int64_t)sizeof(float),
                  cudaMemcpyHostToDevice, error);
  return finish(self, status, error);
}

/* --- training ------------------------------------------------------------------------------ */

static ep_status segment_check(const ep_instance *self, const ep_segment *segment,
                               ep_error *error) {
  if (self->splits[EP_SPLIT_TRAIN].rows == 0)
    return ep_fail(error, EP_INTERNAL, "no training data on the device");
  if (segment->first_step < 0 || segment->steps < 0 ||
      (segment->lr_count != 1 && segment->lr_count != segment->steps))
    return ep_fail(error, EP_INTERNAL, "a segment of %lld steps from %lld with %lld learning rates",
                   (long long)segment->steps, (long long)segment->first_step,
                   (long long)segment->lr_count);
  return EP_OK;
}

/* By an executor that runs segments. */
static ep_status segment_run(ep_instance *self, const ep_segment *segment, ep_error *error) {
  if (self->update)
    EP_CUDA_TRY(ep_cuda_optimizer_steps(self->network->stream, &program_of(self)->optimizer,
                                        segment->first_step, segment->steps, self->lr,
                                        segment->lr_count, self->update),
                "preparing the steps");
  ep_cuda_segment queued = {.first_step = segment->first_step,
                            .steps = segment->steps,
                            .lr = self->lr,
                            .lr_count = segment->lr_count,
                            .update = self->update,
                            .loss = self->loss,
                            .errors = self->errors};
  return self->executor->run(self->executor_state, &queued, error);
}

/* Queues the steps of a segment whose learning rates are on the device. */
static ep_status steps_run(ep_instance *self, const ep_segment *segment, ep_error *error) {
  if (runs_segments(self)) return segment_run(self, segment, error);
  const ep_cuda_step step = step_of(self);
  ep_status status = self->graphs.one.exec
                         ? EP_OK
                         : ep_cuda_graphs_init(self->network, &step, &self->graphs, error);
  if (status == EP_OK) status = clock_set(self, segment->first_step, segment->lr_count, error);
  if (status == EP_OK && self->executor->adopt && !self->adopted)
    status = self->executor->adopt(self->executor_state, error);
  if (status != EP_OK) return status;
  self->adopted = true;
  status = self->feed ? ep_cuda_feed_run(self->feed, &self->graphs, segment->first_step,
                                         segment->steps, error)
                      : ep_cuda_graphs_run(&self->graphs, self->network, &step, segment->first_step,
                                           segment->steps, error);
  if (status != EP_OK || !self->executor->settle) return status;
  return self->executor->settle(self->executor_state, error);
}

ep_status ep_cuda_instance_train_segment(ep_instance *self, const ep_segment *segment,
                                         ep_error *error) {
  const int64_t size = (int64_t)sizeof(float);
  ep_status status = segment_check(self, segment, error);
  if (status != EP_OK || segment->steps == 0) return status;
  status = segment_reserve(self, segment->steps, error);
  if (status == EP_OK)
    status =
        copy(self, self->lr, segment->lr, segment->lr_count, size, cudaMemcpyHostToDevice, error);
  if (status == EP_OK) status = steps_run(self, segment, error);
  if (status == EP_OK)
    status =
        copy(self, segment->loss, self->loss, segment->steps, size, cudaMemcpyDeviceToHost, error);
  if (status == EP_OK)
    status = copy(self, segment->errors, self->errors, segment->steps, size, cudaMemcpyDeviceToHost,
                  error);
  return finish(self, status, error);
}

/* --- evaluation ---------------------------------------------------------------------------- */

/* Rows on the device as the network takes them. held: they are of a split; else as stored. */
static ep_status input_of(ep_instance *self, const void *x, bool held, int64_t rows,
                          const float **input, ep_error *error) {
  *input = x;
  if (held ? self->network->numbers : self->network->plain) return EP_OK;
  *input = self->network->input;
  return ep_cuda_network_take(self->network, x, NULL, NULL, rows, false, error);
}

/* Rows first … first + rows - 1 of a split: where they lie on the device. */
static ep_status chunk_of(ep_instance *self, const split_data *data, int64_t first, int64_t rows,
                          const char **x, const char **y, ep_error *error) {
  const ep_program *program = program_of(self);
  int64_t x_bytes = ep_cuda_row_bytes(program);
  int64_t y_bytes = program->target_columns * (int64_t)sizeof(float);
  if (!data->host_x) {
    *x = (const char *)data->x + first * ep_cuda_network_row_bytes(self->network);
    *y = (const char *)data->y + first * y_bytes;
    return EP_OK;
  }
  *x = self->network->stage_x;
  *y = self->network->stage_y;
  ep_status status = copy(self, self->network->stage_x, data->host_x + first * x_bytes, rows,
                          x_bytes, cudaMemcpyHostToDevice, error);
  if (status != EP_OK) return status;
  return copy(self, self->network->stage_y, data->host_y + first * y_bytes, rows, y_bytes,
              cudaMemcpyHostToDevice, error);
}

ep_status ep_cuda_instance_evaluate(ep_instance *self, ep_split split, double *loss,
                                    int64_t *errors, ep_error *error) {
  const split_data *data = &self->splits[split];
  ep_cuda_tally tally = {0, 0, 0};
  if (data->rows == 0) return ep_fail(error, EP_INTERNAL, "no data of that split on the device");
  EP_CUDA_TRY(cudaMemsetAsync(self->network->tally, 0, sizeof tally, self->network->stream),
              "clearing the sums");
  ep_status status = EP_OK;
  for (int64_t row = 0, rows; status == EP_OK && row < data->rows; row += rows) {
    const char *x, *y;
    const float *input;
    rows = chunk_rows(self, data->rows - row);
    status = chunk_of(self, data, row, rows, &x, &y, error);
    if (status == EP_OK) status = input_of(self, x, true, rows, &input, error);
    if (status == EP_OK) status = ep_cuda_network_tally(self->network, input, y, rows, error);
  }
  if (status == EP_OK)
    status = copy(self, &tally, self->network->tally, 1, (int64_t)sizeof tally,
                  cudaMemcpyDeviceToHost, error);
  status = finish(self, status, error);
  if (status != EP_OK) return status;
  *loss = tally.loss / tally.weight;
  *errors = tally.errors;
  return EP_OK;
}

/* Where host rows lie on the device already, as part of a split; NULL when they do not. */
static const char *rows_find(const ep_instance *self, const char *x, int64_t rows) {
  int64_t row_bytes = ep_cuda_row_bytes(program_of(self));
  for (int i = 0; i < EP_SPLIT_COUNT; i++) {
    const split_data *data = &self->splits[i];
    if (!data->lent_x || x < data->lent_x) continue;
    int64_t before = x - data->lent_x;
    if (before + rows * row_bytes <= data->rows * row_bytes)
      return (const char *)data->x + before / row_bytes * ep_cuda_network_row_bytes(self->network);
  }
  return NULL;
}

ep_status ep_cuda_instance_predict(ep_instance *self, const void *x, int64_t rows, float *output,
                                   ep_error *error) {
  const ep_program *program = program_of(self);
  int64_t row_bytes = ep_cuda_row_bytes(program);
  void *stage = self->network->plain ? self->network->input : self->network->stage_x;
  const char *there = rows_find(self, x, rows), *stored = stage;
  ep_status status = embedded_check(program, x, rows, error);
  for (int64_t row = 0, count; status == EP_OK && row < rows; row += count) {
    const float *input, *result;
    count = chunk_rows(self, rows - row);
    if (there)
      stored = there + row * ep_cuda_network_row_bytes(self->network);
    else
      status = copy(self, stage, (const char *)x + row * row_bytes, count, row_bytes,
                    cudaMemcpyHostToDevice, error);
    if (status == EP_OK) status = input_of(self, stored, there != NULL, count, &input, error);
    if (status == EP_OK)
      status = ep_cuda_network_forward(self->network, input, count, false, &result, error);
    if (status == EP_OK)
      status = copy(self, output + row * program->out_features, result, count,
                    program->out_features * (int64_t)sizeof(float), cudaMemcpyDeviceToHost, error);
  }
  return finish(self, status, error);
}

/* --- state --------------------------------------------------------------------------------- */

/* Parameters and optimizer state from one place to another; either may lie on the device. */
static ep_status state_copy(ep_instance *self, float *parameters, float *optimizer,
                            const float *from_parameters, const float *from_optimizer,
                            enum cudaMemcpyKind kind, ep_error *error) {
  const ep_program *program = program_of(self);
  const int64_t size = (int64_t)sizeof(float);
  ep_status status =
      copy(self, parameters, from_parameters, ep_program_state_floats(program), size, kind, error);
  if (status == EP_OK)
    status = copy(self, optimizer, from_optimizer, program->optimizer_floats, size, kind, error);
  return finish(self, status, error);
}

ep_status ep_cuda_instance_export_state(ep_instance *self, float *parameters, float *optimizer,
                                        ep_error *error) {
  return state_copy(self, parameters, optimizer, self->network->parameters, self->network->state,
                    cudaMemcpyDeviceToHost, error);
}

ep_status ep_cuda_instance_import_state(ep_instance *self, const float *parameters,
                                        const float *optimizer, ep_error *error) {
  self->adopted = false;
  return state_copy(self, self->network->parameters, self->network->state, parameters, optimizer,
                    cudaMemcpyHostToDevice, error);
}

static ep_status snapshot_reserve(ep_instance *self, ep_error *error) {
  const ep_program *program = program_of(self);
  const int64_t size = (int64_t)sizeof(float);
  if (self->kept_bytes > 0) return EP_OK;
  int64_t bytes = 0;
  ep_status status = ep_cuda_allocate(self->network->backend, (void **)&self->kept_parameters,
                                      ep_program_state_floats(program), size, &bytes, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(self->network->backend, (void **)&self->kept_state,
                              program->optimizer_floats, size, &bytes, error);
  if (status != EP_OK) {
    ep_cuda_free(self->kept_parameters);
    self->kept_parameters = NULL;
    return status;
  }
  self->kept_bytes = bytes;
  return EP_OK;
}

ep_status ep_cuda_instance_snapshot(ep_instance *self, ep_error *error) {
  ep_status status = snapshot_reserve(self, error);
  if (status != EP_OK) return status;
  status = state_copy(self, self->kept_parameters, self->kept_state, self->network->parameters,
                      self->network->state, cudaMemcpyDeviceToDevice, error);
  if (status == EP_OK) self->kept = true;
  return status;
}

ep_status ep_cuda_instance_rollback(ep_instance *self, ep_error *error) {
  if (!self->kept) return ep_fail(error, EP_INTERNAL, "no snapshot to restore");
  self->adopted = false;
  return state_copy(self, self->network->parameters, self->network->state, self->kept_parameters,
                    self->kept_state, cudaMemcpyDeviceToDevice, error);
}
