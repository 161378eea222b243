/* calendar.h: dates of the Gregorian calendar, before and after its invention, in UTC. */
#ifndef EP_ENGINE_DATA_COLUMNS_CALENDAR_H
#define EP_ENGINE_DATA_COLUMNS_CALENDAR_H

#include <stdbool.h>
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

/* Days from 1970-01-01 to a day. */
int64_t ep_calendar_days(int64_t year, int month, int day);

/* "2024-02-29", "2024-02-29T13:45", "2024-02-29 13:45:07.5Z", "13:45" (of no date): seconds; false
 * for any other text. */
bool ep_calendar_parse(const char *text, double *seconds);

#endif
