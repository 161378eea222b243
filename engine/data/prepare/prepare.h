/* prepare.h: from stored rows to the input of a program: split, standardized, float32, in host
 * memory. */
#ifndef EP_ENGINE_DATA_PREPARE_PREPARE_H
#define EP_ENGINE_DATA_PREPARE_PREPARE_H

#include "api/baseline/baseline.h"
#include "api/spec/job_spec.h"
#include "engine/data/arrays/table.h"
#include "engine/data/prepare/normalization.h"
#include "engine/data/prepare/scaling.h"
#include "kernels/program.h"

typedef struct {
  int64_t rows[EP_SPLIT_COUNT];
  ep_x_type x_type;
  /* [rows, features] of x_type: float32 scaled or normalized, bytes as they are stored; where no
   * split moves rows and nothing is to be computed they are the mapped file's own. */
  const void *x[EP_SPLIT_COUNT];
  float *y[EP_SPLIT_COUNT]; /* [rows, target_columns], scaled; NULL when the loss takes classes,
                               and of test rows without targets */
  int32_t *classes[EP_SPLIT_COUNT]; /* [rows]; NULL unless it does */
  int64_t features, target_columns; /* one-hot y for a loss that takes classes: 1 column */
  ep_shape row;
  float *x_scale,
      *x_shift; /* [row.channels], NULL unless x is bytes: byte * scale + shift; owned */
  ep_scaling scaling;
  ep_baseline last_value;           /* of a series of numbers, on its test examples */
  ep_normalization normalization;   /* of floats it is done already */
  void *x_owned[EP_SPLIT_COUNT];    /* what x points to, if it is this struct's own */
  ep_table x_table[EP_SPLIT_COUNT]; /* open while x is mapped */
} ep_prepared;

/* Reads the rows of `data` (from `dataset_folder`, NULL unless the source is a dataset or a path
 * whose content was read into one), splits them with split_seed (random.h: a row's place in the
 * permutation decides; rows keep their order), scales and converts. A table that needs it is
 * encoded by what its training rows say (scaling.encoding; then `row` is a vector of its features).
 * x is bytes when it is stored as bytes, apart from y, and not standardized. A row's place and a
 * column's figures do not depend on the device. */
ep_status ep_prepare(const ep_data_spec *data, ep_loss_type loss, const char *dataset_folder,
                     ep_prepared *out, ep_error *error);
/* The targets of a split, float32 or classes; NULL where it has no rows, or they have no targets.
 */
const void *ep_prepared_targets(const ep_prepared *prepared, ep_split split);
/* Bytes become the float32 that they stand for, where a program takes no bytes (an embedding).
 * Nothing to do for floats. */
ep_status ep_prepared_widen(ep_prepared *prepared, ep_error *error);
void ep_prepared_deinit(ep_prepared *prepared);

#endif
