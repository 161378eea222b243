/* calendar.c: days to dates and back as in H. Hinnant, "chrono-Compatible Low-Level Date
 * Algorithms", 2013: years begin in March, so that the day of a leap year comes last; 400 years
 * have 146097 days. */
#include "engine/data/columns/calendar.h"

#include <math.h>
#include <stdio.h>

enum { DAY_SECONDS = 86400, ERA_DAYS = 146097, EPOCH_DAYS = 719468 };
static const double seconds_most = 1e14;

static bool is_leap(int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int month_days(int64_t year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

int64_t ep_calendar_days(int64_t year, int month, int day) {
  year -= month <= 2;
  int64_t era = (year >= 0 ? year : year - 399) / 400;
  int64_t era_year = year - era * 400;
  int64_t year_day = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  int64_t era_day = era_year * 365 + era_year / 4 - era_year / 100 + year_day;
  return era * ERA_DAYS + era_day - EPOCH_DAYS;
}

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
  out->month_days = month_days(out->year, out->month);
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

/* "13:45", "13:45:07.5", then "Z" or nothing. */
static bool time_parse(const char *text, double *seconds) {
  int hour, minute, used = 0;
  double second = 0;
  if (sscanf(text, "%2d:%2d%n", &hour, &minute, &used) != 2 || used == 0) return false;
  text += used;
  used = 0;
  if (*text == ':' && (sscanf(text, ":%9lf%n", &second, &used) != 1 || used == 0)) return false;
  text += used;
  if (*text == 'Z') text++;
  *seconds = hour * 3600.0 + minute * 60.0 + second;
  return !*text && hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 &&
         second < 61;
}

bool ep_calendar_parse(const char *text, double *seconds) {
  int year, month, day, used = 0;
  double time = 0;
  if (time_parse(text, seconds)) return true;
  if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3 || used != 10) return false;
  if (month < 1 || month > 12 || day < 1 || day > month_days(year, month)) return false;
  text += used;
  if (*text && ((*text != 'T' && *text != ' ') || !time_parse(text + 1, &time))) return false;
  *seconds = (double)ep_calendar_days(year, month, day) * DAY_SECONDS + time;
  return true;
}
