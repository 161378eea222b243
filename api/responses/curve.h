/* curve.h: GET /v1/jobs/{id}/curve: the error history of a job. */
#ifndef EP_API_RESPONSES_CURVE_H
#define EP_API_RESPONSES_CURVE_H

#include <stdint.h>

#include "api/json/writer.h"

/* One point of a job's curve. */
typedef struct {
  int64_t epoch;
  double loss, error, validation_loss, validation_error, elapsed_seconds;
  double wall_seconds; /* since 1970, UTC: its attempt's start and elapsed_seconds */
} ep_curve_point;

/* {"object":"curve","job":…,"points":…,"epoch":[…],"loss":[…],"error":[…]|null,"validation_loss":…}
 */
char *ep_curve_format_json(const char *job, const ep_curve_point *points, int64_t count);
/* epoch,loss,error,validation_loss,validation_error,elapsed_seconds, an empty cell for NaN */
char *ep_curve_format_csv(const ep_curve_point *points, int64_t count);

/* The columns of a curve one after the other, each with its key. */
void ep_curve_columns_write(ep_writer *writer, const ep_curve_point *points, int64_t count);

#endif
