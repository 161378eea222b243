/* Asynchronous successive halving (L. Li et al., "A System for Massively Parallel Hyperparameter
 * Tuning", 2018, arXiv:1810.05934), with results taken in the order of their numbers, so that it
 * chooses the same however long each training takes. */
#include <stdlib.h>

#include "engine/search/method.h"
#include "engine/search/rung.h"
#include "engine/search/space.h"

enum { MOST_RUNGS = 32 }; /* of factor 2, up to EP_LIMIT_EPOCHS */

typedef struct {
  int rungs;                  /* of bracket 0, which has all */
  int64_t epochs[MOST_RUNGS]; /* [rungs] */
  int64_t trials;             /* begun */
  int64_t applied;            /* results of 1 … applied are in the rungs */
  int64_t capacity;           /* of trainings, with the unused [0] */
  ep_rung_training *trainings;
  ep_rung bracket[MOST_RUNGS][MOST_RUNGS]; /* [brackets][rungs] */
} asha;

/* The epochs of each rung; returns how many there are. epochs: [MOST_RUNGS]. */
static int rungs_fill(const ep_search_options *options, int64_t *epochs) {
  int count = 0;
  for (int64_t next = options->min_epochs; next < options->epochs && count < MOST_RUNGS - 1;) {
    epochs[count++] = next;
    next = next > options->epochs / options->factor ? options->epochs : next * options->factor;
  }
  epochs[count++] = options->epochs;
  return count;
}

int ep_asha_rungs(const ep_search_options *options) {
  int64_t epochs[MOST_RUNGS];
  return rungs_fill(options, epochs);
}

/* A result promotes one training at most, and the first factor - 1 none: the others all may be
 * promoted, if each is better than those before it. */
int64_t ep_asha_trainings(const ep_search_options *options) {
  int64_t total = 0;
  int rungs = ep_asha_rungs(options);
  for (int bracket = 0; bracket < options->brackets; bracket++) {
    int64_t count = (options->max_trials + options->brackets - 1 - bracket) / options->brackets;
    for (int rung = bracket; rung < rungs && count > 0; rung++) {
      total += count;
      count -= options->factor - 1;
    }
  }
  return total;
}

/* Room for all trainings that may be named before the next result but `told` is told: a number is
 * named when all those of `parallel` before it are told. */
static ep_status reserve(ep_search *search, int64_t told, ep_error *error) {
  asha *state = search->state;
  int64_t most = search->most, parallel = search->options.parallel;
  int64_t needed = told < most - parallel ? told + parallel : most;
  if (needed < state->capacity) return EP_OK;
  int64_t capacity = needed + needed / 2 < most ? needed + needed / 2 + 1 : most + 1;
  ep_rung_training *grown = realloc(state->trainings, (size_t)capacity * sizeof *state->trainings);
  if (!grown) return ep_fail_memory(error);
  state->trainings = grown;
  state->capacity = capacity;
  return EP_OK;
}

static ep_status create(ep_search *search, ep_error *error) {
  asha *state = search->state = calloc(1, sizeof *state);
  if (!state) return ep_fail_memory(error);
  state->rungs = rungs_fill(&search->options, state->epochs);
  return reserve(search, 0, error);
}

static void destroy(ep_search *search) {
  asha *state = search->state;
  if (state) free(state->trainings);
  free(state);
}

static int bracket_of(const ep_search *search, int64_t trial) {
  return (int)(trial % search->options.brackets);
}

/* The next result goes to its rung. */
static void apply(ep_search *search) {
  asha *state = search->state;
  uint32_t number = (uint32_t)++state->applied;
  const ep_rung_training *training = &state->trainings[number];
  ep_rung_add(&state->bracket[bracket_of(search, training->trial)][training->rung],
              state->trainings, number, search->options.factor);
}

static ep_search_answer name(ep_search *search, int64_t trial, int rung, ep_search_training *out) {
  const ep_search_options *options = &search->options;
  asha *state = search->state;
  state->trainings[out->number] = (ep_rung_training){.trial = (uint32_t)trial, .rung = rung};
  out->trial = trial;
  out->epochs = state->epochs[rung];
  ep_space_random(options->axes, options->axes_count, options->seed, trial, out->point);
  return EP_SEARCH_TRAIN;
}

/* From the highest rung down; of one rung, from the first bracket on. In fact one at most waits: a
 * result allows one promotion, and each number that is named looks at one more result. */
static bool promote(ep_search *search, ep_search_training *out) {
  asha *state = search->state;
  for (int rung = state->rungs - 2; rung >= 0; rung--)
    for (int bracket = 0; bracket < search->options.brackets && bracket <= rung; bracket++) {
      ep_rung *from = &state->bracket[bracket][rung];
      uint32_t number = ep_rung_promotable(from, state->trainings);
      if (!number) continue;
      ep_rung_promote(from, state->trainings);
      name(search, state->trainings[number].trial, rung + 1, out);
      return true;
    }
  return false;
}

/* When no trial is left to begin, the number depends on as many more results as it takes to find a
 * promotion. */
static ep_search_answer next(ep_search *search, ep_search_training *out) {
  asha *state = search->state;
  for (int64_t horizon = ep_search_horizon(search); state->applied < horizon; apply(search))
    if (!ep_search_is_told(search, state->applied + 1)) return EP_SEARCH_WAIT;
  for (;; apply(search)) {
    if (promote(search, out)) return EP_SEARCH_TRAIN;
    if (state->trials < search->options.max_trials) {
      int64_t trial = state->trials++;
      return name(search, trial, bracket_of(search, trial), out);
    }
    if (state->applied == search->named) return EP_SEARCH_DONE;
    if (!ep_search_is_told(search, state->applied + 1)) return EP_SEARCH_WAIT;
  }
}

static ep_status tell(ep_search *search, int64_t number, double metric, ep_error *error) {
  ep_status status = reserve(search, search->told_count + 1, error);
  if (status) return status;
  asha *state = search->state;
  state->trainings[number].metric = metric;
  return EP_OK;
}

const ep_search_method ep_search_asha = {create, destroy, next, tell};
