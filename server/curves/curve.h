/* curve.h: the history of a job's losses and errors, thinned for a chart. */
#ifndef EP_SERVER_CURVES_CURVE_H
#define EP_SERVER_CURVES_CURVE_H

#include <stdbool.h>

#include "api/responses/curve.h"
#include "server/events/event_log.h"

/* Whether the work is to end early, because nobody waits for it; asked every millisecond or so. */
typedef bool ep_curve_stop(void *context);

/* What was read of a log so far. `most` points are halved by ep_curve_thin; which points there are
 * depends on the log alone, not on how often it was read. */
typedef struct {
  ep_curve_point *points; /* [count], owned */
  int64_t count, capacity;
  int64_t most;     /* a power of two; 0 = a million, which take less than 64 MiB */
  int64_t start_us; /* of the attempt that is being read; 0 = none was seen */
  int64_t offset;   /* of the next line in the log */
  bool ended;       /* the log's last line was read */
} ep_curve;

void ep_curve_deinit(ep_curve *curve);

/* Reads the lines that the log has more. EP_CANCELLED: `stop` (NULL = none) returned true. The
 * curve then has what was read, and is read on the next time. After any other failure it has
 * nothing. */
ep_status ep_curve_read(ep_curve *curve, ep_event_log *log, ep_curve_stop *stop, void *context,
                        ep_error *error);

/* Largest triangle, three buckets (S. Steinarsson, "Downsampling Time Series for Visual
 * Representation", 2013, section 4.2), by epoch and loss: keeps the first and the last point and
 * one of each bucket between them. points: [count]; max_points: at least 2; out: [min(count,
 * max_points)], may be `points`; returns how many are written. Of a bucket with a loss that is not
 * finite, that point is kept. */
int64_t ep_curve_thin(const ep_curve_point *points, int64_t count, int64_t max_points,
                      ep_curve_point *out);

#endif
