#include "engine/data/cells/date.h"
#include <math.h>
#include <stdio.h>
#include <time.h>

#include <string.h>
#include <strings.h>

#include "engine/data/cells/cell.h"

enum { DAY_SECONDS = 86400, HOUR_SECONDS = 3600, MINUTE_SECONDS = 60 };

/* What is left of a text. */
typedef struct {
  const char *at, *end;
} cursor;

typedef struct {
  int year, month, day;
  bool basic;     /* 20240131: the time has no colons either */
  bool year_last; /* Jan 31 23:59:00 2024: the year is still to come */
} calendar_date;

/* Since midnight, or 1970-01-01. */
typedef struct {
  int64_t seconds, nanos;
} moment;

static bool character_take(cursor *text, char c) {
  if (text->at == text->end || *text->at != c) return false;
  text->at++;
  return true;
}

/* Any character of the set. */
static bool one_take(cursor *text, const char *set) {
  if (text->at == text->end) return false;
  while (*set && *set != *text->at) set++;
  return *set && character_take(text, *text->at);
}

/* One or more. */
static bool spaces_take(cursor *text) {
  const char *start = text->at;
  for (size_t bytes; (bytes = ep_text_space_bytes(text->at, text->end)) > 0;) text->at += bytes;
  return text->at > start;
}

static bool is_digit_next(const cursor *text) {
  return text->at < text->end && *text->at >= '0' && *text->at <= '9';
}

