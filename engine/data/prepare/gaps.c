#include "engine/data/prepare/gaps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/calendar.h"
#include "engine/data/columns/order_statistic.h"

enum { DAY_HOURS = 24, WEEK_HOURS = 7 * DAY_HOURS };
static const double hour = 3600, day = 86400, week = 7 * 86400;
static const double weeks_least = 2;  /* that show which hours have no rows */
static const double open_share = 0.1; /* of the weeks, in which an open hour has a row at least */
static const double shortest = 0.5, longest = 1.5; /* of the usual step */
static const double odd_most = 0.25;               /* of the steps, where one is usual */

/* Which hours of the week have rows. */
typedef struct {
  bool open[WEEK_HOURS];
  bool closed_day; /* a whole weekday has none */
} week_hours;

static int64_t hours_of(double seconds) {
  return (int64_t)floor(seconds / hour);
}

static int64_t place_in(int64_t number, int64_t period) {
  return (number % period + period) % period;
}

static int64_t day_of(int64_t hours) {
  return (hours - place_in(hours, DAY_HOURS)) / DAY_HOURS;
}

static week_hours week_find(const double *times, int64_t rows) {
  week_hours found = {{0}, false};
  int64_t count[WEEK_HOURS] = {0};
  double weeks = (times[rows - 1] - times[0]) / week;
  for (int64_t i = 0; i < rows; i++) count[place_in(hours_of(times[i]), WEEK_HOURS)]++;
  for (int weekday = 0; weekday < 7; weekday++) {
    bool any = false;
    for (int i = weekday * DAY_HOURS; i < (weekday + 1) * DAY_HOURS; i++) {
      found.open[i] =
          weeks < weeks_least || (count[i] > 0 && (double)count[i] >= open_share * weeks);
      any = any || found.open[i];
    }
    found.closed_day = found.closed_day || !any;
  }
  return found;
}

/* Whether nothing but closing times and holidays lies between two rows. */
static bool is_closed_between(const week_hours *hours, double from, double to) {
  int64_t first = hours_of(from), last = hours_of(to);
  bool closed = false;
  if (to - from > week) return false;
  for (int64_t i = first + 1; i < last; i++) {
    bool open = hours->open[place_in(i, WEEK_HOURS)];
    bool holiday = hours->closed_day && day_of(i) != day_of(first) && day_of(i) != day_of(last);
    if (open && !holiday) return false;
    closed = closed || !open;
  }
  return closed;
}

/* 0: no step is above 0. steps: [rows], working memory. */
static double usual_find(const double *times, int64_t rows, double *steps) {
  int64_t count = 0;
  for (int64_t i = 1; i < rows; i++)
    if (times[i] > times[i - 1]) steps[count++] = times[i] - times[i - 1];
  return count > 0 ? ep_order_statistic(steps, count, (count - 1) / 2) : 0;
}

static void gap_note(ep_series_gaps *sum, double before, double usual, double step) {
  sum->gaps++;
  if (step - usual <= sum->missing) return;
  sum->missing = step - usual;
  sum->after = before;
}

ep_status ep_gaps_find(const double *times, int64_t rows, ep_series_gaps *sum, bool *odd,
                       ep_error *error) {
  if (rows == 0) return EP_OK;
  double *steps = malloc((size_t)rows * sizeof *steps);
  if (!steps) return ep_fail_memory(error);
  double usual = usual_find(times, rows, steps);
  free(steps);
  bool closes = sum->dates && usual <= day;
  week_hours hours = {{0}, false};
  if (closes) hours = week_find(times, rows);
  odd[0] = false;
  sum->steps += rows - 1;
  for (int64_t i = 1; i < rows; i++) {
    double step = times[i] - times[i - 1];
    odd[i] = step < shortest * usual || step > longest * usual || step == 0;
    if (!odd[i]) continue;
    if (step == 0)
      sum->repeated++;
    else if (step < usual)
      sum->close++;
    else if (closes && is_closed_between(&hours, times[i - 1], times[i]))
      odd[i] = false;
    else
      gap_note(sum, times[i - 1], usual, step);
  }
  return EP_OK;
}

void ep_gaps_judge(ep_series_gaps *sum) {
  int64_t odd = sum->gaps + sum->repeated + sum->close;
  sum->uneven = (double)odd > odd_most * (double)sum->steps;
}

/* "3 days", "90 minutes"; of numbers "3". */
static void length_format(const ep_series_gaps *gaps, char *out, size_t bytes) {
  static const struct {
    const char *name;
    double seconds;
  } unit[] = {{"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}};
  double value = gaps->missing;
  int i = 0;
  if (gaps->dates) {
    while (i < 3 && value < 2 * unit[i].seconds && value != unit[i].seconds) i++;
    value /= unit[i].seconds;
  }
  snprintf(out, bytes, gaps->dates ? "%.4g %s%s" : "%.4g", value, unit[i].name,
           value == 1 ? "" : "s");
}

static void time_format(const ep_series_gaps *gaps, char *out, size_t bytes) {
  if (!gaps->dates) {
    snprintf(out, bytes, "%.10g", gaps->after);
    return;
  }
  ep_calendar date = ep_calendar_of(gaps->after);
  int minutes = (int)(date.day_second / 60);
  int used = snprintf(out, bytes, "%04lld-%02d-%02d", (long long)date.year, date.month, date.day);
  if (minutes > 0)
    snprintf(out + used, bytes - (size_t)used, " %02d:%02d", minutes / 60, minutes % 60);
}

/* "2 gaps", behind what is there already. */
static void count_add(int64_t count, const char *name, char *out, size_t bytes) {
  size_t used = strlen(out);
  if (count == 0) return;
  snprintf(out + used, bytes - used, "%s%lld %s%s", used > 0 ? ", " : "", (long long)count, name,
           count == 1 ? "" : "s");
}

void ep_gaps_format(const ep_series_gaps *gaps, char *out, size_t bytes) {
  char length[40], after[64];
  out[0] = 0;
  count_add(gaps->gaps, "gap", out, bytes);
  size_t used = strlen(out);
  if (used > 0) {
    length_format(gaps, length, sizeof length);
    time_format(gaps, after, sizeof after);
    snprintf(out + used, bytes - used, " (%s%s after %s)", gaps->gaps > 1 ? "the longest: " : "",
             length, after);
  }
  count_add(gaps->repeated, "repeated time", out, bytes);
  count_add(gaps->close, "short step", out, bytes);
  used = strlen(out);
  if (used == 0) return;
  if (gaps->uneven)
    snprintf(out + used, bytes - used,
             " in %lld steps: the times are uneven, so windows count rows, whatever their times%s",
             (long long)gaps->steps,
             gaps->repeated > 0 ? "; of several series, name the column of each row's series as "
                                  "\"group\" in \"window\""
                                : "");
  else
    snprintf(out + used, bytes - used,
             ": %lld of %lld windows %s left out; \"gaps\": \"keep\" in \"window\" takes them",
             (long long)gaps->left_out, (long long)gaps->windows,
             gaps->left_out == 1 ? "is" : "are");
}
