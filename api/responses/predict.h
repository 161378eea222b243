/* predict.h: POST /v1/jobs/{id}/predict: rows in, predictions out. */
#ifndef EP_API_RESPONSES_PREDICT_H
#define EP_API_RESPONSES_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json/warnings.h"
#include "api/vocabulary.h"
#include "api/wire/plot.h"

/* Whether the text is an object that has "rows": cells by names, which the job's columns read. */
bool ep_predict_has_rows(const char *text, size_t bytes);

/* Reads {"x": [[…], …], "threshold": 0.3}, the latter if it is given. *x: [*rows, *columns], owned
 * by the caller (free). */
ep_status ep_predict_parse(const char *text, size_t bytes, double **x, int64_t *rows,
                           int64_t *columns, ep_threshold *threshold, ep_problem *problem);

/* "threshold" of a body; value: NULL where it is not given. Its fault is that of /threshold. */
ep_status ep_predict_threshold_take(const struct json_t *value, ep_threshold *out,
                                    ep_problem *problem);

/* What the outputs of a network mean. */
typedef struct {
  ep_loss_type loss;
  char **class_name; /* [classes], owned, and each; NULL: classes are numbers */
  int64_t classes;
  bool has_threshold; /* of two classes: a row is of the positive class where that is at least … */
  double threshold;   /* … this likely; without a threshold it is of the likelier one */
  bool first_is_positive; /* class 0, else class 1 */
  const char *target;     /* lent: the name of the column that is predicted; NULL: not known */
  const char *unit;       /* lent: the sign of its numbers, as "$"; NULL: they have none */
} ep_output_meaning;

void ep_output_meaning_deinit(ep_output_meaning *meaning); /* a zeroed one is allowed */

/* How many classes a row has one of: those of the outputs, or, of one output, a yes and a no. 0: it
 * has none. */
int64_t ep_output_classes(const ep_output_meaning *meaning, int64_t columns);
/* output: [columns], of one row, which has one of `classes`; probability: [classes], written: they
 * add up to 1. */
void ep_output_probabilities(const ep_output_meaning *meaning, const double *output,
                             int64_t columns, double *probability);

/* Sets a threshold; NaN: none. positive: the word of the class that it is of; "": class 1. */
void ep_output_threshold_set(ep_output_meaning *meaning, double threshold, const char *positive);
/* The word of the class that a threshold is of. A loan. */
const char *ep_output_positive(const ep_output_meaning *meaning);

/* The class of a row that has one. */
int64_t ep_output_class(const ep_output_meaning *meaning, const double *output, int64_t columns);
/* Its name, or its number: a loan from `meaning`, or `number`. */
const char *ep_output_class_word(const ep_output_meaning *meaning, int64_t class, char number[24]);

/* Whether the threshold takes a row, which has one of two classes, for class 1. */
bool ep_output_is_taken(const ep_output_meaning *meaning, const double *output, int64_t columns);

/* {"object":"predictions","rows":…,"predictions":[[…],…]}, with "target" and "unit" where they are
 * known; output: [rows, columns]; name: [rows], "names" of the response; last_row: [rows],
 * "last_rows", the rows of the request that windows end with; time: [rows], "times" of a forecast,
 * each as JSON; NULL: it has none. Of a classifier with one class a row also "classes", the class
 * of each row by its name or number, "probabilities", [rows, classes], "threshold" and "positive"
 * where one decides, and "class_names" where there are any. Behind them the warnings, if there are
 * any; NULL: none. The caller owns the text (free); NULL when memory is short. */
char *ep_predict_format(const char *job, const ep_output_meaning *meaning, char *const *name,
                        const int64_t *last_row, char *const *time, const ep_warnings *warnings,
                        const double *output, int64_t rows, int64_t columns);

#endif
