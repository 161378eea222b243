/* export.h: a trained network as one header of C99 that predicts: no heap, no dependency but the C
 * library. Scaling, categories and dates are within, so that the caller passes raw cells.
 *
 * All names begin with the job's name, made an identifier. Of a table whose columns were encoded a
 * row is a struct with a field a column; else it is an array of numbers in the units of the data
 * (bytes where the data are). What the functions are called, the header says itself. */
#ifndef EP_ENGINE_WEIGHTS_C_EXPORT_H
#define EP_ENGINE_WEIGHTS_C_EXPORT_H

#include "api/status.h"
#include "engine/data/prepare/prepare.h"
#include "engine/plan/plan.h"

/* How good the predictions of some rows are, before and after quantization. */
typedef struct {
  const char *split; /* "test" or "training"; NULL: nothing was measured */
  int64_t rows;
  bool accuracy; /* of a classifier; else RMSE in the units of the data */
  double before, after;
} ep_c_measured;

typedef struct {
  const ep_plan *plan;
  const ep_job_spec *spec;
  const float *state; /* [ep_program_state_floats], not quantized */
  const ep_scaling *scaling;
  const ep_normalization *normalization;
  const ep_encoding *names; /* of the columns of plain numbers; NULL: they have none */
  const char *job;
  bool bytes;     /* of x: they are stored as such */
  bool quantized; /* weights as int8 */
  ep_c_measured measured;
  /* A row and what predict says of it, with these weights, quantized or not. */
  const double *example;  /* [raw cells], those of all rows of a window */
  const double *expected; /* [out_features] */
} ep_c_model;

/* EP_TOO_LARGE for a network that is far beyond the limit, before any work is done for it. */
ep_status ep_c_size_check(const ep_plan *plan, ep_error *error);

/* Writes the header at path, atomically. EP_TOO_LARGE, with the size: it would be over
 * EP_LIMIT_C_SOURCE_BYTES. */
ep_status ep_weights_to_c(const ep_c_model *model, const char *path, ep_error *error);

/* What was measured, as it stands in a header: lines "Model-NAME: VALUE" of its first comment.
 * For each `take` is called; name and value are lent. */
typedef void ep_c_figure_take(void *context, const char *name, const char *value);
void ep_c_figures_read(int file, ep_c_figure_take *take, void *context);

#endif
