#include "engine/search/search.h"

#include <math.h>
#include <stdlib.h>

#include "engine/search/method.h"
#include "engine/search/space.h"

static const ep_search_method *const METHODS[EP_SEARCH_COUNT] = {
    [EP_SEARCH_GRID] = &ep_search_points,  [EP_SEARCH_RANDOM] = &ep_search_points,
    [EP_SEARCH_SOBOL] = &ep_search_points, [EP_SEARCH_ASHA] = &ep_search_asha,
    [EP_SEARCH_TPE] = &ep_search_tpe,
};

static ep_status asha_check(const ep_search_options *options, ep_error *error) {
  if (options->min_epochs < 1 || options->min_epochs > options->epochs)
    return ep_fail(error, EP_INVALID, "min_epochs must be 1 to epochs");
  if (options->factor < 2) return ep_fail(error, EP_INVALID, "factor must be at least 2");
  int rungs = ep_asha_rungs(options);
  if (options->brackets < 1 || options->brackets > rungs)
    return ep_fail(error, EP_INVALID, "brackets must be 1 to %d, the number of rungs", rungs);
  return EP_OK;
}

static ep_status options_check(const ep_search_options *options, ep_error *error) {
  if ((unsigned)options->type >= EP_SEARCH_COUNT)
    return ep_fail(error, EP_INVALID, "unknown search");
  ep_status status = ep_space_check(options->axes, options->axes_count, error);
  if (status) return status;
  if (options->max_trials < 1 || options->max_trials > EP_LIMIT_TRIALS)
    return ep_fail(error, EP_INVALID, "max_trials must be 1 to %d", EP_LIMIT_TRIALS);
  if (options->parallel < 1) return ep_fail(error, EP_INVALID, "parallel must be at least 1");
  if (options->epochs < 1 || options->epochs > EP_LIMIT_EPOCHS)
    return ep_fail(error, EP_INVALID, "epochs must be 1 to %lld", EP_LIMIT_EPOCHS);
  if (options->type == EP_SEARCH_ASHA) return asha_check(options, error);
  int64_t size;
  return options->type == EP_SEARCH_GRID
             ? ep_search_grid_size(options->axes, options->axes_count, &size, error)
             : EP_OK;
}

/* Points of the space that the search looks at. */
static int64_t trials_of(const ep_search_options *options) {
  int64_t size;
  if (options->type == EP_SEARCH_GRID &&
      ep_search_grid_size(options->axes, options->axes_count, &size, NULL) == EP_OK &&
      size < options->max_trials)
    return size;
  return options->max_trials;
}

int64_t ep_search_trainings(const ep_search_options *options) {
  return options->type == EP_SEARCH_ASHA ? ep_asha_trainings(options) : trials_of(options);
}

ep_status ep_search_create(const ep_search_options *options, ep_search **out, ep_error *error) {
  ep_status status = options_check(options, error);
  if (status) return status;
  ep_search *search = calloc(1, sizeof *search);
  if (!search) return ep_fail_memory(error);
  search->options = *options;
  search->options.max_trials = trials_of(options);
  search->most = ep_search_trainings(options);
  ep_sobol_init(&search->sobol, options->seed);
  search->told = calloc((size_t)(search->most / 64 + 1), sizeof *search->told);
  status = search->told ? EP_OK : ep_fail_memory(error);
  if (!status && METHODS[options->type]->create)
    status = METHODS[options->type]->create(search, error);
  if (status) {
    ep_search_destroy(search);
    return status;
  }
  *out = search;
  return EP_OK;
}

void ep_search_destroy(ep_search *search) {
  if (!search) return;
  if (METHODS[search->options.type]->destroy) METHODS[search->options.type]->destroy(search);
  free(search->told);
  free(search);
}

ep_search_answer ep_search_next(ep_search *search, ep_search_training *out) {
  ep_search_training training = {.number = search->named + 1};
  ep_search_answer answer = METHODS[search->options.type]->next(search, &training);
  if (answer != EP_SEARCH_TRAIN) return answer;
  search->named++;
  *out = training;
  return EP_SEARCH_TRAIN;
}

ep_status ep_search_tell(ep_search *search, int64_t number, double metric, ep_error *error) {
  if (number < 1 || number > search->named)
    return ep_fail(error, EP_INVALID, "training %lld was not named", (long long)number);
  if (ep_search_is_told(search, number))
    return ep_fail(error, EP_CONFLICT, "training %lld has its result", (long long)number);
  const ep_search_method *method = METHODS[search->options.type];
  if (method->tell) {
    ep_status status =
        method->tell(search, number, search->options.maximize ? -metric : metric, error);
    if (status) return status;
  }
  search->told[number / 64] |= UINT64_C(1) << (number % 64);
  search->told_count++;
  return EP_OK;
}
