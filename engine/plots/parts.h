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
    ep_plot_boundary_write, ep_plot_importance_write, ep_plot_dependence_write;

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

/* An array of numbers. */
void ep_plot_numbers_write(ep_writer *writer, const char *key, const double *values, int64_t count);

/* Accuracy of a classifier, R² of a regression, the mean over its targets. output: as
 * model->output. */
double ep_plot_measure(const ep_plot_model *model, const double *output);

#endif
