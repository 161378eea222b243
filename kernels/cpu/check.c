#include "kernels/cpu/check.h"

#include "api/limits.h"
#include "kernels/formulas/optimizers.h"
#include "kernels/operators/values.h"

/* Whether `count` floats at `offset` lie within `all`. */
static bool lies_within(int64_t all, int64_t offset, int64_t count) {
  return offset >= 0 && count >= 0 && count <= all && offset <= all - count;
}

/* Whether a shape has sides of at least 1 and a row of it is not too long. */
static bool shape_fits(ep_shape shape) {
  int64_t area, count;
  return shape.channels >= 1 && shape.height >= 1 && shape.width >= 1 &&
         !__builtin_mul_overflow(shape.height, shape.width, &area) &&
         !__builtin_mul_overflow(area, shape.channels, &count) && count <= EP_LIMIT_FEATURES;
}

static bool shape_holds(ep_shape shape, int64_t features) {
  return shape_fits(shape) && ep_shape_count(shape) == features;
}

/* Whether the parameters that the operator has lie within the program's. */
static bool parameters_fit(const ep_program *program, const ep_op *op) {
  const bool ones = ep_operator_of(op->type)->start == EP_START_ONES;
  const int64_t buffers = ep_op_buffers(op);
  int64_t next = ep_op_parameters_first(op); /* they follow one another */
  if ((ep_op_weights(op) == 0 && op->weight != -1) || (ep_op_biases(op) == 0 && op->bias != -1))
    return false;
  for (int k = 0; ep_op_parameter(op, k); k++) {
    const int64_t count = ep_op_parameter_count(op, k), place = op->parameter[k];
    const bool absent = place == -1 && (ones || ep_op_parameter_is_bias(op, k));
    if (count == 0 || absent) continue;
    if (place != next || !lies_within(program->parameters, place, count)) return false;
    next = place + count;
  }
  return buffers == 0 || lies_within(program->buffers, op->running, buffers);
}

static bool op_fits(const ep_program *program, const ep_op *op) {
  return op->type >= 0 && op->type < EP_LAYER_COUNT && ep_fits_inputs(program, op) &&
         op->in_features == ep_shape_count(ep_value_shape(program, op->input[0])) &&
         shape_holds(op->in, op->in_features) && shape_holds(op->out, op->out_features) &&
         ep_operator_of(op->type)->fits(program, op) && parameters_fit(program, op);
}

static ep_status check_ops(const ep_program *program, ep_error *error) {
  for (int i = 0; i < program->ops_count; i++) {
    if (!op_fits(program, &program->ops[i])) {
      return ep_fail(error, EP_INVALID, "layer %d does not fit the program", i);
    }
  }
  const int unread = ep_program_unread(program);
  if (unread > 0)
    return ep_fail(error, EP_INVALID, "nothing reads what layer %d makes", unread - 1);
  if (ep_shape_count(ep_value_shape(program, program->ops_count)) == program->out_features)
    return EP_OK;
  return ep_fail(error, EP_INVALID, "the program's layers do not end in its outputs");
}

/* A row as it is stored, and what is cut from it. */
static bool input_fits(const ep_program *program) {
  ep_shape stored = program->stored, in = program->in;
  return shape_holds(in, program->in_features) && shape_fits(stored) &&
         stored.channels == in.channels && stored.height >= in.height && stored.width >= in.width &&
         program->augment.shift >= 0 &&
         (program->x_type == EP_X_FLOAT32 ||
          (program->x_type == EP_X_UINT8 && program->x_scale && program->x_shift));
}

/* Whether the groups follow one another and cover all parameters. */
static bool groups_fit(const ep_program *program) {
  int64_t next = 0;
  for (int i = 0; i < program->groups_count; i++) {
    const ep_parameter_group *group = &program->groups[i];
    if (group->first != next || group->count < 0 || group->count > program->parameters - next) {
      return false;
    }
    next += group->count;
  }
  return next == program->parameters;
}

/* Whether the layers' parameters and buffers follow one another: a stage's begin with those of its
 * first layer that has any, and end where the next one's begin. */
static bool places_ascend(const ep_program *program) {
  int64_t parameter = 0, buffer = 0;
  for (int i = 0; i < program->ops_count; i++) {
    const ep_op *op = &program->ops[i];
    const int64_t first = ep_op_parameters_first(op);
    if (first >= 0 && (first < parameter || first > program->parameters)) return false;
    if (op->running >= 0 && (op->running < buffer || op->running > program->buffers)) return false;
    if (first >= 0) parameter = first;
    if (op->running >= 0) buffer = op->running;
  }
  return true;
}

