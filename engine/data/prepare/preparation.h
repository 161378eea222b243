/* preparation.h: rows that are open, and the split of each: what prepare.c and raw_rows.c begin
 * with. For this folder alone. */
#ifndef EP_ENGINE_DATA_PREPARE_PREPARATION_H
#define EP_ENGINE_DATA_PREPARE_PREPARATION_H

#include "engine/data/prepare/prepare.h"
#include "engine/data/prepare/split.h"
#include "engine/data/prepare/split_column.h"
#include "engine/data/prepare/windows.h"
#include "engine/data/sources/row_source.h"

/* What is in use while rows become a program's input. */
typedef struct {
  ep_dataset_meta meta;               /* where it can matter: of a dataset, or columns are named */
  bool described;                     /* there is a meta */
  ep_row_source sets[EP_SPLIT_COUNT]; /* the main rows, and those of sets of the data's own */
  uint8_t *split;                     /* [main rows], owned: ep_split of each row */
  double *x, *y;      /* [features of the rows], [targets], owned: the row at hand */
  double *encoded;    /* [features], owned: the same, of a table that is encoded */
  ep_split_column by; /* what decides the split, if a column does */
  ep_windows windows; /* of a series: what its examples are */
  ep_strata strata;   /* empty unless data->stratify */
  bool takes_classes;
  bool mapped[EP_SPLIT_COUNT]; /* x is used where it lies */
} ep_preparation;

/* Opens the rows and finds the split of each. out: written from zeros: rows of each split,
 * features, the encoding's plan. ep_preparation_close and ep_prepared_deinit, also on failure. */
ep_status ep_preparation_open(const ep_data_spec *data, ep_loss_type loss,
                              const char *dataset_folder, ep_preparation *work, ep_prepared *out,
                              ep_error *error);
void ep_preparation_close(ep_preparation *work);

#endif
