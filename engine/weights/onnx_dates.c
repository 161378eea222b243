/* onnx_dates.c: calendar.c's algorithm, in int64. Years begin in March. The days are moved into
 * years of no sign, for Div cuts off towards zero. */
#include "engine/weights/onnx_dates.h"

#include "engine/data/columns/encoding.h"
#include "engine/weights/onnx_arithmetic.h"

enum { DAY_SECONDS = 86400, ERA_DAYS = 146097, EPOCH_DAYS = 719468, ERA_YEARS = 400 };
enum { ERAS_BEFORE = 8000 }; /* more than there are in SECONDS_MOST */
static const double SECONDS_MOST = 1e14;

static ep_onnx_name plus(ep_onnx_graph *graph, ep_onnx_name first, ep_onnx_name second) {
  return ep_onnx_of_two(graph, "Add", first, second);
}
static ep_onnx_name minus(ep_onnx_graph *graph, ep_onnx_name first, ep_onnx_name second) {
  return ep_onnx_of_two(graph, "Sub", first, second);
}
static ep_onnx_name quotient(ep_onnx_graph *graph, ep_onnx_name value, int64_t divisor) {
  return ep_onnx_with_integer(graph, "Div", value, divisor);
}

/* (value * factor + addend) / divisor */
static ep_onnx_name line(ep_onnx_graph *graph, ep_onnx_name value, int64_t factor, int64_t addend,
                         int64_t divisor) {
  ep_onnx_name product = ep_onnx_with_integer(graph, "Mul", value, factor);
  return quotient(graph, ep_onnx_with_integer(graph, "Add", product, addend), divisor);
}

/* Days of an era before its year: 365 y + y / 4 - y / 100 + y / 400. */
static ep_onnx_name days_before(ep_onnx_graph *graph, ep_onnx_name year) {
  ep_onnx_name days = ep_onnx_with_integer(graph, "Mul", year, 365);
  days = plus(graph, days, quotient(graph, year, 4));
  days = minus(graph, days, quotient(graph, year, 100));
  return plus(graph, days, quotient(graph, year, ERA_YEARS));
}

/* Days of a year from March before a month, March being 0. */
static ep_onnx_name month_first(ep_onnx_graph *graph, ep_onnx_name month, int64_t later) {
  return line(graph, month, 153, 153 * later + 2, 5);
}

/* The sine and the cosine, which onnxruntime lacks for float64, of a share of a cycle. */
static void cycle_add(ep_onnx_graph *graph, ep_onnx_date *date, ep_onnx_name share) {
  const double circle = 6.283185307179586;
  ep_onnx_name angle = ep_onnx_with(graph, "Mul", share, circle);
  int i = date->cycles_count++;
  date->sine[i] = ep_onnx_of(graph, "Sin", angle);
  date->cosine[i] = ep_onnx_of(graph, "Sin", ep_onnx_with(graph, "Add", angle, circle / 4));
}

static ep_onnx_name real(ep_onnx_graph *graph, ep_onnx_name integer) {
  return ep_onnx_cast_of(graph, integer, EP_ONNX_DOUBLE);
}

/* A day in years that begin in March; all int64 [N, 1]. */
typedef struct {
  ep_onnx_name era, era_year, days_before; /* days_before: of the era, before the year */
  ep_onnx_name year_day, month;            /* from 0 */
} march_date;

/* days: since 1970-01-01, int64. */
static march_date march_date_of(ep_onnx_graph *graph, ep_onnx_name days) {
  march_date date;
  ep_onnx_name moved =
      ep_onnx_with_integer(graph, "Add", days, EPOCH_DAYS + (int64_t)ERAS_BEFORE * ERA_DAYS);
  ep_onnx_name era_day = ep_onnx_with_integer(graph, "Mod", moved, ERA_DAYS);
  ep_onnx_name plain = minus(graph, era_day, quotient(graph, era_day, 1460));
  plain = plus(graph, plain, quotient(graph, era_day, 36524));
  plain = minus(graph, plain, quotient(graph, era_day, ERA_DAYS - 1));
  date.era = quotient(graph, moved, ERA_DAYS);
  date.era_year = quotient(graph, plain, 365);
  date.days_before = days_before(graph, date.era_year);
  date.year_day = minus(graph, era_day, date.days_before);
  date.month = line(graph, date.year_day, 5, 2, 153);
  return date;
}

/* float64; January and February belong to the March year before. */
static ep_onnx_name year_of(ep_onnx_graph *graph, const march_date *date) {
  ep_onnx_name year = plus(graph, date->era_year, quotient(graph, date->month, 10));
  year = plus(graph, year, ep_onnx_with_integer(graph, "Mul", date->era, ERA_YEARS));
  return ep_onnx_with(graph, "Sub", real(graph, year), (double)ERAS_BEFORE * ERA_YEARS);
}

static ep_onnx_name month_share(ep_onnx_graph *graph, const march_date *date) {
  ep_onnx_name month = ep_onnx_with_integer(graph, "Add", date->month, 2);
  month = ep_onnx_with_integer(graph, "Mod", month, 12);
  return ep_onnx_with(graph, "Div", real(graph, month), 12);
}

/* February, the last month, ends with the year. */
static ep_onnx_name day_share(ep_onnx_graph *graph, const march_date *date) {
  ep_onnx_name first = month_first(graph, date->month, 0), end = month_first(graph, date->month, 1);
  ep_onnx_name next = days_before(graph, ep_onnx_with_integer(graph, "Add", date->era_year, 1));
  end = ep_onnx_of_two(graph, "Min", end, minus(graph, next, date->days_before));
  return ep_onnx_of_two(graph, "Div", real(graph, minus(graph, date->year_day, first)),
                        real(graph, minus(graph, end, first)));
}

ep_onnx_date ep_onnx_date_of(ep_onnx_graph *graph, ep_onnx_name seconds, int parts) {
  ep_onnx_date date = {0};
  ep_onnx_name least = ep_onnx_number(graph, -SECONDS_MOST);
  ep_onnx_name most = ep_onnx_number(graph, SECONDS_MOST);
  const char *inputs[] = {seconds.text, least.text, most.text};
  ep_onnx_name within = ep_onnx_node(graph, "Clip", inputs, 3, NULL);
  ep_onnx_name whole = ep_onnx_of(graph, "Floor", ep_onnx_with(graph, "Div", within, DAY_SECONDS));
  ep_onnx_name days = ep_onnx_cast_of(graph, whole, EP_ONNX_INT64);
  if (parts & (EP_DATE_YEAR | EP_DATE_MONTH | EP_DATE_DAY)) {
    march_date march = march_date_of(graph, days);
    if (parts & EP_DATE_YEAR) date.year = year_of(graph, &march);
    if (parts & EP_DATE_MONTH) cycle_add(graph, &date, month_share(graph, &march));
    if (parts & EP_DATE_DAY) cycle_add(graph, &date, day_share(graph, &march));
  }
  if (parts & EP_DATE_WEEKDAY) { /* 1970-01-01 was a Thursday */
    ep_onnx_name weekday = ep_onnx_with_integer(graph, "Add", days, 3);
    weekday = ep_onnx_with_integer(graph, "Mod", weekday, 7);
    cycle_add(graph, &date, ep_onnx_with(graph, "Div", real(graph, weekday), 7));
  }
  if (parts & EP_DATE_HOUR) {
    ep_onnx_name rest = minus(graph, within, ep_onnx_with(graph, "Mul", whole, DAY_SECONDS));
    cycle_add(graph, &date, ep_onnx_with(graph, "Div", rest, DAY_SECONDS));
  }
  return date;
}
