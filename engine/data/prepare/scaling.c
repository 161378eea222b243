#include "engine/data/prepare/scaling.h"

#include <stdlib.h>

void ep_scaling_apply_x(const ep_scaling *scaling, const double *x, int64_t rows, float *scaled) {
  int64_t columns = scaling->x_columns;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      double value = x[i * columns + j];
      if (scaling->x_mean) value = (value - scaling->x_mean[j]) / scaling->x_deviation[j];
      scaled[i * columns + j] = (float)value;
    }
}

void ep_scaling_undo_y(const ep_scaling *scaling, const float *output, int64_t rows,
                       double *values) {
  int64_t columns = scaling->y_columns;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      double value = output[i * columns + j];
      if (scaling->y_mean) value = value * scaling->y_deviation[j] + scaling->y_mean[j];
      values[i * columns + j] = value;
    }
}

const ep_words *ep_scaling_classes(const ep_scaling *scaling) {
  const ep_words *classes = scaling->encoding ? &scaling->encoding->classes : &scaling->classes;
  return classes->count > 0 ? classes : NULL;
}

void ep_scaling_deinit(ep_scaling *scaling) {
  free(scaling->x_mean);
  free(scaling->x_deviation);
  free(scaling->y_mean);
  free(scaling->y_deviation);
  if (scaling->encoding) ep_encoding_deinit(scaling->encoding);
  free(scaling->encoding);
  ep_words_deinit(&scaling->names);
  free(scaling->ranges);
  ep_words_deinit(&scaling->classes);
  *scaling = (ep_scaling){0};
}
