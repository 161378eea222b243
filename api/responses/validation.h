/* validation.h: the response to ?validate=only: what a job would be, and how long it would take. */
#ifndef EP_API_RESPONSES_VALIDATION_H
#define EP_API_RESPONSES_VALIDATION_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json/writer.h"
#include "api/limits.h"
#include "api/names.h"
#include "api/responses/ranks.h"

/* A shape of one to three sides. */
typedef struct {
  int sides;
  int64_t side[3];
} ep_shape_view;

/* One row of ?validate=only's "layers", as the plan found it. */
typedef struct {
  char name[EP_LIMIT_LAYER_NAME_BYTES + 1]; /* its number, unless it was given one */
  const char *type;
  char input[EP_LIMIT_LAYER_INPUTS]
            [EP_LIMIT_LAYER_NAME_BYTES + 1]; /* what it reads; "x": the data */
  int inputs;
  int64_t in_features, out_features, parameters;
  ep_shape_view in, out; /* the same with their sides */
} ep_layer_view;

typedef struct {
  char device[EP_DEVICE_ID_BYTES];
  char executor[EP_EXECUTOR_BYTES]; /* that it would choose */
  double seconds;                   /* of the whole job; INFINITY: it cannot */
  double start_seconds;             /* of these, before the first step */
  double model_seconds;             /* of the epochs, by the cost model and the calibration alone */
  int cores;                        /* of the CPU that it could use; 1 on a GPU */
  bool calibrated;                  /* by what was measured on this machine */
  bool measured;                    /* the epochs by what they took in a job before */
} ep_estimate;

/* What the job's worker asks Slurm for. "" and 0: Slurm's default. */
typedef struct {
  const char *partition, *account, *qos, *gres, *constraint;
  int nodes, gpus, cores; /* gpus, cores and memory are of each node */
  int64_t memory_bytes, minutes;
} ep_allocation_view;

typedef struct {
  const char *spec;
  const char *automatic; /* JSON text: what "auto" chose; NULL = null */
  const char *remarks;   /* what is warned of; NULL = nothing */
  const ep_layer_view *layers;
  int layers_count;
  const char *drawing;                   /* an SVG of the layers */
  int64_t parameters, bytes, operations; /* operations: floating-point, of one epoch */
  int64_t train_rows, validation_rows, test_rows;
  const ep_parallel_view *parallel;     /* NULL = one rank */
  const ep_allocation_view *slurm;      /* NULL = its device is none of Slurm's */
  const ep_allocation_view *kubernetes; /* likewise; its partition is the namespace */
  const ep_estimate *estimates;
  int estimates_count;
} ep_validation_view;

/* "layers": a row a layer. */
void ep_layer_views_write(ep_writer *writer, const ep_layer_view *layers, int count);

/* The caller owns the text (free); NULL when memory is short. */
char *ep_validation_format(const ep_validation_view *validation);

#endif
