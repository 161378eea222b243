/* Searches that look at no result: a grid, random points, Sobol points. */
#include "engine/search/method.h"
#include "engine/search/space.h"

static ep_search_answer next(ep_search *search, ep_search_training *out) {
  const ep_search_options *options = &search->options;
  out->trial = search->named;
  if (out->trial == options->max_trials) return EP_SEARCH_DONE;
  out->epochs = options->epochs;
  if (options->type == EP_SEARCH_GRID)
    ep_space_grid(options->axes, options->axes_count, out->trial, out->point);
  else if (options->type == EP_SEARCH_RANDOM)
    ep_space_random(options->axes, options->axes_count, options->seed, out->trial, out->point);
  else
    ep_sobol_point(&search->sobol, options->axes, options->axes_count, out->trial, out->point);
  return EP_SEARCH_TRAIN;
}

const ep_search_method ep_search_points = {.next = next};
