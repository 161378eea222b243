/* curve.h: the history of a job's losses and errors, thinned for a chart. */
#ifndef EP_SERVER_CURVES_CURVE_H
#define EP_SERVER_CURVES_CURVE_H

#include "api/responses/curve.h"
#include "server/events/event_log.h"

/* Largest triangle, three buckets (S. Steinarsson, "Downsampling Time Series for Visual
 * Representation", 2013, section 4.2), by epoch and loss: keeps the first and the last point and
 * one of each bucket between them, in place. points: [count]; max_points: at least 2; returns how
 * many are left. Of a bucket with a loss that is not finite, that point is kept. */
int64_t ep_curve_thin(ep_curve_point *points, int64_t count, int64_t max_points);

/* Reads the epochs of a log. *points: the caller's (free). A million points are halved by
 * ep_curve_thin, so memory stays below 64 MiB. */
ep_status ep_curve_read(ep_event_log *log, int64_t max_points, ep_curve_point **points,
                        int64_t *count, ep_error *error);

#endif
