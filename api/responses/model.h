/* model.h: a published model: the weights of a job under a name, and what its requests hold. Its
 * JSON text, for /v1/models and for the metadata of the Open Inference Protocol. */
#ifndef EP_API_RESPONSES_MODEL_H
#define EP_API_RESPONSES_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/json/problem.h"
#include "api/limits.h"
#include "api/names.h"
#include "api/wire/plot.h"

/* X(code, name): how a row's class follows from its outputs. */
#define EP_DECISION_TABLE(X)                                            \
  X(NONE, "none")         /* no classifier */                           \
  X(GREATEST, "greatest") /* the index of the greatest output */        \
  X(POSITIVE, "positive") /* 1 where the one output, a logit, is > 0 */ \
  X(HALF, "half")         /* 1 where the one output, a probability, is > 1/2 */

typedef enum {
#define EP_DECISION_ENUM(code, name) EP_DECISION_##code,
  EP_DECISION_TABLE(EP_DECISION_ENUM)
#undef EP_DECISION_ENUM
      EP_DECISION_COUNT
} ep_decision;

const char *ep_decision_name(ep_decision decision);
int ep_decision_from_name(const char *name); /* -1 when there is no such name */

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1];
  char job[EP_ID_BYTES];
  char owner[EP_OWNER_BYTES];           /* "" = nobody's */
  int64_t row[EP_LIMIT_ROW_DIMENSIONS]; /* of x: [features], or [channels, height, width] */
  int row_dimensions;
  int64_t outputs; /* columns of the predictions */
  ep_decision decision;
  double threshold; /* of two classes: what the probability of `positive` is at least; NaN = none */
  char positive[EP_LIMIT_WORD_BYTES + 1]; /* the word of the class that the threshold is of, which
                                             stays when another job gets the name; "": class 1 */
  int64_t published_us;
  bool private;
  bool visibility_given; /* by the request that publishes it */
} ep_model;

/* Whether a row is of one of two classes, so that a threshold can decide. */
bool ep_model_has_two_classes(const ep_model *model);

/* How many numbers a row of x has; what a stored model says is within the limits of a job. */
int64_t ep_model_columns(const ep_model *model);

/* PUT /v1/models/{name}: {"job": "job_…", "visibility": "private", "threshold": 0.3}, the latter
 * two if they are given. */
typedef struct {
  char job[EP_LIMIT_NAME_BYTES + sizeof EP_MODEL_WORD]; /* an id, or a word for one */
  bool private, visibility_given;
  ep_threshold threshold;
  bool threshold_given; /* null, too */
} ep_model_request;

/* What publishing a model changes of one that had the name. */
enum { EP_MODEL_CHANGES = 3 };
typedef struct {
  char line[EP_MODEL_CHANGES][EP_MESSAGE_BYTES];
  int count;
} ep_model_changes;
ep_status ep_model_request_parse(const char *text, size_t bytes, ep_model_request *out,
                                 ep_problem *problem);

/* What the Open Inference Protocol (inference.h) calls a model's input and version. */
#define EP_INFERENCE_INPUT "x"
#define EP_INFERENCE_VERSION "1" /* a name has one version: what was published last */

/* The datatypes of tensors: X(code, name, bytes of an element, kind) */
#define EP_TENSOR_TABLE(X)         \
  X(BOOL, "BOOL", 1, BOOLEAN)      \
  X(UINT8, "UINT8", 1, UNSIGNED)   \
  X(UINT16, "UINT16", 2, UNSIGNED) \
  X(UINT32, "UINT32", 4, UNSIGNED) \
  X(UINT64, "UINT64", 8, UNSIGNED) \
  X(INT8, "INT8", 1, SIGNED)       \
  X(INT16, "INT16", 2, SIGNED)     \
  X(INT32, "INT32", 4, SIGNED)     \
  X(INT64, "INT64", 8, SIGNED)     \
  X(FP16, "FP16", 2, FLOAT)        \
  X(FP32, "FP32", 4, FLOAT)        \
  X(FP64, "FP64", 8, FLOAT)

#define EP_INFERENCE_TEXT "BYTES" /* the datatype of texts */

/* "BOOL, UINT8, …, BYTES": all that is taken, for messages. */
#define EP_TENSOR_LISTED(code, name, bytes, kind) name ", "
#define EP_TENSOR_TAKEN EP_TENSOR_TABLE(EP_TENSOR_LISTED) EP_INFERENCE_TEXT

typedef enum {
  EP_INFERENCE_PREDICTIONS, /* FP32 [rows, outputs] */
  EP_INFERENCE_CLASS,       /* INT64 [rows]; of a classifier; -1 where no output is a number */
  EP_INFERENCE_CLASS_NAME,  /* BYTES [rows]; of one whose classes have names; "" where there is none
                             */
  EP_INFERENCE_PROBABILITIES, /* FP32 [rows, classes]; of one with one class a row */
  EP_INFERENCE_OUTPUTS
} ep_inference_output;

const char *ep_inference_output_name(ep_inference_output output);

/* Texts are owned by the caller; NULL when memory is short. */
/* changes: NULL: not of a model that was just published. */
char *ep_model_format(const ep_model *model, const ep_model_changes *changes);
char *ep_models_format(const ep_model *models, int64_t count);

/* What the model's weights tell besides. */
typedef struct {
  const char *name; /* a loan */
  bool text;        /* BYTES, else FP64 */
} ep_model_column;

/* GET /v2/models/{name}. column: [columns]: the inputs, by name; 0: rows of numbers. classes: of
 * which a row has one; 0: none. */
char *ep_model_metadata_format(const ep_model *model, const ep_model_column *column,
                               int64_t columns, int64_t classes, bool class_names);
char *ep_model_ready_format(const ep_model *model); /* GET /v2/models/{name}/ready */

#endif
