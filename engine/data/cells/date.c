#include "engine/data/cells/date.h"

#include <string.h>
#include <strings.h>

enum { DAY_SECONDS = 86400, HOUR_SECONDS = 3600, MINUTE_SECONDS = 60 };

/* What is left of a text. */
typedef struct {
  const char *at, *end;
} cursor;

static bool character_take(cursor *text, char c) {
  if (text->at == text->end || *text->at != c) return false;
  text->at++;
  return true;
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

static bool is_day(int year, int month, int day) {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  return day <= ep_month_days(year, month);
}

/* Since 1970-01-01. A year begins in March here: the leap day is its last. H. Hinnant,
 * "chrono-Compatible Low-Level Date Algorithms", days_from_civil. */
static int64_t days_count(int year, int month, int day) {
  if (month <= 2) year--;
  int64_t era = year / 400, year_of_era = year % 400;
  int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  int64_t day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return 146097 * era + day_of_era - 719468;
}

static bool fraction_take(cursor *text, double *seconds) {
  double scale = 0.1;
  const char *first = text->at;
  for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
    *seconds += scale * (*text->at - '0');
    scale /= 10;
  }
  return text->at > first;
}

/* " AM", "pm": what the hour becomes. False where the hour is none of a clock of twelve. */
static bool half_take(cursor *text, int *hour) {
  cursor left = *text;
  character_take(&left, ' ');
  if (left.end - left.at < 2 || (left.at[1] | 0x20) != 'm') return true;
  char half = (char)(left.at[0] | 0x20);
  if (half != 'a' && half != 'p') return true;
  if (*hour < 1 || *hour > 12) return false;
  *hour = *hour % 12 + (half == 'p' ? 12 : 0);
  text->at = left.at + 2;
  return true;
}

/* HH:MM, HH:MM:SS, HH:MM:SS.fff, HH:MM PM; a second 60 is a leap second. */
static bool time_take(cursor *text, double *seconds) {
  int hour, minute, second = 0;
  double fraction = 0;
  if (!digits_take(text, 1, 2, &hour) || !character_take(text, ':') ||
      !digits_take(text, 2, 2, &minute))
    return false;
  bool exact = character_take(text, ':');
  if (exact && !digits_take(text, 2, 2, &second)) return false;
  if (exact && character_take(text, '.') && !fraction_take(text, &fraction)) return false;
  if (!half_take(text, &hour) || hour > 23 || minute > 59 || second > 60) return false;
  *seconds = HOUR_SECONDS * hour + MINUTE_SECONDS * minute + second + fraction;
  return true;
}

/* Z, +HH, +HHMM, +HH:MM: what is to be subtracted. */
static bool offset_take(cursor *text, double *seconds) {
  int hours, minutes = 0;
  *seconds = 0;
  if (character_take(text, 'Z')) return true;
  bool west = character_take(text, '-');
  if (!west && !character_take(text, '+')) return false;
  if (!digits_take(text, 2, 2, &hours)) return false;
  bool more = character_take(text, ':') || text->at < text->end;
  if (more && !digits_take(text, 2, 2, &minutes)) return false;
  if (hours > 23 || minutes > 59) return false;
  *seconds = HOUR_SECONDS * hours + MINUTE_SECONDS * minutes;
  if (west) *seconds = -*seconds;
  return true;
}

/* 2024-01-31 or 2024/01/31 */
static bool iso_date_take(cursor *text, int *year, int *month, int *day) {
  if (!digits_take(text, 4, 4, year) || text->at == text->end) return false;
  char separator = *text->at;
  return (separator == '-' || separator == '/') && character_take(text, separator) &&
         digits_take(text, 1, 2, month) && character_take(text, separator) &&
         digits_take(text, 1, 2, day);
}

/* Of four digits; of two where the century goes without saying, as in 1/31/99. */
static bool year_take(cursor *text, bool two_digits, int *year) {
  const char *start = text->at;
  if (digits_take(text, 4, 4, year)) return true;
  if (!two_digits || text->at - start != 2) return false;
  *year += *year < 69 ? 2000 : 1900;
  return true;
}

/* 31/1/2024, 31/1/24: first, second, year. */
static bool short_date_take(cursor *text, int *first, int *second, int *year) {
  if (!digits_take(text, 1, 2, first) || text->at == text->end) return false;
  char separator = *text->at;
  return (separator == '/' || separator == '.' || separator == '-') &&
         character_take(text, separator) && digits_take(text, 1, 2, second) &&
         character_take(text, separator) && year_take(text, separator == '/', year);
}

/* "Jan", "January", "jan."; 0: none. */
static int month_take(cursor *text) {
  static const char *const names[] = {"january",   "february", "march",    "april",
                                      "may",       "june",     "july",     "august",
                                      "september", "october",  "november", "december"};
  enum { LETTERS = 3 };
  size_t left = (size_t)(text->end - text->at);
  for (int i = 0; i < 12; i++) {
    size_t whole = strlen(names[i]);
    if (left < LETTERS || (*text->at | 0x20) != *names[i] ||
        strncasecmp(text->at, names[i], LETTERS) != 0)
      continue;
    bool all = left >= whole && strncasecmp(text->at, names[i], whole) == 0;
    text->at += all ? whole : LETTERS;
    if (!all) character_take(text, '.');
    return i + 1;
  }
  return 0;
}

/* " ", "-", ", " */
static bool separator_take(cursor *text) {
  bool comma = character_take(text, ',');
  return character_take(text, ' ') || comma || character_take(text, '-');
}

/* Jan 31 2024, 31 Jan 2024, with commas or hyphens. */
static bool named_date_take(cursor *text, int *year, int *month, int *day) {
  *month = month_take(text);
  bool first = *month > 0;
  if (first && !separator_take(text)) return false;
  if (!digits_take(text, 1, 2, day) || !separator_take(text)) return false;
  if (!first) *month = month_take(text);
  if (*month == 0 || (!first && !separator_take(text))) return false;
  return digits_take(text, 4, 4, year);
}

static bool date_take(ep_date_form form, cursor *text, double *seconds) {
  int year, month, day;
  bool taken = form == EP_DATE_ISO          ? iso_date_take(text, &year, &month, &day)
               : form == EP_DATE_MONTH_NAME ? named_date_take(text, &year, &month, &day)
               : form == EP_DATE_DAY_FIRST  ? short_date_take(text, &day, &month, &year)
                                            : short_date_take(text, &month, &day, &year);
  if (!taken || !is_day(year, month, day)) return false;
  *seconds = (double)(DAY_SECONDS * days_count(year, month, day));
  return true;
}

bool ep_date_read(ep_date_form form, const char *text, size_t bytes, double *seconds) {
  cursor left = {text, text + bytes};
  double date = 0, time = 0, offset = 0;
  if (form == EP_DATE_TIME) {
    if (!time_take(&left, &time) || left.at != left.end) return false;
    *seconds = time;
    return true;
  }
  if (!date_take(form, &left, &date)) return false;
  if (left.at < left.end) {
    if (!character_take(&left, 'T') && !character_take(&left, ' ')) return false;
    if (!time_take(&left, &time)) return false;
    if (left.at < left.end && !offset_take(&left, &offset)) return false;
  }
  if (left.at != left.end) return false;
  *seconds = date + time - offset;
  return true;
}
