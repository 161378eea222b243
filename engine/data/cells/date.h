/* date.h: dates and times of day in text, to seconds. */
#ifndef EP_ENGINE_DATA_CELLS_DATE_H
#define EP_ENGINE_DATA_CELLS_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A date with any time may have a zone behind that: Z, UTC, +01:00, +0100, +01, and the names of
 * RFC 2822 (GMT, UT, EST, EDT, … PDT), also after a space. */
typedef enum {
  /* ISO 8601, year first: 2024-01-31, 2024/01/31, 2024.01.31, and a time, T or a space before;
   * 20240131T235900; 2024-01 and 2024/01, the first of the month. Without weeks and ordinals. */
  EP_DATE_ISO,
  EP_DATE_DAY_FIRST,   /* 31/1/2024, 31.1.2024, 31-1-2024, 31/1/24; and a time */
  EP_DATE_MONTH_FIRST, /* 1/31/2024, …; and a time */
  /* Jan 31 2024, January 31, 2024, 31 Jan 24, 31-Jan-2024, 31.Jan.2024, 31/Jan/2024, 31JAN2024,
   * 2024 Jan 31; and a time. RFC 2822: Tue, 31 Dec 2024 23:59:00 +0100 (any weekday); ctime: the
   * year last. */
  EP_DATE_MONTH_NAME,
  /* HH:MM, HH:MM:SS, with a fraction of a second behind a point or comma, and AM or PM; 24:00 is
   * the end of the day. */
  EP_DATE_TIME,
  /* As pandas and Python write them: 1 days 10:11:12.5, -1 days +23:00:00, 1 day, 0:00:00, 2 days,
   * and, where there are no days, a time. */
  EP_DATE_DURATION
} ep_date_form;

/* Reads all of the text. *seconds: since 1970-01-01 UTC (a time with no offset is UTC); of a time
 * of day, since midnight; of a duration, all; the nearest double to the microsecond, nine digits
 * are read. False, and nothing written, when it is none of that form. Years 1 to 9999, Gregorian
 * throughout; a year of two digits is 1969 to 2068, as POSIX has it. Months have their English
 * names, in any case, or three letters of them, or Sept. */
bool ep_date_read(ep_date_form form, const char *text, size_t bytes, double *seconds);

enum { EP_DATE_TEXT_BYTES = 64 };
/* 2024-02-29, 2024-02-29T12:30:00, or, of times of day, 12:30:00, with the microseconds that there
 * are; UTC. false: it is no time that there is. */
bool ep_date_format(bool of_day, double seconds, char text[EP_DATE_TEXT_BYTES]);

/* The date so many steps after `last`, each as far as from `before` to it: also by months, on the
 * same day, up to the 28th. NaN: their step is none, or leads to days that some month lacks. */
double ep_date_after(double before, double last, int64_t steps);

/* Of month 1 … 12. */
int ep_month_days(int64_t year, int month);

#endif
