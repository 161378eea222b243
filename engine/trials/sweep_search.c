#include "engine/trials/sweep_search.h"

/* Trainings under way together, where the request names none: what is chosen next is known so many
 * results late, on every device. */
enum { ASHA_PARALLEL = 64, TPE_PARALLEL = 4 };

static int64_t parallel_of(const ep_sweep_spec *sweep) {
  if (sweep->max_parallel > 0) return sweep->max_parallel;
  if (sweep->search == EP_SEARCH_ASHA) return ASHA_PARALLEL;
  return sweep->search == EP_SEARCH_TPE ? TPE_PARALLEL : EP_LIMIT_TRIALS;
}

void ep_sweep_search_options(const ep_sweep_spec *sweep, ep_axis *axes, ep_search_options *out) {
  for (int i = 0; i < sweep->axes_count; i++)
    axes[i] = (ep_axis){.kind = sweep->axes[i].kind,
                        .count = sweep->axes[i].count,
                        .low = sweep->axes[i].low,
                        .high = sweep->axes[i].high};
  *out = (ep_search_options){.type = sweep->search,
                             .axes = axes,
                             .axes_count = sweep->axes_count,
                             .maximize = sweep->maximize,
                             .seed = sweep->seed,
                             .max_trials = sweep->max_trials,
                             .parallel = parallel_of(sweep),
                             .epochs = sweep->base->epochs,
                             .min_epochs = sweep->asha_min_epochs,
                             .factor = sweep->asha_factor,
                             .brackets = sweep->asha_brackets};
}

/* A grid is searched whole: max_trials guards against one that is larger than was thought. */
static ep_status grid_check(const ep_sweep_spec *sweep, const ep_search_options *options,
                            ep_problem *problem) {
  ep_error error = {0};
  int64_t size = 0;
  for (int i = 0; i < sweep->axes_count; i++)
    if (sweep->axes[i].kind != EP_AXIS_VALUES && sweep->axes[i].kind != EP_AXIS_INT_UNIFORM)
      return ep_problem_add(problem, EP_INVALID, "/space",
                            "a grid requires lists or int_uniform, and %.100s is %s: list its "
                            "values, or use another search",
                            sweep->axes[i].pointers[0], ep_axis_kind_name(sweep->axes[i].kind));
  if (ep_search_grid_size(options->axes, options->axes_count, &size, &error) != EP_OK)
    return ep_problem_add(problem, EP_INVALID, "/space", "%s", error.message);
  if (size <= sweep->max_trials) return EP_OK;
  return ep_problem_add(problem, EP_INVALID, "/max_trials",
                        "the grid has %lld points, more than max_trials, %lld: give fewer values, "
                        "or use another search",
                        (long long)size, (long long)sweep->max_trials);
}

ep_status ep_sweep_count(const ep_sweep_spec *sweep, int64_t *trainings, ep_problem *problem) {
  ep_axis axes[EP_LIMIT_SWEEP_AXES];
  ep_search_options options;
  ep_search *search = NULL;
  ep_error error = {0};
  ep_sweep_search_options(sweep, axes, &options);
  if (sweep->search == EP_SEARCH_GRID && grid_check(sweep, &options, problem) != EP_OK)
    return EP_INVALID;
  ep_status status = ep_search_create(&options, &search, &error);
  ep_search_destroy(search);
  if (status == EP_NO_MEMORY) return ep_problem_fail_memory(problem);
  if (status != EP_OK) return ep_problem_add(problem, EP_INVALID, "/search", "%s", error.message);
  *trainings = ep_search_trainings(&options) * ep_sweep_parts(sweep);
  if (*trainings <= EP_LIMIT_TRIAL_RECORDS) return EP_OK;
  return ep_problem_add(problem, EP_INVALID, "/max_trials",
                        "makes up to %lld trainings, folds and repeats counted; the limit is %lld",
                        (long long)*trainings, (long long)EP_LIMIT_TRIAL_RECORDS);
}
