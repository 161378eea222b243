/* rows.h: rows of a stored dataset as JSON, to look at. */
#ifndef EP_ENGINE_DATA_DATASETS_ROWS_H
#define EP_ENGINE_DATA_DATASETS_ROWS_H

#include "api/status.h"
#include "engine/data/datasets/dataset.h"

typedef struct {
  ep_split split;
  int64_t offset, limit; /* in rows; limit: at most EP_LIMIT_SHOWN_ROWS */
} ep_rows_page;

/* {"object":"list","data":[{"age":31,"city":"Oslo","since":"2024-02-29","income":null},…],
 * "total":…,"has_more":…,"next":…}: as many rows as EP_LIMIT_SHOWN_ROWS_BYTES has room for, one at
 * least. A row is an object where each column has a name of its own, else an array; of x and y that
 * come apart it is {"x":…,"y":…}, whose list of numbers is a number a row, and a class its name.
 * Cells are what a row to predict has (named_row.h): words, dates in ISO 8601, null where one is
 * missing; of a text, which is not stored, null too. Numbers have 15 digits. *text: the caller's
 * (free). EP_MALFORMED: the split has no rows. folder: that of *meta. */
ep_status ep_dataset_rows_format(const char *folder, const ep_dataset_meta *meta,
                                 const ep_rows_page *page, char **text, ep_error *error);

#endif
