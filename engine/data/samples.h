/* samples.h: rows of x and y as doubles, wherever they come from: a table, a pair of tables, the
 * spec itself, a generator. */
#ifndef EP_ENGINE_DATA_SAMPLES_H
#define EP_ENGINE_DATA_SAMPLES_H

#include "api/spec.h"
#include "engine/data/table.h"

typedef struct ep_samples ep_samples;
struct ep_samples {
  int64_t rows, features, targets; /* 0 rows: there are none */
  void (*read)(const ep_samples *samples, int64_t row, double *x, double *y);
  ep_table x, y;            /* open; x is the whole table when the target stands in it */
  int64_t target;           /* its column then */
  const ep_data_spec *data; /* lent: inline and generators */
  bool test;                /* generators */
};

/* Opens the main rows and the data's own test rows. `dataset_folder`: NULL unless the source is a
 * dataset. `data` is lent until close. On failure both are closed. */
ep_status ep_samples_open(const ep_data_spec *data, const char *dataset_folder, ep_samples *main,
                          ep_samples *test, ep_error *error);
void ep_samples_close(ep_samples *samples);

/* x: [features], y: [targets], written. */
static inline void ep_samples_read(const ep_samples *samples, int64_t row, double *x, double *y) {
  samples->read(samples, row, x, y);
}

#endif
