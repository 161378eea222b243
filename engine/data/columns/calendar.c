/* calendar.c: days to dates as in H. Hinnant, "chrono-Compatible Low-Level Date
 * Algorithms", 2013: years begin in March, so that the day of a leap year comes last; 400 years
 * have 146097 days. */
#include "engine/data/columns/calendar.h"

#include <math.h>

#include "engine/data/cells/date.h"

enum { DAY_SECONDS = 86400, ERA_DAYS = 146097, EPOCH_DAYS = 719468 };
static const double seconds_most = 1e14;

static void date_find(int64_t days, ep_calendar *out) {
  days += EPOCH_DAYS;
  int64_t era = (days >= 0 ? days : days - (ERA_DAYS - 1)) / ERA_DAYS;
  int64_t era_day = days - era * ERA_DAYS;
  int64_t era_year = (era_day - era_day / 1460 + era_day / 36524 - era_day / 146096) / 365;
  int64_t year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
  int64_t month = (5 * year_day + 2) / 153;
  out->day = (int)(year_day - (153 * month + 2) / 5 + 1);
  out->month = (int)(month < 10 ? month + 3 : month - 9);
  out->year = era_year + era * 400 + (out->month <= 2);
  out->month_days = ep_month_days(out->year, out->month);
}

ep_calendar ep_calendar_of(double seconds) {
  ep_calendar out = {0};
  seconds = fmin(fmax(seconds, -seconds_most), seconds_most);
  double days = floor(seconds / DAY_SECONDS);
  out.days = (int64_t)days;
  out.day_second = seconds - days * DAY_SECONDS;
  date_find(out.days, &out);
  out.weekday = (int)((out.days % 7 + 7 + 3) % 7); /* 1970-01-01 was a Thursday */
  return out;
}
