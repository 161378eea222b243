/* parts.h: what the plots of this folder are made of. For this folder alone. */
#ifndef EP_ENGINE_PLOTS_PARTS_H
#define EP_ENGINE_PLOTS_PARTS_H

#include "engine/plots/plots.h"

enum { EP_PLOT_LABEL_BYTES = EP_LIMIT_WORD_BYTES + 1 };

/* Each writes the members of its plot. */
typedef ep_status ep_plot_writer(const ep_plot_model *model, const ep_plot_request *request,
                                 ep_writer *writer, ep_error *error);
ep_plot_writer ep_plot_confusion_write, ep_plot_roc_write, ep_plot_pr_write,
    ep_plot_calibration_write, ep_plot_predictions_write, ep_plot_residuals_write,
    ep_plot_boundary_write, ep_plot_importance_write, ep_plot_dependence_write,
    ep_plot_mistakes_write, ep_plot_uncertain_write, ep_plot_weights_write, ep_plot_timelapse_write;

/* Whether a layer's weights can be drawn. */
bool ep_plot_weights_there(const ep_plot_model *model);

/* Classes that a row is of one of. */
int64_t ep_plot_classes(const ep_plot_model *model);
/* Its word, or its number. */
void ep_plot_class_label(const ep_plot_model *model, int64_t class,
                         char label[EP_PLOT_LABEL_BYTES]);
void ep_plot_classes_write(const ep_plot_model *model, ep_writer *writer);
/* The class that the request names; by default the second of two, and the first of more. */
ep_status ep_plot_class_find(const ep_plot_model *model, const char *name, int64_t *out,
                             ep_error *error);
/* The class that a row of outputs says. */
int64_t ep_plot_class_of(const ep_plot_model *model, const double *output);
double ep_plot_probability(const ep_plot_model *model, const double *output, int64_t class);
/* What such a probability is in the units of ep_plot_score, and back. */
double ep_plot_probability_of_score(const ep_plot_model *model, double score);
/* By what rows are ordered: the logit or the probability that the network has, a class's of
 * several its probability. */
double ep_plot_score(const ep_plot_model *model, const double *output, int64_t class);

/* A column of the raw rows: its name, or its number. */
void ep_plot_column_label(const ep_plot_model *model, int64_t column,
                          char label[EP_PLOT_LABEL_BYTES]);
/* Whether a column is an input of the network at all. */
bool ep_plot_column_is_input(const ep_plot_model *model, int64_t column);
/* EP_INVALID where there is none. "": the first input not below `fallback`. */
ep_status ep_plot_column_find(const ep_plot_model *model, const char *name, int64_t fallback,
                              int64_t *out, ep_error *error);
bool ep_plot_column_is_category(const ep_plot_model *model, int64_t column);

/* The cells of a column that are there, the least first. sorted: [rows], written; returns how many.
 */
int64_t ep_plot_column_sort(const ep_plot_model *model, int64_t column, double *sorted);
/* A cell: its word, its number, or null. */
void ep_plot_cell_write(const ep_plot_model *model, int64_t column, double value,
                        ep_writer *writer);

/* The target column of a regression that is named, 0 where none is; writes "target_column". */
ep_status ep_plot_target_find(const ep_plot_model *model, const char *name, int64_t *out,
                              ep_writer *writer, ep_error *error);
/* The class or the target that is named; writes what is shown of it. */
ep_status ep_plot_shown_find(const ep_plot_model *model, const char *name, int64_t *which,
                             ep_writer *writer, ep_error *error);
/* That of a row of outputs: a class's probability, or the value of a target. */
double ep_plot_shown(const ep_plot_model *model, const double *output, int64_t which);

/* The output over two columns: points by row, from the least y up, each row from the least x. */
typedef struct {
  int64_t x, y, size, outputs;
  int64_t which;          /* class or target */
  bool classes;           /* a point is the class that the network says */
  bool colour;            /* a point is red, green, blue: the three targets */
  double low[2], high[2]; /* of x and y */
  double least, most;     /* values of the first and the last colour */
  double *typical;        /* [columns]: what the other columns are held at; owned */
  double *rows, *output;  /* [at_once, columns], [at_once, outputs]; parts of `typical`'s block */
  int64_t at_once;        /* rows of points that are predicted together */
} ep_plot_grid;

/* Finds the axes that the request names, and writes all members but the points.
 * ep_plot_grid_deinit. */
ep_status ep_plot_grid_init(const ep_plot_model *model, const ep_plot_request *request,
                            ep_plot_grid *grid, ep_writer *writer, ep_error *error);
void ep_plot_grid_deinit(ep_plot_grid *grid);
/* Predicts grid->at_once points from point `first` on, or those that are left: *count of them are
 * in grid->output. */
ep_status ep_plot_grid_predict(const ep_plot_model *model, const ep_plot_grid *grid, int64_t first,
                               int64_t *count, ep_error *error);
/* A point's outputs as what is drawn: one byte of `bytes`, or three of a colour. */
void ep_plot_grid_quantize(const ep_plot_model *model, const ep_plot_grid *grid,
                           const double *output, unsigned char *bytes);
/* The bytes of a point: 1, or 3. */
int64_t ep_plot_grid_channels(const ep_plot_grid *grid);
/* All points of a picture. bytes: [size, size, channels], written. */
ep_status ep_plot_grid_paint(const ep_plot_model *model, const ep_plot_grid *grid,
                             unsigned char *bytes, ep_error *error);

/* An array of numbers. */
void ep_plot_numbers_write(ep_writer *writer, const char *key, const double *values, int64_t count);

/* Accuracy of a classifier, R² of a regression, the mean over its targets. output: as
 * model->output. */
double ep_plot_measure(const ep_plot_model *model, const double *output);

#endif
