/* sweep.h: a sweep and its trials as text. Every text is owned by the caller (free); NULL when
 * memory is short. */
#ifndef EP_API_RESPONSES_SWEEP_H
#define EP_API_RESPONSES_SWEEP_H

#include "api/responses/job.h"
#include "api/sweep/leaderboard.h"

/* Pointers are loans for the call. */
typedef struct {
  const ep_job_view *job; /* what it is as a job: its spec is the sweep's, its epochs trainings */
  const ep_sweep_spec *sweep;
  const ep_trial_record *records;
  const ep_trial_row *best; /* NULL = no trial is whole */
} ep_sweep_view;

/* summary: without the spec. */
char *ep_sweep_format(const ep_sweep_view *view, bool summary);

/* A part of the leaderboard: rows[offset … offset + count - 1] of total. */
typedef struct {
  const ep_sweep_spec *sweep;
  const ep_trial_record *records;
  const ep_trial_row *rows; /* [total] */
  int64_t total, offset, count;
} ep_trials_view;

char *ep_trials_format_json(const ep_trials_view *view);
/* A column for each field that varies. */
char *ep_trials_format_csv(const ep_trials_view *view);

/* One trial. job: its request as JSON text. */
char *ep_trial_format(const ep_sweep_spec *sweep, const ep_trial_record *records,
                      const ep_trial_row *row, const char *job);

/* What ?validate=only says of a sweep. */
typedef struct {
  const char *spec;      /* JSON text */
  const char *automatic; /* JSON text: what "auto" chose; NULL = null */
  const char *remarks;   /* what is warned of; NULL = nothing */
  int64_t trials, trainings;
  int64_t parameters, bytes; /* of the job at the first point */
  int64_t train_rows, validation_rows, test_rows;
  double seconds_cpu, seconds_cuda; /* of all trainings one after another; not finite = null */
} ep_sweep_validation;
char *ep_sweep_validation_format(const ep_sweep_validation *validation);

#endif
