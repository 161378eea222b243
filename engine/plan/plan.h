/* plan.h: what a job will be, before anything is queued: shapes, parameters, bytes, operations; and
 * the program that a backend compiles. No compute: epochd itself links this. */
#ifndef EP_ENGINE_PLAN_PLAN_H
#define EP_ENGINE_PLAN_PLAN_H

#include "api/responses/ranks.h"
#include "api/responses/validation.h"
#include "api/spec/spec.h"
#include "api/wire/calibration.h"
#include "api/wire/frame.h"
#include "kernels/program.h"

/* Steps in time of a series (data->window) that are not its usual one (engine/data/prepare/gaps.h),
 * and the windows that are left out for them. Zeros: no time is given, or gaps are kept. */
typedef struct {
  bool dates;                    /* times are seconds since 1970, else numbers */
  int64_t steps;                 /* from row to row, in all series */
  int64_t gaps, repeated, close; /* of these, too long, of 0, and too short */
  double after, missing;         /* the longest gap: the last time before it, and what is missing */
  bool uneven;                   /* there is no usual step, and no window is left out */
  int64_t windows, left_out;     /* of all splits */
} ep_series_gaps;

/* What is known of a job's rows without reading them all (engine/data/datasets/dataset.h makes it).
 */
typedef struct {
  int64_t train_rows, validation_rows, test_rows;
  int64_t features;         /* columns of x */
  int64_t embedded_columns; /* the last ones of them, which are whole numbers: rows of a table that
                               the network learns; */
  int64_t embedded_rows;    /* its rows */
  int64_t target_columns;   /* columns of y */
  int64_t classes;          /* 1 + the greatest class if every target is an integer >= 0, else 0 */
  bool test_unlabelled;     /* test rows have no targets: they are predicted, and not measured */
  int64_t target_missing;   /* rows without a target: they are none */
  int64_t dropped_rows;     /* others, without a cell in a column whose gaps drop rows */
  ep_series_gaps series_gaps;
  int64_t target_words;          /* of a target that is a category: its classes; else 0 */
  double target_min, target_max; /* over all rows */
  ep_shape row;        /* of x as it is stored: [C, H, W], or a vector's [features, 1, 1]; zeros: a
                          vector. The spec's data.shape goes before it */
  ep_x_type x_type;    /* bytes only for data of bytes that is neither standardized nor embedded */
  double x_min, x_max; /* over all rows */
  bool x_integer;
  bool x_deep;  /* x is stored as 16 bits a value, as pictures of 16 bits a channel are */
  bool one_hot; /* y has a column a class; a loss that takes classes sees 1 column of
                   target_columns classes */
} ep_data_shape;

typedef struct {
  ep_program program;         /* its ops point into `ops` */
  ep_op *ops;                 /* [program.ops_count]: one a layer, those in residual blocks too */
  ep_parameter_group *groups; /* [program.groups_count] */
  float *class_weights;       /* [program.out_features] or NULL */
  float *x_scale, *x_shift;   /* [channels] or NULL */
  char (*names)[EP_LIMIT_NAME_BYTES]; /* [program.ops_count]: torch's name of the layer: "3", "4.0";
                                        "columns" of the op before all layers, if columns are
                                        embedded */
  int layers_count;                   /* of the model's own list */
  int value_of[EP_LIMIT_LAYERS];      /* [layers_count]: the value that each of them makes */
  int rank[EP_LIMIT_LAYERS + 2];      /* [ops_count + 1]: sides of each value's shape: 1 a vector */
  int64_t parameters;
  int64_t
      operations; /* floating-point operations of one epoch: 2 a multiply-add, forward + backward */
  int64_t bytes;  /* parameters, gradients, optimizer, activations and data on the device */
  ep_data_shape shape;
} ep_plan;

/* Whether a layer, also one of a block, looks up rows of a table by the numbers of the data. */
bool ep_layers_embed(const ep_layer_spec *layers, int count);

