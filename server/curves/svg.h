/* svg.h: a job's curve as a picture that stands alone: SVG 1.1 without scripts, whose colours
 * follow the reader's light or dark theme. */
#ifndef EP_SERVER_CURVES_SVG_H
#define EP_SERVER_CURVES_SVG_H

#include "api/responses/curve.h"

enum { EP_CURVE_SVG_POINTS = 1000 }; /* more than the picture is wide shows nothing more */

/* Loss over epochs, the validation's too where there is any. The loss axis is logarithmic when all
 * of it is positive and the largest is 30 times the smallest or more. A loss that is not finite
 * breaks the line, and a note says how many are not. `title`: any UTF-8; `status`: a word for below
 * it. The text is the caller's (free); NULL: memory is short. */
char *ep_curve_format_svg(const char *title, const char *status, const ep_curve_point *points,
                          int64_t count);

#endif
