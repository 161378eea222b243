/* prepare.h: from stored rows to what a program eats: split, standardized, float32, in host memory.
 */
#ifndef EP_ENGINE_DATA_PREPARE_H
#define EP_ENGINE_DATA_PREPARE_H

#include "api/spec.h"
#include "engine/data/table.h"
#include "engine/plan.h"
#include "kernels/backend.h"

/* Figures of the training split, by which x and y were scaled: scaled = (value - mean) / deviation
 * (population deviation; a column without any is divided by 1). */
typedef struct {
  int64_t x_columns, y_columns;
  double *x_mean, *x_deviation; /* [x_columns], NULL unless x is standardized; owned */
  double *y_mean, *y_deviation; /* [y_columns], NULL unless y is; owned */
} ep_scaling;

typedef struct {
  int64_t rows[EP_SPLIT_COUNT];
  float *x[EP_SPLIT_COUNT]; /* [rows, features], scaled */
  float *y[EP_SPLIT_COUNT]; /* [rows, target_columns], scaled; NULL when the loss takes classes */
  int32_t *classes[EP_SPLIT_COUNT]; /* [rows]; NULL unless it does */
  int64_t features, target_columns;
  ep_scaling scaling;
} ep_prepared;

/* Reads the rows of `data` (from `dataset_folder`, NULL unless the source is a dataset), splits
 * them with split_seed (random.h: a row's place in the permutation decides; rows keep their order),
 * scales and converts. A row's place and a column's figures do not depend on the device. */
ep_status ep_prepare(const ep_data_spec *data, ep_loss_type loss, const char *dataset_folder,
                     ep_prepared *out, ep_error *error);
void ep_prepared_deinit(ep_prepared *prepared);

/* x: [rows, x_columns] in units of the data, scaled: [rows, x_columns] float32, written. */
void ep_scaling_apply_x(const ep_scaling *scaling, const double *x, int64_t rows, float *scaled);
/* Undoes y's scaling: output: [rows, y_columns] of the network, values: written in units of the
 * data. */
void ep_scaling_undo_y(const ep_scaling *scaling, const float *output, int64_t rows,
                       double *values);
void ep_scaling_deinit(ep_scaling *scaling);

#endif
