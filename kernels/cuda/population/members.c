#include "kernels/cuda/population/members.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/plans/agreement.h"

/* --- what members have in common ------------------------------------------------------------ */

static bool member_is_sound(const ep_member *member) {
  return member->first_step >= 0 && member->steps >= 0 && member->steps <= INT32_MAX / 2 &&
         (member->lr_count == 1 || member->lr_count == member->steps);
}

ep_status ep_population_shape(const ep_population *population, ep_program *shape, ep_error *error) {
  *shape = *population->members[0].program;
  for (int64_t i = 0; i < population->count; i++) {
    const ep_member *member = &population->members[i];
    const ep_program *program = member->program;
    if (!member_is_sound(member))
      return ep_fail(error, EP_INVALID, "member %lld has %lld steps and %lld learning rates",
                     (long long)i, (long long)member->steps, (long long)member->lr_count);
    if (!ep_programs_agree(program, shape))
      return ep_fail(error, EP_INVALID, "programs 0 and %lld differ in more than numbers",
                     (long long)i);
    shape->optimizer.clip_norm = fmaxf(shape->optimizer.clip_norm, program->optimizer.clip_norm);
    shape->optimizer.clip_value = fmaxf(shape->optimizer.clip_value, program->optimizer.clip_value);
    shape->optimizer.momentum = fmaxf(shape->optimizer.momentum, program->optimizer.momentum);
  }
  if (population->train.rows == shape->train_rows) return EP_OK;
  return ep_fail(error, EP_INVALID, "%lld training rows, and the programs were made for %lld",
                 (long long)population->train.rows, (long long)shape->train_rows);
}

/* --- to the device -------------------------------------------------------------------------- */

/* The host's side of what is copied in one piece each. */
typedef struct {
  ep_population_member *members; /* [count] */
  ep_population_op *ops;         /* [count, ops] */
  float *lr;                     /* [lr_count] */
  float *parameters;             /* [count, parameters] */
  float *state;                  /* [count, optimizer_floats]; NULL where there are none */
  int32_t *order;                /* [count] */
  int64_t lr_count;
} staged;

static void staged_deinit(staged *self) {
  free(self->order);
  free(self->state);
  free(self->parameters);
  free(self->lr);
  free(self->ops);
  free(self->members);
}

static void *rows_allocate(int64_t rows, int64_t columns, size_t size) {
  int64_t count;
  if (__builtin_mul_overflow(rows, columns, &count)) return NULL;
  return calloc((size_t)count + 1, size);
}

static ep_status staged_init(staged *self, const ep_population *population, const ep_program *shape,
                             ep_error *error) {
  const int64_t count = population->count;
  *self = (staged){.lr_count = 0};
  for (int64_t i = 0; i < count; i++) self->lr_count += population->members[i].lr_count;
  self->members = rows_allocate(count, 1, sizeof *self->members);
  self->ops = rows_allocate(count, shape->ops_count, sizeof *self->ops);
  self->lr = rows_allocate(self->lr_count, 1, sizeof *self->lr);
  self->parameters = rows_allocate(count, shape->parameters, sizeof *self->parameters);
  self->state = rows_allocate(count, shape->optimizer_floats, sizeof *self->state);
  self->order = rows_allocate(count, 1, sizeof *self->order);
  if (self->members && self->ops && self->lr && self->parameters && self->state && self->order)
    return EP_OK;
  staged_deinit(self);
  return ep_fail(error, EP_NO_MEMORY, "no memory for a population of %lld", (long long)count);
}

static ep_population_op op_of(const ep_program *program, const ep_op *op) {
  return (ep_population_op){.negative_slope = op->negative_slope,
                            .alpha = op->alpha,
                            .beta = op->beta,
                            .threshold = op->threshold,
                            .p = op->p,
                            .weight_decay = ep_program_decay_at(program, op->weight),
                            .bias_decay = ep_program_decay_at(program, op->bias)};
}

static void member_stage(staged *self, const ep_program *shape, const ep_member *member, int64_t i,
                         int64_t lr) {
  const ep_program *program = member->program;
  self->members[i] = (ep_population_member){.first_step = member->first_step,
                                            .steps = member->steps,
                                            .lr = lr,
                                            .lr_count = member->lr_count,
                                            .seed = program->seed,
                                            .optimizer = program->optimizer,
                                            .loss_parameter = program->loss_parameter,
                                            .label_smoothing = program->label_smoothing};
  for (int k = 0; k < shape->ops_count; k++)
    self->ops[i * shape->ops_count + k] = op_of(program, &program->ops[k]);
  memcpy(self->lr + lr, member->lr, (size_t)member->lr_count * sizeof *self->lr);
  memcpy(self->parameters + i * shape->parameters, member->state,
         (size_t)shape->parameters * sizeof *self->parameters);
  if (shape->optimizer_floats > 0)
    memcpy(self->state + i * shape->optimizer_floats, member->optimizer,
           (size_t)shape->optimizer_floats * sizeof *self->state);
}

