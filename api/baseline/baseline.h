/* baseline.h: what the simplest answer scores: the most frequent class, the mean, the last value.
 */
#ifndef EP_API_BASELINE_BASELINE_H
#define EP_API_BASELINE_BASELINE_H

#include <stdbool.h>

#include "api/json/writer.h"
#include "api/vocabulary.h"

struct json_t; /* jansson's */

enum { EP_BASELINE_BYTES = 128 };

typedef struct {
  ep_metric metric;
  double value;
  double mae;                 /* of the last value of a series; NaN: it is another answer */
  char of[EP_BASELINE_BYTES]; /* the answer: `always "no"`; "": not known */
} ep_baseline;

/* Of numbers: R² of their mean. */
ep_baseline ep_baseline_of_mean(void);
/* Of a series: the last value as the forecast. Not known where r2 is not finite. */
ep_baseline ep_baseline_of_last_value(double r2, double mae);
/* Of classes: the share of the most frequent one. name: as it is shown; NULL: it has a number. */
ep_baseline ep_baseline_of_class(const char *name, int most, double share);

/* {"metric": …, "value": …, "of": …}, with "mae" where it is known; or null. */
void ep_baseline_write(ep_writer *writer, const ep_baseline *baseline);
/* False: it is neither that nor null, nor absent, as in what older versions stored. */
bool ep_baseline_read(const struct json_t *object, ep_baseline *out);

#endif
