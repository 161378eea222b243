/* Tree-structured Parzen estimators, one an axis (J. Bergstra et al., "Algorithms for
 * Hyper-Parameter Optimization", NeurIPS 2011). Of a few values that are dense among the good
 * trials, it takes the one whose density there is the most times that among the others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/search/method.h"
#include "engine/search/parzen.h"
#include "engine/search/space.h"

/* Chosen by the best of 60 and of 200 trials on branin, two of hartmann's, ackley, rosenbrock,
 * camel and three spaces with lists and logarithms; CANDIDATES with a look at seven other problems
 * too. */
enum {
  STARTUP_TRIALS = 10,          /* Sobol points: before so many results nothing is estimated */
  CANDIDATES = 8,               /* of each axis. More (Optuna, Hyperopt: 24) look less far around */
  MOST_GOOD = 25,               /* as in Optuna and Hyperopt */
  MOST_POOR = EP_PARZEN_TRIALS, /* the newest of the others */
  MOST_PENDING = 64,            /* of them, those without a result */
  HISTORY = MOST_GOOD + MOST_POOR,
  ATTEMPTS = 8,        /* to find a point that is not among the history, by the estimate */
  CHANCE_ATTEMPTS = 16 /* and then by chance: lists and whole numbers have few points */
};
static const double GOOD_PART = 0.15; /* Optuna: 0.1 */

typedef struct {
  int64_t number;
  double metric; /* smaller is better */
  double point[EP_LIMIT_SWEEP_AXES];
} trial;

typedef struct {
  int64_t applied; /* results of 1 … applied are known */
  int best_count;
  trial best[MOST_GOOD]; /* [best_count]: best first, ties by number */
  int64_t recent_count;
  trial *recent; /* [recent_count]: number i is at i % recent_count. Those under way, and HISTORY */
} tpe;

static ep_status create(ep_search *search, ep_error *error) {
  const ep_search_options *options = &search->options;
  tpe *state = search->state = calloc(1, sizeof *state);
  if (!state) return ep_fail_memory(error);
  state->recent_count =
      (options->parallel < search->most ? options->parallel : search->most) + HISTORY;
  state->recent = malloc((size_t)state->recent_count * sizeof *state->recent);
  return state->recent ? EP_OK : ep_fail_memory(error);
}

static void destroy(ep_search *search) {
  tpe *state = search->state;
  if (state) free(state->recent);
  free(state);
}

static trial *trial_of(const tpe *state, int64_t number) {
  return &state->recent[number % state->recent_count];
}

/* The next result takes its place among the best, if it has one. */
static void apply(tpe *state) {
  const trial *applied = trial_of(state, ++state->applied);
  if (isnan(applied->metric)) return;
  int at = state->best_count;
  while (at > 0 && applied->metric < state->best[at - 1].metric) at--;
  if (at == MOST_GOOD) return;
  if (state->best_count < MOST_GOOD) state->best_count++;
  memmove(&state->best[at + 1], &state->best[at],
          (size_t)(state->best_count - 1 - at) * sizeof *state->best);
  state->best[at] = *applied;
}

/* What is known, in two. */
typedef struct {
  int good_count, poor_count;
  const trial *good[MOST_GOOD]; /* [good_count] */
  const trial *poor[MOST_POOR]; /* [poor_count] */
} trial_halves;

static bool is_good(const trial_halves *halves, int64_t number) {
  for (int i = 0; i < halves->good_count; i++)
    if (halves->good[i]->number == number) return true;
  return false;
}

/* A trial without a result counts as poor, so that those side by side differ ("constant liar";
 * D. Ginsbourger et al. 2010). */
static void halves_fill(const ep_search *search, trial_halves *halves) {
  const tpe *state = search->state;
  double part = ceil(GOOD_PART * (double)state->applied);
  halves->poor_count = 0;
  halves->good_count = part < state->best_count ? (int)part : state->best_count;
  for (int i = 0; i < halves->good_count; i++) halves->good[i] = &state->best[i];
  for (int64_t number = search->named; number > state->applied && halves->poor_count < MOST_PENDING;
       number--)
    halves->poor[halves->poor_count++] = trial_of(state, number);
  for (int64_t number = state->applied; number > 0 && halves->poor_count < MOST_POOR; number--)
    if (!is_good(halves, number)) halves->poor[halves->poor_count++] = trial_of(state, number);
}

