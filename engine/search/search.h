/* search.h: which trainings a sweep runs: a grid, random or Sobol points of a space, successive
 * halving (ASHA: Li et al. 2018, arXiv:1810.05934), or a tree-structured Parzen estimator (TPE:
 * Bergstra et al. 2011).
 *
 * A search is a function of its options and of the results, in the order of their numbers. A
 * training is numbered when the search names it: 1, 2, 3, … What is chosen as number n depends on
 * the results of the numbers up to n - parallel alone, whenever others arrive: the same sweep
 * chooses the same, however long each training takes, and after a crash. When ASHA has no trial
 * left to begin, number n depends on the first results, in that order, that allow a promotion.
 * Not thread-safe. */
#ifndef EP_ENGINE_SEARCH_SEARCH_H
#define EP_ENGINE_SEARCH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "api/limits.h"
#include "api/status.h"
#include "api/vocabulary.h"

/* One axis of the space. */
typedef struct {
  ep_axis_kind kind;
  int64_t count;    /* values: how many there are; a point has the index of one, 0 … count - 1 */
  double low, high; /* the others: both ends are included; of the int kinds they are whole */
} ep_axis;

typedef struct {
  ep_search_type type;
  const ep_axis *axes; /* [axes_count], lent for the life of the search */
  int axes_count;      /* 0 … EP_LIMIT_SWEEP_AXES */
  bool maximize;
  uint64_t seed;
  int64_t max_trials; /* points of the space, 1 … EP_LIMIT_TRIALS; a grid has as many as it has, if
                         that is less */
  int64_t parallel;   /* trainings that may be under way together, at least 1 */
  int64_t epochs;     /* of a whole training */
  /* asha */
  int64_t min_epochs; /* of the first rung, of the first bracket. Rung k trains min_epochs *
                         factor^k epochs, while that is below `epochs`; the last one `epochs` */
  int factor;         /* one of so many is promoted to the next rung, which trains factor times as
                         many epochs */
  int brackets;       /* bracket b begins at rung b, with rungs of its own; trials go to them in
                         turn */
} ep_search_options;

/* One training. */
typedef struct {
  int64_t number;                    /* 1, 2, 3, … */
  int64_t trial;                     /* 0, 1, 2, …: the point; ASHA trains one several times */
  int64_t epochs;                    /* after which it stops: options.epochs but for ASHA */
  double point[EP_LIMIT_SWEEP_AXES]; /* [axes_count]: the value of each axis, or its index */
} ep_search_training;

typedef struct ep_search ep_search;

/* Points of a grid: the product of the axes, each of kind values or with few enough whole numbers;
 * EP_INVALID for another kind. INT64_MAX stands for that many and for more. */
ep_status ep_search_grid_size(const ep_axis *axes, int axes_count, int64_t *size, ep_error *error);

/* The most trainings that the search may name, by options that ep_search_create takes. Of ASHA an
 * upper bound: it is reached if each trial is better than those before it. */
int64_t ep_search_trainings(const ep_search_options *options);

/* *out is the caller's: ep_search_destroy. EP_INVALID: some option is outside of its range;
 * EP_NO_MEMORY. */
ep_status ep_search_create(const ep_search_options *options, ep_search **out, ep_error *error);
void ep_search_destroy(ep_search *search); /* NULL is allowed */

typedef enum {
  EP_SEARCH_TRAIN, /* *out is filled in */
  EP_SEARCH_WAIT,  /* first a result is needed. A grid, random and Sobol points need none */
  EP_SEARCH_DONE   /* all are named; results may still be told */
} ep_search_answer;

ep_search_answer ep_search_next(ep_search *search, ep_search_training *out);

/* The metric of a training that was named; NaN: it failed or diverged, which is worse than any
 * number. In any order. EP_INVALID: it was not named; EP_CONFLICT: it has its result; EP_NO_MEMORY:
 * nothing happened, and it may be told again. */
ep_status ep_search_tell(ep_search *search, int64_t number, double metric, ep_error *error);

#endif
