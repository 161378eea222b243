#include "api/wire/metrics.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "api/json/json.h"
#include "api/limits.h"

/* The numbers of a split, in the order of EP_METRIC_TABLE. `plain`: NaN is a value, not absence. */
static const struct {
  size_t offset;
  bool plain;
} scalars[] = {
#define SCALAR(member, plain) \
  { offsetof(ep_split_metrics, member), plain }
    SCALAR(loss, true), SCALAR(mse, false),      SCALAR(rmse, false),      SCALAR(mae, false),
    SCALAR(r2, false),  SCALAR(accuracy, false), SCALAR(precision, false), SCALAR(recall, false),
    SCALAR(f1, false),  SCALAR(roc_auc, false),  SCALAR(error, false),
#undef SCALAR
};
enum { SCALARS = EP_METRIC_COUNT };
_Static_assert(sizeof scalars / sizeof scalars[0] == SCALARS, "each metric is a number");

void ep_split_metrics_clear(ep_split_metrics *metrics) {
  *metrics = (ep_split_metrics){0};
  for (int i = 0; i < SCALARS; i++) *(double *)((char *)metrics + scalars[i].offset) = NAN;
}

static void confusion_write(ep_writer *writer, const ep_split_metrics *metrics, int max_classes) {
  if (!metrics->confusion || metrics->classes < 1 || metrics->classes > max_classes) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '[');
  for (int i = 0; i < metrics->classes; i++) {
    ep_writer_open(writer, '[');
    for (int j = 0; j < metrics->classes; j++)
      ep_writer_integer(writer,
                        metrics->confusion[(size_t)i * (size_t)metrics->classes + (size_t)j]);
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, ']');
}

double ep_metric_value(const ep_split_metrics *metrics, int metric) {
  return *(const double *)((const char *)metrics + scalars[metric].offset);
}

/* The first `count` numbers. */
static void scalars_write(ep_writer *writer, const ep_split_metrics *metrics, int count) {
  for (int i = 0; i < count; i++) {
    ep_writer_key(writer, ep_metric_name(i));
    if (scalars[i].plain)
      ep_writer_number(writer, ep_metric_value(metrics, i));
    else
      ep_writer_number_or_null(writer, ep_metric_value(metrics, i));
  }
}

static void counts_write(ep_writer *writer, const ep_split_metrics *metrics) {
  ep_writer_member_integer(writer, "rows", metrics->rows);
  ep_writer_key(writer, "classes");
  if (metrics->classes > 0)
    ep_writer_integer(writer, metrics->classes);
  else
    ep_writer_null(writer);
}

void ep_split_metrics_write(ep_writer *writer, const ep_split_metrics *metrics, int max_classes) {
  if (metrics->rows == 0) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  scalars_write(writer, metrics, SCALARS);
  counts_write(writer, metrics);
  ep_writer_key(writer, "confusion");
  confusion_write(writer, metrics, max_classes);
  ep_writer_close(writer, '}');
}

void ep_split_metrics_write_scalars(ep_writer *writer, const ep_split_metrics *metrics,
                                    bool loss_only) {
  if (metrics->rows == 0) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  scalars_write(writer, metrics, loss_only ? 1 : SCALARS);
  if (!loss_only) counts_write(writer, metrics);
  ep_writer_close(writer, '}');
}

/* [classes, classes] counts, or null: then the matrix stays NULL. */
static bool confusion_read(const json_t *value, ep_split_metrics *out) {
  if (!value || json_is_null(value)) return true;
  size_t classes = (size_t)out->classes, values, bytes;
  if (json_array_size(value) != classes || classes == 0) return false;
  /* Every row must be there before a matrix of that size is allocated. */
  for (size_t i = 0; i < classes; i++)
    if (json_array_size(json_array_get(value, i)) != classes) return false;
  if (__builtin_mul_overflow(classes, classes, &values) ||
      __builtin_mul_overflow(values, sizeof *out->confusion, &bytes))
    return false;
  out->confusion = malloc(bytes);
  if (!out->confusion) return false;
  for (size_t i = 0; i < classes; i++) {
    for (size_t j = 0; j < classes; j++) {
      const json_t *count = json_array_get(json_array_get(value, i), j);
      if (!json_is_integer(count) || json_integer_value(count) < 0) return false;
      out->confusion[i * classes + j] = json_integer_value(count);
    }
  }
  return true;
}

bool ep_split_metrics_read(const json_t *split, ep_split_metrics *out) {
  ep_split_metrics_clear(out);
  if (json_is_null(split)) return true;
  if (!json_is_object(split)) return false;
  if (!ep_json_get_integer(split, "rows", 1, EP_LIMIT_ROWS, &out->rows)) return false;
  for (int i = 0; i < SCALARS; i++)
    if (!ep_json_get_number(split, ep_metric_name(i), (double *)((char *)out + scalars[i].offset)))
      return false;
  int64_t classes = 0;
  if (!json_is_null(json_object_get(split, "classes")) &&
      !ep_json_get_integer(split, "classes", 1, EP_LIMIT_FEATURES, &classes))
    return false;
  out->classes = (int)classes;
  return confusion_read(json_object_get(split, "confusion"), out);
}
