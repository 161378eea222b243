/* date.h: dates and times of day in text, to seconds. */
#ifndef EP_ENGINE_DATA_CELLS_DATE_H
#define EP_ENGINE_DATA_CELLS_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  EP_DATE_ISO,         /* ISO 8601: 2024-01-31, or with slashes; and a time, T or a space before */
  EP_DATE_DAY_FIRST,   /* 31/1/2024, 31.1.2024, 31-1-2024, 31/1/24; and a time */
  EP_DATE_MONTH_FIRST, /* 1/31/2024, …; and a time */
  EP_DATE_MONTH_NAME,  /* Jan 31 2024, January 31, 2024, 31 Jan 2024, 31-Jan-2024; and a time */
  EP_DATE_TIME         /* HH:MM, HH:MM:SS, with a fraction of a second, and AM or PM */
} ep_date_form;

/* Reads all of the text. *seconds: since 1970-01-01 UTC (a time with no offset is UTC); of a time
 * of day, since midnight. False, and nothing written, when it is none of that form. Years 1 to
 * 9999, Gregorian throughout; a year of two digits is 1969 to 2068, as POSIX has it. Months have
 * their English names, or three letters of them. */
bool ep_date_read(ep_date_form form, const char *text, size_t bytes, double *seconds);

/* Of month 1 … 12. */
int ep_month_days(int64_t year, int month);

#endif
