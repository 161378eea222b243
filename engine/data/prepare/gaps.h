/* gaps.h: steps from row to row of a series in time that are not its usual one. */
#ifndef EP_ENGINE_DATA_PREPARE_GAPS_H
#define EP_ENGINE_DATA_PREPARE_GAPS_H

#include "engine/plan/plan.h"

/* Adds the steps of one series to *sum. times: [rows], ascending; in seconds since 1970 where
 * sum->dates. odd: [rows], written: whether the step from the row before is another than the usual
 * one; false of the first.
 *
 * The usual step is the median of those above 0; from half of it to 1.5 of it a step is as usual:
 * so are months, quarters and years. A series of dates with steps of up to a day may have closing
 * times: hours of the week that hardly ever have a row. A step over these is as usual. Where a
 * whole weekday is such, one over other whole days (holidays) is too, up to a week. EP_NO_MEMORY.
 */
ep_status ep_gaps_find(const double *times, int64_t rows, ep_series_gaps *sum, bool *odd,
                       ep_error *error);

/* Sets sum->uneven: more than a quarter of the steps are odd, so none is usual. */
void ep_gaps_judge(ep_series_gaps *sum);

/* What a user should know of them: "1 gap (3 days after 2024-10-19 23:00), 1 repeated time: 48 of
 * 457 windows are left out; …"; "" where all steps are usual. out: [bytes]. */
void ep_gaps_format(const ep_series_gaps *gaps, char *out, size_t bytes);

#endif
