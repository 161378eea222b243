/* sweep_search.h: the search that a sweep's request asks for. */
#ifndef EP_ENGINE_TRIALS_SWEEP_SEARCH_H
#define EP_ENGINE_TRIALS_SWEEP_SEARCH_H

#include "api/sweep/sweep_spec.h"
#include "engine/search/search.h"

/* axes: [EP_LIMIT_SWEEP_AXES], written; lent to the options. */
void ep_sweep_search_options(const ep_sweep_spec *sweep, ep_axis *axes, ep_search_options *out);

/* Trainings of the whole sweep, all parts counted; of ASHA the most that there may be. Adds an
 * error to *problem where there are too many, or the space fits no grid. */
ep_status ep_sweep_count(const ep_sweep_spec *sweep, int64_t *trainings, ep_problem *problem);

#endif