static bool is_letter(char c) {
  return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* The letters at the beginning of the text. */
static size_t letters_count(const cursor *text) {
  const char *at = text->at;
  while (at < text->end && is_letter(*at)) at++;
  return (size_t)(at - text->at);
}

/* The number of a name among so many, in any case, that the text begins with, whole or as its first
 * three letters; -1: none. */
static int name_take(cursor *text, const char *const *names, int count) {
  enum { ABBREVIATED = 3 };
  size_t letters = letters_count(text);
  if (letters < ABBREVIATED) return -1;
  for (int i = 0; i < count; i++) {
    if ((*text->at | 0x20) != *names[i] || strncasecmp(text->at, names[i], letters) != 0) continue;
    bool whole = names[i][letters] == 0;
    if (!whole && letters != ABBREVIATED && strcmp(names[i], "september") != 0) return -1;
    if (!whole && letters > ABBREVIATED + 1) return -1; /* Sept */
    text->at += letters;
    return i;
  }
  return -1;
}

/* `least` to `most` digits. */
static bool digits_take(cursor *text, int least, int most, int *value) {
  int count = 0;
  *value = 0;
  for (; count < most && text->at < text->end && *text->at >= '0' && *text->at <= '9'; count++)
    *value = 10 * *value + (*text->at++ - '0');
  return count >= least;
}

static bool is_leap(int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int ep_month_days(int64_t year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return days[month - 1] + (month == 2 && is_leap(year));
}

static bool is_day(const calendar_date *date) {
  if (date->year < 1 || date->month < 1 || date->month > 12 || date->day < 1) return false;
  return date->day <= ep_month_days(date->year, date->month);
}

/* Since 1970-01-01. A year begins in March here: the leap day is its last. H. Hinnant,
 * "chrono-Compatible Low-Level Date Algorithms", days_from_civil. */
static int64_t days_count(const calendar_date *date) {
  int year = date->month <= 2 ? date->year - 1 : date->year, month = date->month;
  int64_t era = year / 400, year_of_era = year % 400;
  int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + date->day - 1;
  int64_t day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return 146097 * era + day_of_era - 719468;
}

/* --- times ---------------------------------------------------------------------------------- */

/* Digits behind the ninth are dropped. */
static bool fraction_take(cursor *text, int64_t *nanos) {
  if (!is_digit_next(text)) return false;
  for (int64_t unit = 100000000; is_digit_next(text); unit /= 10)
    *nanos += unit * (*text->at++ - '0');
  return true;
}

/* " AM", "pm", "p.m.": what the hour becomes. False where the hour is none of a clock of twelve. */
static bool half_take(cursor *text, int *hour) {
  cursor left = *text;
  spaces_take(&left);
  bool after = left.at < left.end && (*left.at | 0x20) == 'p';
  if (!one_take(&left, "AaPp")) return true;
  bool points = character_take(&left, '.');
  if (!one_take(&left, "Mm") || (points && !character_take(&left, '.'))) return true;
  if (*hour < 1 || *hour > 12) return false;
  *hour = *hour % 12 + (after ? 12 : 0);
  *text = left;
  return true;
}

/* HH:MM, HH:MM:SS, HH:MM:SS.fff, HH:MM PM, without colons if `basic`; a second 60 is a leap second,
 * 24:00 is the end of the day. */
static bool time_take(cursor *text, bool basic, moment *out) {
  int hour, minute, second = 0;
  out->nanos = 0;
  if (!digits_take(text, basic ? 2 : 1, 2, &hour)) return false;
  bool colon = character_take(text, ':');
  if ((!colon && !basic) || !digits_take(text, 2, 2, &minute)) return false;
  bool exact = colon ? character_take(text, ':') : is_digit_next(text);
  if (exact && !digits_take(text, 2, 2, &second)) return false;
  if (exact && one_take(text, ".,") && !fraction_take(text, &out->nanos)) return false;
  bool ends_day = hour == 24 && minute == 0 && second == 0 && out->nanos == 0;
  if (!half_take(text, &hour) || (hour > 23 && !ends_day) || minute > 59 || second > 60)
    return false;
  out->seconds = HOUR_SECONDS * hour + MINUTE_SECONDS * minute + second;
  return true;
}

/* A zone's name, or Z. */
static bool zone_take(cursor *text, int *hours) {
  static const struct {
    const char *name;
    int hours;
  } zones[] = {{"Z", 0},    {"UTC", 0},  {"GMT", 0},  {"UT", 0},   {"EST", -5}, {"EDT", -4},
               {"CST", -6}, {"CDT", -5}, {"MST", -7}, {"MDT", -6}, {"PST", -8}, {"PDT", -7}};
  size_t letters = letters_count(text);
  for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
    if (strlen(zones[i].name) != letters || strncasecmp(zones[i].name, text->at, letters) != 0)
      continue;
    *hours = zones[i].hours;
    text->at += letters;
    return true;
  }
  return false;
}

/* +HH, +HHMM, +HH:MM, and a comment with a zone's name: +0100 (CET). */
static bool digits_offset_take(cursor *text, int *hours, int *minutes) {
  bool west = character_take(text, '-');
  if ((!west && !character_take(text, '+')) || !digits_take(text, 2, 2, hours)) return false;
  bool more = character_take(text, ':') || is_digit_next(text);
  if ((more && !digits_take(text, 2, 2, minutes)) || *hours > 23 || *minutes > 59) return false;
  if (west) *hours = -*hours;
  if (west) *minutes = -*minutes;
  cursor comment = *text;
  if (!spaces_take(&comment) || !character_take(&comment, '(')) return true;
  comment.at += letters_count(&comment);
  if (character_take(&comment, ')')) *text = comment;
  return true;
}

/* What is to be subtracted; 0 where the text does not go on with an offset. */
static int64_t offset_take(cursor *text) {
  int hours = 0, minutes = 0;
  cursor left = *text;
  if (text->at == text->end) return 0;
  spaces_take(&left);
  if (!zone_take(&left, &hours) && !digits_offset_take(&left, &hours, &minutes)) return 0;
  *text = left;
  return HOUR_SECONDS * hours + MINUTE_SECONDS * minutes;
}

/* --- dates ---------------------------------------------------------------------------------- */

/* 2024-01-31, with slashes or points; 2024-01 and 2024/01, its first day; 20240131, before a T. */
static bool iso_date_take(cursor *text, calendar_date *out) {
  if (!digits_take(text, 4, 4, &out->year) || text->at == text->end) return false;
  char separator = *text->at;
  if (is_digit_next(text)) {
    out->basic = digits_take(text, 2, 2, &out->month) && digits_take(text, 2, 2, &out->day);
    return out->basic && text->at < text->end && (*text->at | 0x20) == 't';
  }
  if (!one_take(text, "-/.")) return false;
  const char *month = text->at;
  if (!digits_take(text, 1, 2, &out->month)) return false;
  out->day = 1; /* 2024.01 is a number */
  if (text->at == text->end) return separator != '.' && text->at - month == 2;
  return character_take(text, separator) && digits_take(text, 1, 2, &out->day);
}

/* Of four digits, or two. */
static bool year_take(cursor *text, int *year) {
  const char *start = text->at;
  if (digits_take(text, 4, 4, year)) return true;
  if (text->at - start != 2) return false;
  *year += *year < 69 ? 2000 : 1900;
  return true;
}

/* 31/1/2024, 31.1.24: first, second, year. */
static bool short_date_take(cursor *text, int *first, int *second, int *year) {
  if (!digits_take(text, 1, 2, first) || text->at == text->end) return false;
  char separator = *text->at;
  return one_take(text, "/.-") && digits_take(text, 1, 2, second) &&
         character_take(text, separator) && year_take(text, year);
}

/* "Jan", "January", "Sept" */
static bool month_take(cursor *text, int *month) {
  static const char *const names[] = {"january",   "february", "march",    "april",
                                      "may",       "june",     "july",     "august",
                                      "september", "october",  "november", "december"};
  *month = name_take(text, names, 12) + 1;
  return *month > 0;
}

/* "Tue, ", "tuesday " */
static void weekday_skip(cursor *text) {
  static const char *const names[] = {"monday", "tuesday",  "wednesday", "thursday",
                                      "friday", "saturday", "sunday"};
  cursor left = *text;
  if (name_take(&left, names, 7) < 0) return;
  bool mark = one_take(&left, ",.");
  if (spaces_take(&left) || mark) *text = left;
}

/* " ", "-", ", ", ". " */
static bool separator_take(cursor *text) {
  bool taken = one_take(text, ",.-/");
  return spaces_take(text) || taken;
}

static bool is_time_next(cursor text) {
  int hour;
  return digits_take(&text, 1, 2, &hour) && character_take(&text, ':');
}

/* Jan 31 2024, 31 Jan 2024, 2024 Jan 31, each with other separators, and a weekday before it. */
static bool named_date_take(cursor *text, calendar_date *out) {
  weekday_skip(text);
  cursor start = *text;
  if (month_take(text, &out->month)) {
    if (!separator_take(text) || !digits_take(text, 1, 2, &out->day) || !separator_take(text))
      return false;
    out->year_last = is_time_next(*text);
    return out->year_last || year_take(text, &out->year);
  }
  if (digits_take(text, 4, 4, &out->year))
    return separator_take(text) && month_take(text, &out->month) && separator_take(text) &&
           digits_take(text, 1, 2, &out->day);
  *text = start;
  if (!digits_take(text, 1, 2, &out->day)) return false;
  separator_take(text); /* or none: 31DEC2024 */
  if (!month_take(text, &out->month)) return false;
  separator_take(text);
  return year_take(text, &out->year);
}

static bool date_take(ep_date_form form, cursor *text, calendar_date *out) {
  switch (form) {
  case EP_DATE_ISO: return iso_date_take(text, out);
  case EP_DATE_MONTH_NAME: return named_date_take(text, out);
  case EP_DATE_DAY_FIRST: return short_date_take(text, &out->day, &out->month, &out->year);
  case EP_DATE_MONTH_FIRST: return short_date_take(text, &out->month, &out->day, &out->year);
  case EP_DATE_TIME:
  case EP_DATE_DURATION: break;
  }
  return false;
}

/* "T", " ", ", "; of a log: 31/Jan/2024:23:59:00. */
static bool time_separator_take(ep_date_form form, cursor *text) {
  if (one_take(text, "Tt") || (form == EP_DATE_MONTH_NAME && character_take(text, ':')))
    return true;
  bool comma = character_take(text, ',');
  return spaces_take(text) || comma;
}

/* To the microsecond these are whole numbers below 2^53 from 1684 to 2255, so that the division
 * alone rounds. */
static double seconds_of(const moment *from) {
  if (from->nanos % 1000 != 0) return (double)from->seconds + (double)from->nanos / 1e9;
  return (double)(from->seconds * 1000000 + from->nanos / 1000) / 1e6;
}

/* "-1 days +", "1 day, ": what stands before the time of a duration. */
static bool days_take(cursor *text, int64_t *days) {
  enum { DIGITS = 6 };
  int count;
  bool minus = character_take(text, '-');
  if (!digits_take(text, 1, DIGITS, &count) || !spaces_take(text)) return false;
  size_t letters = letters_count(text);
  if (letters < 3 || letters > 4 || strncasecmp(text->at, "days", letters) != 0) return false;
  text->at += letters;
  *days = minus ? -count : count;
  if (text->at == text->end) return true;
  character_take(text, ',');
  if (!spaces_take(text)) return false;
  character_take(text, '+');
  return text->at < text->end;
}

/* As ep_date_read. */
static bool duration_read(cursor text, double *seconds) {
  cursor start = text;
  moment time = {0, 0};
  int64_t days = 0;
  bool has_days = days_take(&text, &days);
  if (!has_days) text = start;
  if ((!has_days || text.at < text.end) && !time_take(&text, false, &time)) return false;
  if (text.at != text.end) return false;
  time.seconds += DAY_SECONDS * days;
  *seconds = seconds_of(&time);
  return true;
}

bool ep_date_read(ep_date_form form, const char *text, size_t bytes, double *seconds) {
  cursor left = {text, text + bytes};
  calendar_date date = {0};
  moment time = {0, 0};
  int64_t days = 0, offset = 0;
  if (form == EP_DATE_DURATION) return duration_read(left, seconds);
  if (form == EP_DATE_TIME) {
    if (!time_take(&left, false, &time)) return false;
  } else {
    if (!date_take(form, &left, &date)) return false;
    if (left.at < left.end) {
      if (!date.year_last && !time_separator_take(form, &left)) return false;
      if (!time_take(&left, date.basic, &time)) return false;
      offset = offset_take(&left);
      if (date.year_last && (!spaces_take(&left) || !digits_take(&left, 4, 4, &date.year)))
        return false;
    }
    if (!is_day(&date)) return false;
    days = days_count(&date);
  }
  if (left.at != left.end) return false;
  time.seconds += DAY_SECONDS * days - offset;
  *seconds = seconds_of(&time);
  return true;
}

bool ep_date_format(bool of_day, double seconds, char text[EP_DATE_TEXT_BYTES]) {
  enum { MICROS = 1000000 };
  struct tm tm;
  int used = 0;
  int64_t micros = llround(seconds * MICROS), fraction = micros % MICROS;
  if (fraction < 0) fraction += MICROS;
  time_t time = (time_t)((micros - fraction) / MICROS);
  if (!gmtime_r(&time, &tm)) return false;
  if (of_day && time == DAY_SECONDS) tm.tm_hour = 24;
  if (!of_day)
    used = snprintf(text, EP_DATE_TEXT_BYTES, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1,
                    tm.tm_mday);
  if (of_day || fraction > 0 || time % DAY_SECONDS != 0)
    used += snprintf(text + used, EP_DATE_TEXT_BYTES - (size_t)used, "%s%02d:%02d:%02d",
                     of_day ? "" : "T", tm.tm_hour, tm.tm_min, tm.tm_sec);
  if (fraction % 1000 > 0)
    snprintf(text + used, EP_DATE_TEXT_BYTES - (size_t)used, ".%06d", (int)fraction);
  else if (fraction > 0)
    snprintf(text + used, EP_DATE_TEXT_BYTES - (size_t)used, ".%03d", (int)fraction / 1000);
  return true;
}

double ep_date_after(double before, double last, int64_t steps) {
  const double month_seconds = 28 * 86400.0, step = last - before;
  time_t from_s = (time_t)floor(before), to_s = (time_t)floor(last);
  struct tm from, to;
  if (!(step > 0) || !gmtime_r(&from_s, &from) || !gmtime_r(&to_s, &to)) return NAN;
  const int months = 12 * (to.tm_year - from.tm_year) + to.tm_mon - from.tm_mon;
  if (months == 0 || step < month_seconds) return last + (double)steps * step;
  const int most_days = 28; /* of any month: beyond it days may be those of ends */
  if (from.tm_mday != to.tm_mday || to.tm_mday > most_days || steps > 12 * 9999 / months)
    return NAN;
  to.tm_mon += months * (int)steps;
  return (double)timegm(&to) + (last - (double)to_s);
}
