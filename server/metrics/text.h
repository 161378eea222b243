/* text.h: Prometheus's text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats): a head for each family, then its
 * samples. */
#ifndef EP_SERVER_METRICS_TEXT_H
#define EP_SERVER_METRICS_TEXT_H

#include "api/json/writer.h"
#include "server/metrics/histogram.h"

/* # HELP and # TYPE. `type`: counter, gauge, histogram. `help`: one line. */
void ep_metrics_family(ep_writer *out, const char *name, const char *type, const char *help);

/* One sample. labels: name, value, name, value, … NULL; values are escaped. NULL = no labels. */
void ep_metrics_sample(ep_writer *out, const char *name, const char *const *labels, double value);

/* A family of one sample without labels. */
void ep_metrics_single(ep_writer *out, const char *name, const char *type, const char *help,
                       double value);

/* The samples of one histogram. bounds: [EP_HISTOGRAM_BOUNDS]. At most 3 labels. */
void ep_metrics_histogram(ep_writer *out, const char *name, const char *const *labels,
                          const double *bounds, const ep_histogram *histogram);

#endif
