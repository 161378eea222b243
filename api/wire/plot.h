/* plot.h: what is asked of a plot of a job. A worker makes its numbers (engine/plots), epochd draws
 * them (server/plots). */
#ifndef EP_API_WIRE_PLOT_H
#define EP_API_WIRE_PLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base_path.h"
#include "api/json/writer.h"
#include "api/limits.h"
#include "api/status.h"

struct json_t;

/* X(code, JSON name, what it shows, the jobs that it fits). Rows are the test rows of a job, or, in
 * their absence, the validation rows, or the training rows. */
#define EP_PLOT_TABLE(X)                                                                           \
  X(CONFUSION, "confusion", "how many rows of each class were predicted as which", "a classifier") \
  X(ROC, "roc", "true positives over false positives, by threshold", "a classifier")               \
  X(PR, "pr", "precision over recall, by threshold", "a classifier")                               \
  X(CALIBRATION, "calibration", "observed frequency over predicted probability", "a classifier")   \
  X(PREDICTIONS, "predictions", "predictions over targets", "a regression")                        \
  X(RESIDUALS, "residuals", "targets less predictions, over predictions", "a regression")          \
  X(BOUNDARY, "boundary", "the output over two inputs, the others at their means",                 \
    "two inputs or more, of a table or of vectors")                                                \
  X(IMPORTANCE, "importance", "the loss of score when a column is shuffled",                       \
    "columns of a table or of vectors")                                                            \
  X(DEPENDENCE, "dependence", "the mean output over one column",                                   \
    "columns of a table or of vectors")                                                            \
  X(MISTAKES, "mistakes", "misclassified rows, the most confident first", "a classifier")          \
  X(UNCERTAIN, "uncertain", "rows whose class has the smallest lead over the second",              \
    "a classifier")                                                                                \
  X(WEIGHTS, "weights", "the weights of a layer as pictures", "a linear or a conv2d layer")        \
  X(NETWORK, "network", "the layers, and what each of them reads", "any network")                  \
  X(TIMELAPSE, "timelapse", "the boundary over the course of the training",                        \
    "two inputs or more, and \"timelapse_every\"")

typedef enum {
#define EP_PLOT_ENUM(code, name, shows, fits) EP_PLOT_##code,
  EP_PLOT_TABLE(EP_PLOT_ENUM)
#undef EP_PLOT_ENUM
      EP_PLOT_COUNT
} ep_plot_kind;

enum { EP_PLOT_NAME_BYTES = 32, EP_PLOT_NO_EPOCH = -1, EP_PLOT_LATEST_EPOCH = -2 };

typedef struct {
  char name[EP_PLOT_NAME_BYTES]; /* "": the list of the plots that fit */
  char base[EP_BASE_PATH_BYTES]; /* of the links in that list */
  /* By name, or by number from 0; "" = the usual one. */
  char output[EP_LIMIT_NAME_BYTES + 1]; /* the class, or the target column */
  char x[EP_LIMIT_NAME_BYTES + 1];      /* boundary: the input on the x axis */
  char y[EP_LIMIT_NAME_BYTES + 1];      /* boundary: the one that goes up */
  char column[EP_LIMIT_NAME_BYTES + 1]; /* dependence; weights: the layer's name */
  bool normalize;                       /* confusion: shares of each true class */
  double cost_fp, cost_fn;              /* roc, pr: of a wrong yes and a wrong no; NaN: none */
  int64_t size;                         /* boundary: points a side */
  int64_t repeats;                      /* importance: shuffles of each column */
  int64_t seed;                         /* importance */
  int64_t epoch; /* the network of that moment of the time-lapse; or one of those below */
  int64_t count; /* mistakes, uncertain: rows */
  bool y_down;   /* boundary, timelapse: y grows downwards, as the rows of a picture do */
} ep_plot_request;

const char *ep_plot_kind_name(ep_plot_kind kind);
const char *ep_plot_kind_shows(ep_plot_kind kind);
const char *ep_plot_kind_fits(ep_plot_kind kind);
int ep_plot_kind_from_name(const char *name); /* -1 when there is no such name */

/* As members of an object. The reader takes what the writer writes; false: it is something else. */
void ep_plot_request_write(ep_writer *writer, const ep_plot_request *request);
bool ep_plot_request_read(const struct json_t *object, ep_plot_request *out);

/* From which probability on a row is of class 1, of two classes: as a request says it. */
typedef enum {
  EP_THRESHOLD_NONE,   /* the likelier class */
  EP_THRESHOLD_NUMBER, /* a probability */
  EP_THRESHOLD_F1,     /* the greatest F1, on the rows that plots take */
  EP_THRESHOLD_COST    /* what costs least there */
} ep_threshold_kind;

typedef struct {
  ep_threshold_kind kind;
  double probability;      /* of a number */
  double cost_fp, cost_fn; /* of a cost: of a wrong yes and a wrong no */
} ep_threshold;

/* "0.3", "f1" or "fp:1,fn:5"; NULL: none. EP_MALFORMED: something else. */
ep_status ep_threshold_parse(const char *text, ep_threshold *out, ep_error *error);
/* The same of a JSON value, where a number is one; NULL and null: none. */
ep_status ep_threshold_take(const struct json_t *value, ep_threshold *out, ep_error *error);

/* "fp:1,fn:5", two finite numbers from 0 up. EP_MALFORMED: something else. */
ep_status ep_cost_parse(const char *text, double *fp, double *fn, ep_error *error);

#endif
