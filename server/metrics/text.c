#include "server/metrics/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/number.h"

enum { LABELS_MAX = 3 };

static void text_put(ep_writer *out, const char *text) {
  ep_writer_bytes(out, text, strlen(text));
}

void ep_metrics_family(ep_writer *out, const char *name, const char *type, const char *help) {
  text_put(out, "# HELP ");
  text_put(out, name);
  text_put(out, " ");
  text_put(out, help);
  text_put(out, "\n# TYPE ");
  text_put(out, name);
  text_put(out, " ");
  text_put(out, type);
  text_put(out, "\n");
}

static void label_value_put(ep_writer *out, const char *value) {
  for (; *value != 0; value++) {
    if (*value == '\\')
      text_put(out, "\\\\");
    else if (*value == '"')
      text_put(out, "\\\"");
    else if (*value == '\n')
      text_put(out, "\\n");
    else
      ep_writer_bytes(out, value, 1);
  }
}

static void labels_put(ep_writer *out, const char *const *labels) {
  if (!labels || !labels[0]) return;
  for (int i = 0; labels[i]; i += 2) {
    text_put(out, i == 0 ? "{" : ",");
    text_put(out, labels[i]);
    text_put(out, "=\"");
    label_value_put(out, labels[i + 1]);
    text_put(out, "\"");
  }
  text_put(out, "}");
}

static void number_put(ep_writer *out, double value) {
  char text[EP_NUMBER_BYTES];
  if (isnan(value))
    text_put(out, "NaN");
  else if (isinf(value))
    text_put(out, value > 0 ? "+Inf" : "-Inf");
  else
    ep_writer_bytes(out, text, ep_number_format(value, text));
}

void ep_metrics_sample(ep_writer *out, const char *name, const char *const *labels, double value) {
  text_put(out, name);
  labels_put(out, labels);
  text_put(out, " ");
  number_put(out, value);
  text_put(out, "\n");
}

void ep_metrics_single(ep_writer *out, const char *name, const char *type, const char *help,
                       double value) {
  ep_metrics_family(out, name, type, help);
  ep_metrics_sample(out, name, NULL, value);
}

/* part: _bucket, _sum or _count, which follows the name. */
static void part_sample(ep_writer *out, const char *name, const char *part,
                        const char *const *labels, double value) {
  char whole[128];
  snprintf(whole, sizeof whole, "%s%s", name, part);
  ep_metrics_sample(out, whole, labels, value);
}

void ep_metrics_histogram(ep_writer *out, const char *name, const char *const *labels,
                          const double *bounds, const ep_histogram *histogram) {
  const char *with_bound[2 * (LABELS_MAX + 1) + 1];
  char bound[EP_NUMBER_BYTES];
  int used = 0;
  for (; labels && labels[used] && used < 2 * LABELS_MAX; used++) with_bound[used] = labels[used];
  with_bound[used] = "le";
  with_bound[used + 1] = bound;
  with_bound[used + 2] = NULL;
  unsigned long long count = 0;
  /* The count is the sum of the buckets that were read, so that all agree whatever is added
   * meanwhile. */
  for (int i = 0; i <= EP_HISTOGRAM_BOUNDS; i++) {
    count += atomic_load_explicit(&histogram->buckets[i], memory_order_relaxed);
    if (i < EP_HISTOGRAM_BOUNDS)
      ep_number_format(bounds[i], bound);
    else
      snprintf(bound, sizeof bound, "+Inf");
    part_sample(out, name, "_bucket", with_bound, (double)count);
  }
  part_sample(out, name, "_sum", labels, (double)atomic_load(&histogram->sum_us) / 1e6);
  part_sample(out, name, "_count", labels, (double)count);
}
