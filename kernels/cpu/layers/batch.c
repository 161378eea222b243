#include "kernels/cpu/layers/batch.h"

#include <stddef.h>

/* Number `at` of a row in the stored type (-1: a 0 that comes in from outside), as the network sees
 * it. */
static ep_real stored_value(const ep_program *program, const void *row, int64_t channel,
                            int64_t at) {
  if (program->x_type == EP_X_FLOAT32) return at < 0 ? 0 : ((const float *)row)[at];
  uint8_t byte = at < 0 ? 0 : ((const uint8_t *)row)[at];
  return ep_byte_value(byte, program->x_scale[channel], program->x_shift[channel]);
}

static const void *stored_row(const ep_program *program, const void *x, int64_t row) {
  size_t size = program->x_type == EP_X_FLOAT32 ? sizeof(float) : sizeof(uint8_t);
  return (const char *)x + row * ep_shape_count(program->stored) * (int64_t)size;
}

static void read_row(const ep_program *program, const ep_augmentation *drawn, const void *x,
                     int64_t row, ep_real *out) {
  const void *from = stored_row(program, x, row);
  for (int64_t channel = 0; channel < program->in.channels; channel++) {
    for (int64_t line = 0; line < program->in.height; line++) {
      for (int64_t column = 0; column < program->in.width; column++) {
        int64_t at = ep_augment_source(drawn, program->stored, channel, line, column);
        *out++ = stored_value(program, from, channel, at);
      }
    }
  }
}

void ep_reference_read_evaluation_row(const ep_program *program, const void *x, int64_t row,
                                      ep_real *out) {
  ep_augmentation middle = ep_augment_none(program->stored, program->in);
  read_row(program, &middle, x, row, out);
}

void ep_reference_read_training_row(const ep_program *program, const void *x, int64_t row,
                                    int64_t epoch, ep_real *out) {
  ep_augmentation drawn =
      ep_augment_draw(&program->augment, program->stored, program->in, program->seed, epoch, row);
  read_row(program, &drawn, x, row, out);
}
