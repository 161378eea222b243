/* trial.h: what one training of a sweep left, as a worker sends it and as the sweep's folder keeps
 * it; and what it is before that, as a worker hands it to another. */
#ifndef EP_API_WIRE_TRIAL_H
#define EP_API_WIRE_TRIAL_H

#include <stdint.h>

#include "api/limits.h"
#include "api/status.h"
#include "api/vocabulary.h"

/* Plain doubles and integers, little-endian on the wire. Figures that it has not are NaN. */
typedef struct {
  int64_t number; /* 1, 2, 3, … in the order of the search, part after part */
  int64_t trial;  /* the point of the space: 0, 1, 2, … */
  int64_t epochs; /* that were asked for: fewer than the job's on a lower rung of ASHA */
  int64_t epochs_done;
  int32_t part;   /* of the trial: which fold and which seed */
  int32_t status; /* an ep_status: EP_OK, EP_DIVERGED, EP_INVALID, … */
  int64_t parameters;
  double metric;                /* that the trials are compared by */
  double seconds, test_seconds; /* of training; of the test split's evaluation */
  double epoch_microseconds, samples_per_second;
  double metrics[EP_SPLIT_COUNT][EP_METRIC_COUNT];
  double point[EP_LIMIT_SWEEP_AXES]; /* the value of each axis; of a list its index */
} ep_trial_record;

/* A training that is to be done: the first members of its record. */
typedef struct {
  int64_t number, trial, epochs;
  int64_t part;
  double point[EP_LIMIT_SWEEP_AXES];
} ep_trial_point;

_Static_assert(sizeof(ep_trial_point) == 32 + 8 * EP_LIMIT_SWEEP_AXES, "no padding on the wire");
_Static_assert(sizeof(ep_trial_record) ==
                   88 + 8 * (EP_SPLIT_COUNT * EP_METRIC_COUNT + EP_LIMIT_SWEEP_AXES),
               "no padding on the wire");

#endif