typedef struct {
  int64_t steps;
  int32_t number;
} task;

/* The longest first; of those that are equally long, in their order. */
static int by_steps(const void *a, const void *b) {
  const task *x = a, *y = b;
  if (x->steps != y->steps) return x->steps < y->steps ? 1 : -1;
  return x->number < y->number ? -1 : 1;
}

/* What ends last should not begin last. */
static ep_status order_make(staged *self, const ep_population *population, ep_error *error) {
  task *tasks = rows_allocate(population->count, 1, sizeof *tasks);
  if (!tasks) return ep_fail(error, EP_NO_MEMORY, "no memory for an order of members");
  for (int64_t i = 0; i < population->count; i++)
    tasks[i] = (task){population->members[i].steps, (int32_t)i};
  qsort(tasks, (size_t)population->count, sizeof *tasks, by_steps);
  for (int64_t i = 0; i < population->count; i++) self->order[i] = tasks[i].number;
  free(tasks);
  return EP_OK;
}

static ep_status staged_copy(const staged *self, const ep_program *shape, int64_t count,
                             ep_cuda_memory *memory, ep_population_args *args, ep_error *error) {
  const int64_t size = (int64_t)sizeof(float);
  ep_status status = ep_cuda_memory_take_copy(memory, &args->members, self->members, count,
                                              (int64_t)sizeof *self->members, error);
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(memory, &args->ops, self->ops, count * shape->ops_count,
                                      (int64_t)sizeof *self->ops, error);
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(memory, &args->lr, self->lr, self->lr_count, size, error);
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(memory, &args->parameters, self->parameters,
                                      count * shape->parameters, size, error);
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(memory, &args->state, self->state,
                                      count * shape->optimizer_floats, size, error);
  if (status == EP_OK)
    status = ep_cuda_memory_take_copy(memory, &args->order, self->order, count,
                                      (int64_t)sizeof *self->order, error);
  if (status == EP_OK)
    status = ep_cuda_memory_take(memory, &args->results, count, 1, (int64_t)sizeof *args->results,
                                 error);
  if (status == EP_OK)
    status = ep_cuda_memory_take(memory, &args->queue, 1, 1, (int64_t)sizeof *args->queue, error);
  return status;
}

ep_status ep_population_members_upload(const ep_population *population, const ep_program *shape,
                                       ep_cuda_memory *memory, ep_population_args *args,
                                       ep_error *error) {
  staged self;
  ep_status status = staged_init(&self, population, shape, error);
  if (status != EP_OK) return status;
  int64_t lr = 0;
  for (int64_t i = 0; i < population->count; i++) {
    member_stage(&self, shape, &population->members[i], i, lr);
    lr += population->members[i].lr_count;
  }
  status = order_make(&self, population, error);
  if (status == EP_OK) status = staged_copy(&self, shape, population->count, memory, args, error);
  args->count = population->count;
  staged_deinit(&self);
  return status;
}

/* --- and back ------------------------------------------------------------------------------- */

/* Copies [count, columns] to a new array, the caller's to free. */
static ep_status fetch(const void *from, int64_t count, int64_t columns, size_t size,
                       cudaStream_t stream, void **out, ep_error *error) {
  *out = rows_allocate(count, columns, size);
  if (!*out) return ep_fail(error, EP_NO_MEMORY, "no memory for the results of a population");
  if (columns > 0)
    EP_CUDA_TRY(cudaMemcpyAsync(*out, from, (size_t)(count * columns) * size,
                                cudaMemcpyDeviceToHost, stream),
                "copying from the device");
  EP_CUDA_TRY(cudaStreamSynchronize(stream), "training a population");
  return EP_OK;
}

ep_status ep_population_members_download(const ep_population_args *args, const ep_program *shape,
                                         cudaStream_t stream, ep_population *population,
                                         ep_error *error) {
  const int64_t count = population->count;
  void *results = NULL, *parameters = NULL, *state = NULL;
  ep_status status =
      fetch(args->results, count, 1, sizeof(ep_population_result), stream, &results, error);
  if (status == EP_OK)
    status = fetch(args->parameters, count, shape->parameters, sizeof(float), stream, &parameters,
                   error);
  if (status == EP_OK)
    status =
        fetch(args->state, count, shape->optimizer_floats, sizeof(float), stream, &state, error);
  for (int64_t i = 0; status == EP_OK && i < count; i++) {
    ep_member *member = &population->members[i];
    memcpy(member->state, (float *)parameters + i * shape->parameters,
           (size_t)shape->parameters * sizeof(float));
    if (shape->optimizer_floats > 0)
      memcpy(member->optimizer, (float *)state + i * shape->optimizer_floats,
             (size_t)shape->optimizer_floats * sizeof(float));
    member->loss = ((ep_population_result *)results)[i].loss;
    member->finite = ((ep_population_result *)results)[i].finite;
  }
  free(state);
  free(parameters);
  free(results);
  return status;
}
