/* leaderboard.h: the trials of a sweep by their metric, from the records that its worker left. */
#ifndef EP_API_SWEEP_LEADERBOARD_H
#define EP_API_SWEEP_LEADERBOARD_H

#include "api/sweep/sweep_spec.h"
#include "api/wire/trial.h"

/* A trial whose parts are all there. Figures that it has not are NaN. */
typedef struct {
  int64_t trial;
  int64_t rank;  /* from 1 */
  int64_t first; /* place of the first record of its last training; its parts follow */
  int64_t epochs;
  ep_status outcome;           /* of its first part that is not EP_OK */
  double metric, deviation;    /* of its parts: mean and sample standard deviation */
  double loss[EP_SPLIT_COUNT]; /* means */
  double seconds;              /* sum */
} ep_trial_row;

/* Best first; trials without a metric last, and equals in the order of their numbers. by_trial: in
 * that order all. Of a trial that was trained several times (ASHA) the last time counts. records:
 * [count], from number 1 on. *rows: [*rows_count], the caller's (free). */
ep_status ep_leaderboard_make(const ep_sweep_spec *sweep, const ep_trial_record *records,
                              int64_t count, bool by_trial, ep_trial_row **rows,
                              int64_t *rows_count, ep_error *error);

#endif
