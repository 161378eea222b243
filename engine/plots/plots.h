/* plots.h: the numbers of a job's plots as JSON, from rows of its data and what its network says of
 * them. The definitions are scikit-learn's (sklearn.metrics, sklearn.calibration,
 * sklearn.inspection). No compute of its own: a function predicts. */
#ifndef EP_ENGINE_PLOTS_PLOTS_H
#define EP_ENGINE_PLOTS_PLOTS_H

#include "api/json/writer.h"
#include "api/responses/validation.h"
#include "api/wire/plot.h"
#include "engine/data/prepare/raw_rows.h"
#include "engine/weights/safetensors.h"

/* Outputs of the network for raw rows, as predict gives them. x: [rows, columns]; output: [rows,
 * outputs], written. */
typedef ep_status ep_plot_predict(void *context, const double *x, int64_t rows, double *output,
                                  ep_error *error);

/* Has the network of a moment of the time-lapse predict from here on. */
typedef ep_status ep_plot_moment_take(void *context, int64_t epoch, ep_error *error);

typedef struct {
  ep_loss_type loss;
  int64_t outputs;             /* of the network */
  bool rows_stand_alone;       /* columns have a meaning each: no pictures, no series */
  const ep_words *classes;     /* NULL: numbers; lent */
  const ep_encoding *encoding; /* names and kinds of the columns; NULL: numbers; lent */
  ep_raw_rows rows;            /* lent */
  const double *output;        /* [rows.rows, outputs]; lent; NULL where none was asked for */
  int64_t picture[3];          /* channels, height, width of a row that is one; else 0 */
  bool pixels_are_bytes;       /* 0 to 255 */
  const ep_layer_view *layers; /* [layers_count]; lent */
  int layers_count;
  const ep_tensors *weights; /* lent; NULL: there are none */
  const int64_t *moments;    /* [moments_count] epochs of the time-lapse, rising; lent */
  int64_t moments_count;
  ep_plot_moment_take *moment_take;
  ep_plot_predict *predict;
  void *context;
} ep_plot_model;

bool ep_plot_fits(ep_plot_kind kind, const ep_plot_model *model);
/* Whether a plot is made of model->output. */
bool ep_plot_needs_output(ep_plot_kind kind);

/* {"object":"list","data":[{"name","shows","fits"},…]}: the plots that fit. */
void ep_plot_list_write(const ep_plot_model *model, const char *job, const char *base,
                        ep_writer *writer);

/* An object of the plot's numbers. EP_NO_PLOT: no such plot, or one that does not fit, with the
 * list of those that do; EP_INVALID: no such class, column or target, with those that there are. */
ep_status ep_plot_write(const ep_plot_model *model, const char *job, const ep_plot_request *request,
                        ep_writer *writer, ep_error *error);

#endif
