/* spec.h: a training job as its user asked for it: plain structs, and the way from and to JSON.
 *
 * One declarative table a struct (spec_fields.c) names each field, its type, range and default; the
 * parser, the writer and the documentation all walk it. Every error carries a JSON pointer. */
#ifndef EP_API_SPEC_H
#define EP_API_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/problem.h"
#include "api/vocabulary.h"

typedef enum { EP_DATA_DATASET, EP_DATA_GENERATOR, EP_DATA_INLINE } ep_data_source;

/* Where rows come from, and how they are split and scaled before training. */
typedef struct {
  ep_data_source source;                 /* which one of dataset, generator, inline was given */
  char dataset[EP_LIMIT_NAME_BYTES + 1]; /* source dataset: its name */
  char sha256[65];         /* the content that the name meant at submission; filled by epochd */
  ep_generator generator;  /* source generator */
  int64_t rows;            /* disc: training rows, and as many test rows. Default 1000 */
  uint64_t generator_seed; /* "seed" in JSON. Default 1 */
  double *inline_x;        /* source inline: [inline_rows, inline_columns], row-major, owned */
  double *inline_y;        /* [inline_rows, inline_targets], owned */
  int64_t inline_rows, inline_columns, inline_targets;
  bool has_target; /* false: the last column of a table, or the data's own y */
  char target[EP_LIMIT_NAME_BYTES +
              1];          /* a column's name, or its index in decimal ("-1" is the last) */
  double test, validation; /* fractions of the rows, in [0, 1). Default 0 */
  uint64_t split_seed;     /* Default 1 */
  bool standardize_x, standardize_y; /* "standardize": ["x", "y"]. Default [] */
} ep_data_spec;

typedef struct {
  ep_layer_type type;
  int64_t in_features;   /* linear: 0 = inferred; a number given is checked */
  int64_t out_features;  /* linear */
  bool bias;             /* linear. Default true */
  ep_init_type init;     /* linear. Default "default" */
  double negative_slope; /* leaky_relu. Default 0.01 */
} ep_layer_spec;

typedef struct {
  ep_optimizer_type type; /* Default sgd */
  double lr;              /* Default 0.01 */
  double momentum;        /* Default 0 */
  bool nesterov;          /* Default false; needs momentum */
  double weight_decay;    /* Default 0 */
} ep_optimizer_spec;

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1];
  char *tags[EP_LIMIT_TAGS]; /* owned */
  int tags_count;
  int priority; /* -100 to 100, higher goes first. Default 0 */
  ep_data_spec data;
  ep_layer_spec *layers; /* [layers_count], owned */
  int layers_count;
  ep_loss_type loss;  /* "loss": "mse", or {"type": "huber", "delta": 1.0} */
  double huber_delta; /* Default 1 */
  ep_optimizer_spec optimizer;
  int64_t epochs;
  int64_t batch_size; /* 0: "full". Default "full" */
  bool shuffle;       /* Default true */
  uint64_t seed;      /* 0 to 2^53 - 1. Default 1 */
  char device[16];    /* "auto", "cpu", "cuda", "cuda:N". Default "auto" */
  char executor[32];  /* "" = chosen; "cpu/reference", … asks for one by name. Default "" (null in
                         JSON) */
  ep_precision precision;          /* Default fp32 */
  int64_t report_every;            /* epochs between events. Default max(1, epochs / 1000) */
  double checkpoint_every_seconds; /* kept with the job; checkpoints come with a later release.
                                      Default 30 */
} ep_job_spec;

/* A dataset's name: 1 to EP_LIMIT_NAME_BYTES letters, digits, '.', '_', '-'; a letter or digit
 * first.
 */
bool ep_dataset_name_valid(const char *name);

/* Parses JSON text into *out, defaults filled in. On failure *out is NULL and *problem lists every
 * field at fault (EP_MALFORMED when it is not JSON at all, EP_INVALID otherwise). Unknown fields
 * are errors, with the nearest known name in the message. The caller owns *out:
 * ep_job_spec_destroy. */
ep_status ep_job_spec_parse(const char *text, size_t bytes, ep_job_spec **out, ep_problem *problem);

/* The whole spec as JSON text, all defaults filled in; parsing it again gives the same spec.
 * The caller owns the text (free). NULL when memory is short. */
char *ep_job_spec_format(const ep_job_spec *spec);

void ep_job_spec_destroy(ep_job_spec *spec); /* NULL is allowed */

/* Seeds the hash tables of everything here that reads JSON. Once in a process, before any thread.
 */
void ep_json_seed(void);

#endif
