/* calendar.h: dates of the Gregorian calendar, before and after its invention, in UTC; text
 * to seconds is engine/data/cells/date.h's. */
#ifndef EP_ENGINE_DATA_COLUMNS_CALENDAR_H
#define EP_ENGINE_DATA_COLUMNS_CALENDAR_H

#include <stdint.h>

typedef struct {
  int64_t year;
  int month;         /* 1 … 12 */
  int day;           /* 1 … month_days */
  int month_days;    /* of this month */
  int weekday;       /* 0 is Monday */
  int64_t days;      /* since 1970-01-01 */
  double day_second; /* 0 to below 86400 */
} ep_calendar;

/* seconds: since 1970-01-01; beyond 3 million years it is the last of them. */
ep_calendar ep_calendar_of(double seconds);

#endif
