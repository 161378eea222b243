/* study.h: what a whole grid of trainings says: what each axis does, how two axes go together, and
 * where two levels of one cross. All of it is of ratios, so the metric must be above 0. */
#ifndef EP_API_SWEEP_STUDY_H
#define EP_API_SWEEP_STUDY_H

#include "api/sweep/leaderboard.h"

/* Of a level of an axis against its first: over all cells that differ in this axis alone. */
typedef struct {
  int axis;
  int64_t level;
  double ratio;     /* geometric mean; NaN = no two such cells */
  double low, high; /* 95 % of it, by Student's t over the logarithms; NaN with fewer than 2 */
  int64_t cells;
} ep_study_effect;

/* How far the cells of two axes are from what the two do each for themselves. */
typedef struct {
  int axes[2];
  int64_t levels[2];
  double *factors; /* [levels[0], levels[1]]; owned by the study */
} ep_study_interaction;

/* Two levels of an axis take as long at x: interpolated between two x, in logarithms. */
typedef struct {
  int axis;
  int64_t levels[2];
  double x;
  double low, high; /* of the repeats, each by itself; NaN with fewer than 2 that cross there */
} ep_study_crossover;

typedef struct {
  bool by_parameters; /* x of the crossovers is the number of parameters, else the axis below */
  int x_axis;         /* -1 = there is no x */
  ep_study_effect *effects;
  ep_study_interaction *interactions;
  ep_study_crossover *crossovers; /* owned, all three */
  int64_t effects_count, interactions_count, crossovers_count;
} ep_study;

/* rows: [count], of ep_leaderboard_make. EP_CONFLICT: an axis is a range, which has no levels.
 * EP_TOO_LARGE: more cells than EP_LIMIT_STUDY_CELLS. The caller deinits *out, also on failure. */
ep_status ep_study_make(const ep_sweep_spec *sweep, const ep_trial_record *records,
                        const ep_trial_row *rows, int64_t count, ep_study *out, ep_error *error);
void ep_study_deinit(ep_study *study);

/* Levels of an axis; the value of one as a number, NaN where it is none. */
int64_t ep_study_levels(const ep_sweep_axis *axis);
double ep_study_number(const ep_sweep_axis *axis, int64_t level);

#endif
