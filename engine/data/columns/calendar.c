#include "engine/data/columns/calendar.h"

#include <math.h>
#include <time.h>

#include "engine/data/cells/date.h"

enum { DAY_SECONDS = 86400 };
static const double seconds_most = 1e14;

ep_calendar ep_calendar_of(double seconds) {
  struct tm date = {0};
  seconds = fmin(fmax(seconds, -seconds_most), seconds_most);
  double days = floor(seconds / DAY_SECONDS);
  time_t midnight = (time_t)days * DAY_SECONDS;
  gmtime_r(&midnight, &date); /* such years do not overflow */
  int64_t year = INT64_C(1900) + date.tm_year;
  return (ep_calendar){.year = year,
                       .month = date.tm_mon + 1,
                       .day = date.tm_mday,
                       .month_days = ep_month_days(year, date.tm_mon + 1),
                       .weekday = (date.tm_wday + 6) % 7,
                       .days = (int64_t)days,
                       .day_second = seconds - days * DAY_SECONDS};
}
