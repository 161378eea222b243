/* svg.h: a job's curve as an SVG 1.1 picture without scripts, in light or dark colours. */
#ifndef EP_SERVER_CURVES_SVG_H
#define EP_SERVER_CURVES_SVG_H

#include "api/responses/curve.h"
#include "server/drawing/drawing.h"

enum { EP_CURVE_SVG_POINTS = 1000 }; /* the picture has fewer pixels in a row */

/* Loss over epochs, of the training and, if there is one, of the validation. The loss axis is
 * logarithmic when all values are positive and the largest is at least 30 times the smallest. A
 * loss that is not finite breaks the line, and a note counts them. title, status: any UTF-8. The
 * text is the caller's (free); NULL: memory is short. */
char *ep_curve_format_svg(const char *title, const char *status, ep_theme theme,
                          const ep_curve_point *points, int64_t count);

#endif
