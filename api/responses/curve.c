/* curve.c: a curve is written column by column, as charts take it. */
#include "api/responses/curve.h"

#include <math.h>
#include <stddef.h>

#include "api/json/number.h"
#include "api/json/writer.h"

#define CURVE_TEXT_LIMIT (256LL << 20) /* EP_LIMIT_CURVE_POINTS need 15 MB */

/* `always`: the column is there for every job; others are null when no point has a figure. */
static const struct {
  const char *key;
  size_t offset;
  bool always;
} columns[] = {
    {"loss", offsetof(ep_curve_point, loss), true},
    {"error", offsetof(ep_curve_point, error), false},
    {"validation_loss", offsetof(ep_curve_point, validation_loss), false},
    {"validation_error", offsetof(ep_curve_point, validation_error), false},
    {"elapsed_seconds", offsetof(ep_curve_point, elapsed_seconds), true},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static double figure(const ep_curve_point *point, int column) {
  return *(const double *)((const char *)point + columns[column].offset);
}

static bool column_is_empty(const ep_curve_point *points, int64_t count, int column) {
  for (int64_t i = 0; i < count; i++)
    if (!isnan(figure(&points[i], column))) return false;
  return true;
}

void ep_curve_columns_write(ep_writer *writer, const ep_curve_point *points, int64_t count) {
  ep_writer_member_open(writer, "epoch", '[');
  for (int64_t i = 0; i < count; i++) ep_writer_integer(writer, points[i].epoch);
  ep_writer_close(writer, ']');
  for (int column = 0; column < COLUMNS; column++) {
    ep_writer_key(writer, columns[column].key);
    if (!columns[column].always && column_is_empty(points, count, column)) {
      ep_writer_null(writer);
      continue;
    }
    ep_writer_open(writer, '[');
    for (int64_t i = 0; i < count; i++) {
      double value = figure(&points[i], column);
      if (columns[column].always)
        ep_writer_number(writer, value);
      else
        ep_writer_number_or_null(writer, value);
    }
    ep_writer_close(writer, ']');
  }
}

char *ep_curve_format_json(const char *job, const ep_curve_point *points, int64_t count) {
  ep_writer writer;
  ep_writer_init(&writer, CURVE_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "curve");
  ep_writer_member_string(&writer, "job", job);
  ep_writer_member_integer(&writer, "points", count);
  ep_curve_columns_write(&writer, points, count);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

/* Infinities as Python, R and spreadsheets read them. */
static void cell_write(ep_writer *writer, double value) {
  char text[EP_NUMBER_BYTES];
  ep_writer_bytes(writer, ",", 1);
  if (isnan(value)) return;
  if (isinf(value))
    ep_writer_bytes(writer, value > 0 ? "inf" : "-inf", value > 0 ? 3 : 4);
  else
    ep_writer_bytes(writer, text, ep_number_format(value, text));
}

char *ep_curve_format_csv(const ep_curve_point *points, int64_t count) {
  static const char header[] =
      "epoch,loss,error,validation_loss,validation_error,elapsed_seconds\n";
  ep_writer writer;
  char text[EP_NUMBER_BYTES];
  ep_writer_init(&writer, CURVE_TEXT_LIMIT);
  ep_writer_bytes(&writer, header, sizeof header - 1);
  for (int64_t i = 0; i < count; i++) {
    ep_writer_bytes(&writer, text, ep_number_format((double)points[i].epoch, text));
    for (int column = 0; column < COLUMNS; column++)
      cell_write(&writer, figure(&points[i], column));
    ep_writer_bytes(&writer, "\n", 1);
  }
  return ep_writer_take(&writer);
}
