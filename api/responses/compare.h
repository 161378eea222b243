/* compare.h: jobs beside each other: their figures, where their specs differ, their curves. */
#ifndef EP_API_RESPONSES_COMPARE_H
#define EP_API_RESPONSES_COMPARE_H

#include "api/responses/curve.h"
#include "api/responses/job.h"
#include "api/status.h"

/* All lent for the call. */
typedef struct {
  const ep_job_view *job;
  const ep_curve_point *points; /* [points_count] */
  int64_t points_count;
} ep_compared_job;

/* {"object":"comparison","jobs":[…],"differences":[…],"differences_omitted":…,"curves":[…]}; jobs:
 * [count]. The texts are the caller's (free). Errors: EP_NO_MEMORY, EP_INTERNAL for a spec that
 * cannot be read. */
ep_status ep_comparison_format_json(const ep_compared_job *jobs, int count, char **out,
                                    ep_error *error);

/* A row a job: what identifies it, times, the figures of the test split, and a column for each
 * difference. RFC 4180; a text that a spreadsheet would take for a formula gets a ' before it. */
ep_status ep_comparison_format_csv(const ep_compared_job *jobs, int count, char **out,
                                   ep_error *error);

#endif
