#include "kernels/cuda/population/rows.h"

#include <stdlib.h>

#include "kernels/formulas/augment.h"

void ep_population_split_deinit(ep_population_split *self) {
  ep_cuda_free(self->y);
  ep_cuda_free(self->x);
  *self = (ep_population_split){.rows = 0};
}

static bool is_there(const ep_population_split *self, const ep_program *program,
                     const ep_population_rows *given) {
  return self->rows > 0 && self->host_x == given->x && self->host_y == given->y &&
         self->rows == given->rows && self->in_features == program->in_features &&
         self->target_columns == program->target_columns;
}

static ep_status targets_check(const ep_program *program, const ep_population_rows *given,
                               ep_error *error) {
  const int32_t *classes = given->y;
  if (!ep_loss_takes_classes(program->loss) || !given->y) return EP_OK;
  for (int64_t row = 0; row < given->rows; row++)
    if (classes[row] < 0 || classes[row] >= program->out_features)
      return ep_fail(error, EP_DATA, "row %lld is of class %d, and the network has %lld outputs",
                     (long long)row, classes[row], (long long)program->out_features);
  return EP_OK;
}

/* Bytes as numbers, the caller's to free. */
static float *numbers_of(const ep_program *program, const ep_population_rows *given) {
  const int64_t pixels = program->stored.height * program->stored.width;
  const uint8_t *bytes = given->x;
  float *numbers = malloc((size_t)(given->rows * program->in_features) * sizeof *numbers);
  for (int64_t i = 0; numbers && i < given->rows * program->in_features; i++) {
    int64_t channel = i % program->in_features / pixels;
    numbers[i] = ep_byte_value(bytes[i], program->x_scale[channel], program->x_shift[channel]);
  }
  return numbers;
}

static ep_status x_copy(ep_population_split *self, const ep_program *program,
                        const ep_population_rows *given, ep_error *error) {
  const void *from = given->x;
  float *numbers = NULL;
  if (program->x_type == EP_X_UINT8) {
    from = numbers = numbers_of(program, given);
    if (!numbers) return ep_fail(error, EP_NO_MEMORY, "no memory for rows as numbers");
  }
  cudaError_t code =
      cudaMemcpy(self->x, from, (size_t)(given->rows * program->in_features) * sizeof(float),
                 cudaMemcpyHostToDevice);
  free(numbers);
  return code == cudaSuccess ? EP_OK : ep_cuda_fail(error, code, "copying rows to the device");
}

ep_status ep_population_split_load(ep_population_split *self, const ep_backend *backend,
                                   const ep_program *program, const ep_population_rows *given,
                                   ep_error *error) {
  const int64_t size = (int64_t)sizeof(float);
  if (is_there(self, program, given)) return EP_OK;
  ep_population_split_deinit(self);
  ep_status status = targets_check(program, given, error);
  if (status == EP_OK)
    status = ep_cuda_allocate(backend, (void **)&self->x, given->rows, program->in_features * size,
                              &self->bytes, error);
  if (status == EP_OK && given->y)
    status = ep_cuda_allocate(backend, (void **)&self->y, given->rows,
                              program->target_columns * size, &self->bytes, error);
  if (status == EP_OK) status = x_copy(self, program, given, error);
  if (status == EP_OK && given->y) {
    cudaError_t code =
        cudaMemcpy(self->y, given->y, (size_t)(given->rows * program->target_columns * size),
                   cudaMemcpyHostToDevice);
    if (code != cudaSuccess) status = ep_cuda_fail(error, code, "copying targets to the device");
  }
  if (status != EP_OK) {
    ep_population_split_deinit(self);
    return status;
  }
  self->host_x = given->x;
  self->host_y = given->y;
  self->rows = given->rows;
  self->in_features = program->in_features;
  self->target_columns = program->target_columns;
  return EP_OK;
}
