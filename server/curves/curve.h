/* curve.h: a job's error history, thinned to what a chart can show. */
#ifndef EP_SERVER_CURVES_CURVE_H
#define EP_SERVER_CURVES_CURVE_H

#include "api/responses/curve.h"
#include "server/events/event_log.h"

/* Largest triangle, three buckets (S. Steinarsson, "Downsampling Time Series for Visual
 * Representation", 2013, section 4.2), by epoch and loss: keeps the first and the last point and
 * one of each bucket between. Works in place: points: [count]; returns how many are left,
 * `max_points` (at least 2) or count. A loss that is not finite is kept where its bucket has one:
 * it is what a reader must see. */
int64_t ep_curve_thin(ep_curve_point *points, int64_t count, int64_t max_points);

/* Reads the log's epoch lines. *points is the caller's to free. A log with more than a million is
 * halved by ep_curve_thin whenever that is reached, so memory stays below 64 MiB. */
ep_status ep_curve_read(ep_event_log *log, int64_t max_points, ep_curve_point **points,
                        int64_t *count, ep_error *error);

#endif