/* Bytes that every executor takes at least: the rows, the snapshot, the state and gradient of each
 * replica (several have doubles). */
int64_t ep_plan_least_bytes(const ep_plan *plan);

/* Infers shapes and checks the spec against the data: "layer 2 expects 784 inputs, layer 1 yields
 * 676" (layers count from 0, as in the JSON pointer /model/layers/2/in_features), the loss against
 * the last layer and the targets (classes beyond the outputs, bce targets outside 0 … 1),
 * batch_size against the rows, the ranks against layers, batch, device and executor, and every
 * product against limits.h. Lists all faults in *problem.
 * The caller destroys *out. */
ep_status ep_plan_create(const ep_job_spec *spec, const ep_data_shape *shape, ep_plan **out,
                         ep_problem *problem);
/* Weights of classes that are to be balanced, from those of the training rows: classes [rows], each
 * below out_features; NULL and other specs change nothing. One that does not occur counts once.
 * EP_NO_MEMORY. */
ep_status ep_plan_balance(ep_plan *plan, const ep_job_spec *spec, const int32_t *classes,
                          int64_t rows, ep_error *error);

void ep_plan_destroy(ep_plan *plan); /* NULL is allowed */

/* One row a layer, for ?validate=only; a residual's holds all of its block. rows:
 * [spec->layers_count]. */
void ep_plan_layers(const ep_plan *plan, const ep_job_spec *spec, ep_layer_view *rows);

/* How the job is cut into ranks, for ?validate=only and a job's view. False: it trains on one rank,
 * and did not ask for as many as pay. */
bool ep_plan_parallel(const ep_plan *plan, const ep_job_spec *spec, ep_parallel_view *out);

/* The share of the time that a rank of a pipeline waits for other stages at best: micro-batches go
 * through the stages one after the other, forward, then back, and the dearest stage, which has
 * `greatest_share` of the cost, sets the pace: 1 - m / (p (1 + (m - 1) share)). Of stages of the
 * same cost this is (p - 1) / (m + p - 1) (Huang et al. 2019, GPipe). */
double ep_pipeline_idle(int stages, int micro_batches, double greatest_share);

/* First weights, the same for every backend: random.h keyed by (seed, EP_RANDOM_INIT, op->layer,
 * index), and what norms start with: weight 1, bias 0, running mean 0, running variance 1.
 * parameters: [ep_program_state_floats: parameters, then buffers], written. */
void ep_plan_initialize(const ep_plan *plan, const ep_job_spec *spec, float *parameters);

/* What a device had to do with a program (of one signature) since the daemon was started. */
typedef struct {
  bool compiled; /* it has run there */
  int64_t asked; /* jobs on `auto` that it would have done for, this one left out */
  float epoch_seconds[EP_COST_EXECUTORS]; /* that each executor took, at best, in the order of
                                             ep_cost_executors; 0 = too short to tell */
} ep_program_past;

/* A job took so long for an epoch; an executor without a model is ignored. */
void ep_program_past_note(ep_program_past *past, const char *executor, double epoch_seconds);

/* Seconds of the job on a device, start included (engine/plan/cost.h); `auto` takes the least. The
 * executor is the one that the device would choose, or, where that one has to be compiled and the
 * training is so short that another one ends sooner, the other one. INFINITY and "" where it has
 * none for this job. calibration: of that device; NULL = nothing was measured: what is usual. Of
 * *device its id is enough. past: NULL = none. What an epoch took there before is a better guess
 * than any model; and a start that is asked for n times is paid once, so a share of it counts. */
ep_estimate ep_plan_estimate(const ep_plan *plan, const ep_job_spec *spec,
                             const ep_device_info *device, const ep_calibration *calibration,
                             const ep_program_past *past);

/* The same for plans that differ in nothing that a kernel is compiled for, nor in what an epoch
 * takes; never 0. */
uint64_t ep_plan_signature(const ep_plan *plan);

#endif
