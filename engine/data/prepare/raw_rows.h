/* raw_rows.h: rows of a job as they are stored, before anything becomes of them: what a trained
 * network is looked at with. */
#ifndef EP_ENGINE_DATA_PREPARE_RAW_ROWS_H
#define EP_ENGINE_DATA_PREPARE_RAW_ROWS_H

#include "engine/data/prepare/prepare.h"

typedef struct {
  ep_split split;  /* test, or else validation, or else training: the first that has targets */
  int64_t of_rows; /* that the split has */
  int64_t rows;    /* the first of them */
  int64_t columns, targets;
  double *x; /* [rows, columns] as predict takes them, of a series [rows, length, columns]; owned */
  double *y; /* [rows, targets]; the class is y[0] of a loss that takes classes; owned */
} ep_raw_rows;

/* Reads the rows that a trained network is looked at with, EP_LIMIT_PREDICT_ROWS at most and no
 * more than `most` cells. Splits as ep_prepare does. ep_raw_rows_deinit. */
ep_status ep_raw_rows_read(const ep_data_spec *data, ep_loss_type loss, const char *dataset_folder,
                           int64_t most, ep_raw_rows *out, ep_error *error);
void ep_raw_rows_deinit(ep_raw_rows *rows); /* a zeroed one is allowed */

#endif
