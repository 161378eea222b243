/* method.h: what a kind of search implements, and what all have. Nobody outside of this folder
 * includes it. */
#ifndef EP_ENGINE_SEARCH_METHOD_H
#define EP_ENGINE_SEARCH_METHOD_H

#include "engine/search/search.h"
#include "engine/search/sobol.h"

struct ep_search {
  ep_search_options options; /* max_trials: no more than a grid has */
  int64_t most;              /* trainings that may be named */
  int64_t named;             /* so far: the numbers 1 … named */
  uint64_t *told;            /* bit `number`: its result is there */
  int64_t told_count;
  ep_sobol sobol;
  void *state; /* the method's own */
};

typedef struct {
  /* Fills search->state; NULL: there is none. What it made before it failed, `destroy` frees. */
  ep_status (*create)(ep_search *search, ep_error *error);
  void (*destroy)(ep_search *search); /* search->state may be NULL */
  /* Chooses number search->named + 1: trial, epochs and point. */
  ep_search_answer (*next)(ep_search *search, ep_search_training *out);
  /* A result, smaller is better, NaN is worst. NULL: the results change nothing. On an error
   * nothing has happened, and the result may be told again. */
  ep_status (*tell)(ep_search *search, int64_t number, double metric, ep_error *error);
} ep_search_method;

extern const ep_search_method ep_search_points, ep_search_asha, ep_search_tpe;

/* The results that number `named + 1` depends on: those of 1 … this; 0 or less: of none. */
static inline int64_t ep_search_horizon(const ep_search *search) {
  return search->named + 1 - search->options.parallel;
}

static inline bool ep_search_is_told(const ep_search *search, int64_t number) {
  return search->told[number / 64] >> (number % 64) & 1;
}

/* ASHA's rungs: how many trainings may be named in all. */
int64_t ep_asha_trainings(const ep_search_options *options);

/* Rungs that the first bracket has. */
int ep_asha_rungs(const ep_search_options *options);

#endif
