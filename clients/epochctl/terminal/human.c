#include "clients/epochctl/terminal/human.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/json/number.h"

char *ep_human_number(double value, char text[EP_HUMAN_BYTES]) {
  if (isnan(value))
    snprintf(text, EP_HUMAN_BYTES, "-");
  else if (isinf(value))
    snprintf(text, EP_HUMAN_BYTES, value > 0 ? "inf" : "-inf");
  else if (value == floor(value) && fabs(value) < 1e9)
    snprintf(text, EP_HUMAN_BYTES, "%.0f", value);
  else
    snprintf(text, EP_HUMAN_BYTES, "%.5g", value);
  return text;
}

char *ep_human_count(int64_t value, char text[EP_HUMAN_BYTES]) {
  ep_grouped_format(value, text);
  return text;
}

/* Three significant digits, never with an exponent: 1.05, 42.1, 417. */
static int decimals_count(double value) {
  return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

static void unit_write(char text[EP_HUMAN_BYTES], double value, const char *unit) {
  snprintf(text, EP_HUMAN_BYTES, "%.*f%s", decimals_count(value), value, unit);
}

char *ep_human_seconds(double seconds, char text[EP_HUMAN_BYTES]) {
  if (!isfinite(seconds) || seconds < 0 || seconds > 1e12) {
    snprintf(text, EP_HUMAN_BYTES, "-");
  } else if (seconds == 0) {
    snprintf(text, EP_HUMAN_BYTES, "0 s");
  } else if (seconds < 1e-6) {
    unit_write(text, seconds * 1e9, " ns");
  } else if (seconds < 1e-3) {
    unit_write(text, seconds * 1e6, " us");
  } else if (seconds < 1) {
    unit_write(text, seconds * 1e3, " ms");
  } else if (seconds < 60) {
    snprintf(text, EP_HUMAN_BYTES, "%.*f s", seconds < 10 ? 1 : 0, seconds);
  } else if (seconds < 3600) {
    long whole = (long)(seconds + 0.5);
    snprintf(text, EP_HUMAN_BYTES, "%ld min %02ld s", whole / 60, whole % 60);
  } else if (seconds < 86400) {
    long minutes = (long)(seconds / 60);
    snprintf(text, EP_HUMAN_BYTES, "%ld h %02ld min", minutes / 60, minutes % 60);
  } else {
    long hours = (long)(seconds / 3600);
    snprintf(text, EP_HUMAN_BYTES, "%ld d %ld h", hours / 24, hours % 24);
  }
  return text;
}

static char *thousands_write(double value, const char *const units[], int count,
                             char text[EP_HUMAN_BYTES]) {
  int unit = 0;
  if (!isfinite(value) || value < 0) {
    snprintf(text, EP_HUMAN_BYTES, "-");
    return text;
  }
  while (value >= 999.5 && unit < count - 1) {
    value /= 1000;
    unit++;
  }
  if (unit == 0)
    snprintf(text, EP_HUMAN_BYTES, "%.*f%s", value < 10 && value != floor(value) ? 2 : 0, value,
             units[0]);
  else
    unit_write(text, value, units[unit]);
  return text;
}

char *ep_human_bytes(double bytes, char text[EP_HUMAN_BYTES]) {
  static const char *const UNITS[] = {" B", " kB", " MB", " GB", " TB"};
  return thousands_write(bytes, UNITS, 5, text);
}

char *ep_human_rate(double value, char text[EP_HUMAN_BYTES]) {
  static const char *const UNITS[] = {"", " k", " M", " G", " T"};
  return thousands_write(value, UNITS, 5, text);
}

char *ep_human_percent(double fraction, char text[EP_HUMAN_BYTES]) {
  if (isnan(fraction))
    snprintf(text, EP_HUMAN_BYTES, "-");
  else
    snprintf(text, EP_HUMAN_BYTES, "%d %%", (int)floor(fmin(fmax(fraction, 0), 1) * 100));
  return text;
}

char *ep_human_age(const char *time_text, char text[EP_HUMAN_BYTES]) {
  struct tm parts = {0};
  char since[EP_HUMAN_BYTES];
  const char *stop = strptime(time_text, "%Y-%m-%dT%H:%M:%S", &parts);
  if (!stop) {
    snprintf(text, EP_HUMAN_BYTES, "%.40s", time_text);
    return text;
  }
  double seconds = difftime(time(NULL), timegm(&parts));
  if (seconds < 60)
    snprintf(since, sizeof since, "%.0f s", fmax(seconds, 0));
  else if (seconds < 3600)
    snprintf(since, sizeof since, "%.0f min", floor(seconds / 60));
  else if (seconds < 86400)
    snprintf(since, sizeof since, "%.0f h", floor(seconds / 3600));
  else
    snprintf(since, sizeof since, "%.0f d", floor(seconds / 86400));
  snprintf(text, EP_HUMAN_BYTES, "%.40s ago", since);
  return text;
}