static void fit(ep_parzen *parzen, const ep_axis *axis, int at, const trial *const *trials,
                int count) {
  ep_parzen_trial places[EP_PARZEN_TRIALS];
  bool list = axis->kind == EP_AXIS_VALUES;
  for (int i = 0; i < count; i++) {
    double value = trials[i]->point[at];
    places[i].value = list ? value : ep_axis_fraction(axis, value);
    places[i].cell = ep_axis_cell(axis, value);
  }
  if (list)
    ep_parzen_fit_list(parzen, places, count, axis->count);
  else
    ep_parzen_fit(parzen, places, count);
}

/* A value for axis number `at`. */
static double suggest(const ep_axis *axis, int at, const trial_halves *halves,
                      ep_parzen_draws *draws) {
  ep_parzen good, poor;
  fit(&good, axis, at, halves->good, halves->good_count);
  fit(&poor, axis, at, halves->poor, halves->poor_count);
  double best = -1, chosen = 0;
  for (int i = 0; i < CANDIDATES; i++) {
    double place = ep_parzen_sample(&good, draws), value = place;
    if (axis->kind != EP_AXIS_VALUES) {
      value = ep_axis_value(axis, place);
      place = ep_axis_fraction(axis, value); /* the middle of a whole number's cell */
    }
    double ratio = ep_parzen_density(&good, place) / ep_parzen_density(&poor, place);
    if (ratio <= best) continue;
    best = ratio;
    chosen = value;
  }
  return chosen;
}

/* Whether a point was named lately, or is among the best: it would say nothing new. */
static bool is_known(const ep_search *search, const double *point) {
  const tpe *state = search->state;
  size_t bytes = (size_t)search->options.axes_count * sizeof *point;
  for (int i = 0; i < state->best_count; i++)
    if (memcmp(state->best[i].point, point, bytes) == 0) return true;
  for (int64_t number = search->named; number > 0 && number > search->named - HISTORY; number--)
    if (memcmp(trial_of(state, number)->point, point, bytes) == 0) return true;
  return false;
}

static void estimate(const ep_search *search, ep_search_training *out) {
  const ep_search_options *options = &search->options;
  ep_parzen_draws draws = {options->seed, out->number, 0};
  trial_halves halves;
  halves_fill(search, &halves);
  for (int attempt = 0; attempt < ATTEMPTS + CHANCE_ATTEMPTS; attempt++) {
    for (int i = 0; i < options->axes_count; i++)
      out->point[i] = attempt < ATTEMPTS ? suggest(&options->axes[i], i, &halves, &draws)
                                         : ep_axis_value(&options->axes[i], ep_parzen_draw(&draws));
    if (!is_known(search, out->point)) return;
  }
}

static ep_search_answer next(ep_search *search, ep_search_training *out) {
  const ep_search_options *options = &search->options;
  tpe *state = search->state;
  if (search->named == options->max_trials) return EP_SEARCH_DONE;
  for (int64_t horizon = ep_search_horizon(search); state->applied < horizon; apply(state))
    if (!ep_search_is_told(search, state->applied + 1)) return EP_SEARCH_WAIT;
  out->trial = search->named;
  out->epochs = options->epochs;
  if (state->applied < STARTUP_TRIALS || state->best_count == 0)
    ep_sobol_point(&search->sobol, options->axes, options->axes_count, out->trial, out->point);
  else
    estimate(search, out);
  trial *named = trial_of(state, out->number);
  named->number = out->number;
  memcpy(named->point, out->point, sizeof named->point);
  return EP_SEARCH_TRAIN;
}

static ep_status tell(ep_search *search, int64_t number, double metric, ep_error *error) {
  (void)error;
  trial_of(search->state, number)->metric = metric;
  return EP_OK;
}

const ep_search_method ep_search_tpe = {create, destroy, next, tell};
