/* sweep_spec.h: many trainings as one request: a job, the fields of it that vary, and how the best
 * is searched. A trial is one point of the space; it is one training, or with folds or repeats
 * several: its parts. */
#ifndef EP_API_SWEEP_SWEEP_SPEC_H
#define EP_API_SWEEP_SWEEP_SPEC_H

#include <stddef.h>

#include "api/json/problem.h"
#include "api/json/writer.h"
#include "api/spec/job_spec.h"
#include "api/wire/result.h"

struct json_t; /* jansson's */

/* One axis: a field of the job, or several that move together ("zip"). */
typedef struct {
  const char *pointers[EP_LIMIT_SWEEP_AXES];       /* JSON pointers into the job; keys of `space` */
  const struct json_t *lists[EP_LIMIT_SWEEP_AXES]; /* values: those of each, [count] */
  int pointers_count;
  ep_axis_kind kind;
  int64_t count; /* values */
  double low, high;
} ep_sweep_axis;

/* What is measured of a trial. */
typedef enum {
  EP_OF_TRAIN,
  EP_OF_VALIDATION,
  EP_OF_TEST,
  EP_OF_TIMING /* "seconds", "epoch_microseconds", "samples_per_second" */
} ep_metric_of;

typedef struct {
  ep_job_spec labels;   /* name, tags, priority, pinned, ttl_seconds, webhooks alone; the first
                           member: its   table reads into it */
  struct json_t *job;   /* the job, without the fields of the space; owned, as all json_t here */
  struct json_t *space; /* {pointer: {kind: …}} */
  struct json_t *zip;   /* [[pointer, …], …] or NULL */
  ep_sweep_axis axes[EP_LIMIT_SWEEP_AXES];
  int axes_count;
  ep_search_type search; /* Default random; grid when all axes have values */
  uint64_t seed;         /* of the search. Default 1 */
  char metric[64];       /* "validation.loss" */
  ep_metric_of metric_of;
  int metric_number; /* ep_metric_name's; of timing: its place above */
  bool maximize;     /* "mode": "max" */
  bool allow_test_metric;
  int64_t max_trials;      /* Default 100; of a grid all of it */
  int64_t max_parallel;    /* 0 = as many as the device takes */
  int workers;             /* that train it at once, at most; 0 = as many as are idle */
  bool exclusive;          /* one training at a time, and no other job meanwhile */
  int64_t warm_up;         /* trainings before each that counts. Default 0 */
  int device_axis;         /* the axis that is /device; -1 = none */
  bool stored;             /* it was read from a store: its jobs are, as ep_job_spec_load's */
  double max_seconds;      /* of training, after which the sweep ends. Default 0 = none */
  ep_parts_spec parts;     /* of each trial */
  int64_t asha_min_epochs; /* Default max(1, epochs / factor^3) */
  int asha_factor;         /* Default 3 */
  int asha_brackets;       /* Default 1 */
  ep_job_spec *base;       /* the job at the first value or low end of every axis; owned */
} ep_sweep_spec;

/* "space": "auto" of a request becomes ranges about what its job has, which is filled in: the
 * learning rate and the weight decay, the width of the first dense layer but the last, the first
 * dropout. Of any other request nothing changes. */
ep_status ep_sweep_space_fill(struct json_t *request, ep_problem *problem);

/* Like ep_job_spec_parse. Each value of a list and both ends of each range are checked as the job
 * with that value. The caller owns *out: ep_sweep_spec_destroy. */
ep_status ep_sweep_spec_parse(const char *text, size_t bytes, ep_sweep_spec **out,
                              ep_problem *problem);
/* The same of a request that was parsed (api/spec/spec.h). */
ep_status ep_sweep_request_read(const struct json_t *request, ep_sweep_spec **out,
                                ep_problem *problem);
/* The same of a text that ep_sweep_spec_format wrote: its values are not checked again. */
ep_status ep_sweep_spec_load(const char *text, ep_sweep_spec **out, ep_error *error);
/* The folds and repeats of a job's spec: one point, whose parts they are. */
ep_status ep_sweep_of_job(const char *text, size_t bytes, ep_sweep_spec **out, ep_problem *problem);
/* All of it as JSON text, the caller's (free). NULL: memory is short. */
char *ep_sweep_spec_format(const ep_sweep_spec *sweep);
void ep_sweep_spec_destroy(ep_sweep_spec *sweep); /* NULL is allowed */

/* Trainings of one trial: folds times repeats. */
int ep_sweep_parts(const ep_sweep_spec *sweep);

/* The job at a point: [axes_count], of a list the index. part: 0 … parts - 1, fold after fold of
 * each seed; -1: without folds and with the job's own seed. The caller owns *out. EP_INVALID: the
 * values do not go together; *problem says why. */
ep_status ep_sweep_trial_make(const ep_sweep_spec *sweep, const double *point, int part,
                              ep_job_spec **out, ep_problem *problem);

/* The first value or the low end of every axis. point: [EP_LIMIT_SWEEP_AXES] */
void ep_sweep_first_point(const ep_sweep_spec *sweep, double *point);

/* The job at a point as a request, with the name and the one tag instead of its own; the caller's.
 * part: as above. NULL: memory is short. */
char *ep_sweep_trial_format(const ep_sweep_spec *sweep, const double *point, int part,
                            const char *name, const char *tag, bool private);

/* {"/optimizer/lr": 0.01, …}: the values of a point. */
void ep_sweep_values_write(ep_writer *writer, const ep_sweep_spec *sweep, const double *point);
/* One value of an axis, of its pointer number `at`. */
void ep_sweep_value_write(ep_writer *writer, const ep_sweep_axis *axis, int at, double value);

/* Whether a value of an axis, that of the best trial, is at an end of its range, of three numbers
 * or more, beyond which there may be better ones: a sentence about it. A lower end of 0 is none. */
bool ep_sweep_edge_format(const ep_sweep_axis *axis, double value, char *out, size_t bytes);

/* The fields that do not vary: the job as it was given. */
void ep_sweep_controls_write(ep_writer *writer, const ep_sweep_spec *sweep);

/* Whether one of two JSON pointers leads through the other. */
bool ep_pointers_overlap(const char *a, const char *b);
/* Whether an axis changes the field, what holds it, or something in it. */
bool ep_sweep_field_varies(const ep_sweep_spec *sweep, const char *field);

/* Writes what was found at submission, in the job at the first point, into the job: the content
 * that the data's name meant, where the columns lie that layers slice, and the positive class,
 * unless the target varies. False: memory. */
bool ep_sweep_pin_data(ep_sweep_spec *sweep, const ep_job_spec *first);

/* Whether the jobs have the metric, given their splits; adds an error at /metric where not. */
ep_status ep_sweep_metric_check(const ep_sweep_spec *sweep, bool has_validation, bool has_test,
                                ep_problem *problem);
/* The device of a point; NULL: the sweep has no such axis. */
const char *ep_sweep_device(const ep_sweep_spec *sweep, const double *point);

/* The metric of a finished training; NaN where it has none. */
double ep_sweep_metric_of(const ep_sweep_spec *sweep, const ep_job_result *result);

#endif