static bool ranks_fit(const ep_program *program) {
  const ep_parallel *parallel = &program->parallel;
  int stages = ep_program_stages(program);
  if (parallel->data < 0 || parallel->data > EP_LIMIT_RANKS || parallel->model < 0 ||
      parallel->model > EP_LIMIT_RANKS || ep_program_ranks(program) > EP_LIMIT_RANKS ||
      parallel->micro_batches < 0 || parallel->micro_batches > EP_LIMIT_MICRO_BATCHES ||
      !places_ascend(program))
    return false;
  if (stages == 1) return true;
  for (int i = 0; i < stages; i++) {
    int first = parallel->stage_first[i];
    if (first < 0 || first >= parallel->stage_first[i + 1] ||
        !ep_program_divides_at(program, first))
      return false;
  }
  return parallel->stage_first[0] == 0 && parallel->stage_first[stages] == program->ops_count;
}

ep_status ep_check_program(const ep_program *program, ep_error *error) {
  bool fits = program->parameters >= 0 && program->parameters <= EP_LIMIT_PARAMETERS &&
              program->buffers >= 0 && program->buffers <= EP_LIMIT_PARAMETERS &&
              program->ops_count >= 0 && program->ops_count <= EP_LIMIT_LAYERS &&
              program->loss >= 0 && program->loss < EP_LOSS_COUNT && program->optimizer.type >= 0 &&
              program->optimizer.type < EP_OPTIMIZER_COUNT && input_fits(program);
  if (!fits) return ep_fail(error, EP_INVALID, "the program's sizes do not fit together");
  ep_status status = check_ops(program, error);
  if (status != EP_OK) return status;
  if (!groups_fit(program)) {
    return ep_fail(error, EP_INVALID, "the program's groups do not cover its parameters");
  }
  int64_t columns = ep_loss_takes_classes(program->loss) ? 1 : program->out_features;
  int64_t slots = ep_optimizer_slots(&program->optimizer) * program->parameters;
  if (program->target_columns != columns || program->optimizer_floats != slots) {
    return ep_fail(error, EP_INVALID, "the program's targets or optimizer state do not fit it");
  }
  if (program->train_rows < 1 || program->train_rows > EP_LIMIT_ROWS || program->batch_size < 1 ||
      program->batch_size > program->train_rows) {
    return ep_fail(error, EP_INVALID, "a batch is 1 to train_rows rows");
  }
  if (!ranks_fit(program)) {
    return ep_fail(error, EP_INVALID, "the program's stages do not divide its layers");
  }
  return EP_OK;
}

ep_status ep_check_targets(const ep_program *program, const void *y, int64_t rows,
                           ep_error *error) {
  const int32_t *classes = y;
  if (!ep_loss_takes_classes(program->loss)) return EP_OK;
  for (int64_t row = 0; row < rows; row++) {
    if (classes[row] >= 0 && classes[row] < program->out_features) continue;
    return ep_fail(error, EP_DATA, "row %lld has class %d, the network has %lld outputs",
                   (long long)row, (int)classes[row], (long long)program->out_features);
  }
  return EP_OK;
}

/* The numbers of the columns that the op looks up: whole, and of its table. */
static ep_status check_words(const ep_program *program, const ep_op *op, const float *x,
                             int64_t rows, ep_error *error) {
  const int64_t columns = ep_shape_count(program->stored);
  const int64_t first = ep_value_data_column(program, op->input[0]) + op->numbers;
  for (int64_t row = 0; row < rows; row++)
    for (int64_t i = 0; i < ep_op_columns(op); i++) {
      float number = x[row * columns + first + i]; /* a NaN is none of these */
      bool whole = number >= 0 && number < 0x1p31f && (float)(int64_t)number == number;
      if (whole && (int64_t)number < op->embeddings) continue;
      return ep_fail(error, EP_DATA, "row %lld has %g, the embedding holds 0 to %lld",
                     (long long)row, (double)number, (long long)op->embeddings - 1);
    }
  return EP_OK;
}

ep_status ep_check_inputs(const ep_program *program, const void *x, int64_t rows, ep_error *error) {
  ep_status status = EP_OK;
  for (int i = 0; i < program->ops_count && status == EP_OK; i++)
    if (program->ops[i].type == EP_LAYER_EMBEDDING)
      status = check_words(program, &program->ops[i], x, rows, error);
  return status;
}
