/* Any bytes as each kind of cell. Any number or date in any way of writing it that a kind has is
 * read as what was written. */
#include <math.h>
#include <string.h>

#include "engine/data/cells/cell.h"
#include "engine/data/cells/date.h"
#include "tests/fuzz/fuzz.h"

enum { TEXT_BYTES = 128 };

/* Numbers that the bytes choose: S. Vigna, splitmix64. */
static uint64_t state;

static unsigned choose(unsigned count) {
  uint64_t bits = state += UINT64_C(0x9E3779B97F4A7C15);
  bits = (bits ^ bits >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  bits = (bits ^ bits >> 27) * UINT64_C(0x94D049BB133111EB);
  return (unsigned)((bits ^ bits >> 31) % count);
}

static void cell_holds(const char *text, size_t bytes) {
  double value = -7, again;
  for (int kind = 0; kind < EP_CELL_KINDS; kind++) {
    value = -7;
    bool read = ep_cell_read((ep_cell_kind)kind, text, bytes, &value);
    FUZZ_HOLDS(read ? !isnan(value) : value == -7);
    FUZZ_HOLDS(!read || !ep_cell_is_missing(text, bytes));
    /* a number with a point is one with thousands, too; no date is a number */
    if (kind == EP_CELL_NUMBER && read)
      FUZZ_HOLDS(ep_cell_read(EP_CELL_GROUPED, text, bytes, &again) && again == value);
    for (int date = EP_CELL_ISO_DATE; kind == EP_CELL_NUMBER && read && date < EP_CELL_KINDS;
         date++)
      FUZZ_HOLDS(!ep_cell_read((ep_cell_kind)date, text, bytes, &again));
  }
}

static void read_holds(ep_cell_kind kind, const char *text, double wanted) {
  double value;
  bool read = ep_cell_read(kind, text, strlen(text), &value);
  if (!read || value != wanted) fprintf(stderr, "%s: %s\n", ep_cell_kind_name(kind), text);
  FUZZ_HOLDS(read && value == wanted);
}

static void number_holds(void) {
  static const char *const signs[] = {"", "-", "\xE2\x88\x92"};
  static const char *const spaces[] = {" ", "\xC2\xA0", "\xE2\x80\x89", "\xE2\x80\xAF"};
  ep_cell_kind kind = (ep_cell_kind)choose(EP_CELL_APOSTROPHE_COMMA + 1);
  ep_cell_marks marks = ep_cell_kind_marks(kind);
  char thousands[4] = {marks.thousands}, digits[16], text[TEXT_BYTES], plain[TEXT_BYTES],
       *at = text;
  if (marks.thousands == ' ') strcpy(thousands, spaces[choose(4)]);
  if (marks.thousands == '\'' && choose(2)) strcpy(thousands, "\xE2\x80\x99");
  const char *sign = signs[choose(3)];
  unsigned whole = choose(1u << 24), decimals = choose(7), fraction = choose(1000000);
  bool groups = choose(2);
  int count = snprintf(digits, sizeof digits, "%u", whole);
  at += sprintf(at, "%s", sign);
  for (int i = 0; i < count; i++) {
    if (groups && i > 0 && (count - i) % 3 == 0) at += sprintf(at, "%s", thousands);
    *at++ = digits[i];
  }
  *at = 0;
  if (decimals > 0) sprintf(at, "%c%.*s", marks.decimal, (int)decimals, "000000000000");
  if (decimals > 0)
    snprintf(digits, sizeof digits, "%06u", fraction), memcpy(at + 1, digits, decimals);
  snprintf(plain, sizeof plain, "%s%u.%.*s", *sign ? "-" : "", whole, (int)decimals,
           decimals > 0 ? at + 1 : "");
  read_holds(kind, text, strtod(plain, NULL));
}

/* The time, and the zone behind it; seconds: of both. Returns the end of the text. */
static char *time_write(bool zoned, char *at, int64_t *micros) {
  static const struct {
    const char *text;
    int minutes;
  } zones[] = {{"", 0},        {"Z", 0},       {" Z", 0},       {" UTC", 0}, {"+00:00", 0},
               {" +0100", 60}, {"+01:00", 60}, {"-0530", -330}, {" GMT", 0}, {" EST", -300},
               {" PDT", -420}, {"+13", 780},   {" ut", 0}};
  unsigned hour = choose(25), minute = choose(60), second = choose(60);
  unsigned zone = zoned ? choose(sizeof zones / sizeof *zones) : 0, digits = choose(7);
  bool half = hour < 24 && choose(2), seconds = choose(2);
  char fraction[8];
  if (hour == 24) minute = second = 0;
  if (!seconds) second = 0;
  snprintf(fraction, sizeof fraction, "%06u", hour == 24 || !seconds ? 0 : choose(1000000));
  memset(fraction + digits, '0', 6 - digits);
  at += sprintf(at, half || choose(2) ? "%u:%02u" : "%02u:%02u", half ? (hour + 11) % 12 + 1 : hour,
                minute);
  if (seconds) at += sprintf(at, ":%02u", second);
  if (seconds && digits > 0)
    at += sprintf(at, "%c%.*s", choose(2) ? '.' : ',', (int)digits, fraction);
  if (half) at += sprintf(at, "%s%s", choose(2) ? " " : "", hour < 12 ? "AM" : "pm");
  at += sprintf(at, "%s", zones[zone].text);
  *micros = (int64_t)(hour * 3600 + minute * 60 + second) * 1000000 + atoi(fraction) -
            (int64_t)zones[zone].minutes * 60000000;
  return at;
}

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};

/* "" is for the day first alone. */
static char *named_write(const char *name, int day, const char *year, char *at) {
  static const char *const between[][2] = {{"", ""},   {" ", ", "}, {". ", " "}, {"-", "-"},
                                           {".", "."}, {"/", "/"},  {" ", " "}};
  bool day_first = choose(2);
  const char *const *separator = between[day_first ? choose(7) : 1 + choose(6)];
  if (choose(2)) at += sprintf(at, choose(2) ? "Tue, " : "sunday ");
  return day_first ? at + sprintf(at, "%d%s%s%s%s", day, separator[0], name, separator[1], year)
                   : at + sprintf(at, "%s%s%02d%s%s", name, separator[0], day, separator[1], year);
}

static char *date_write(ep_cell_kind kind, int year, int month, int day, char *at) {
  char years[8], name[16], separator = "-/."[choose(3)];
  bool two = year >= 1969 && year <= 2068 && choose(2);
  snprintf(years, sizeof years, two ? "%02d" : "%04d", two ? year % 100 : year);
  snprintf(name, sizeof name, "%.*s", choose(2) ? 3 : 9, months[month - 1]);
  switch (kind) {
  case EP_CELL_ISO_DATE:
    return at + sprintf(at, choose(2) ? "%04d%c%02d%c%02d" : "%04d%c%d%c%d", year, separator, month,
                        separator, day);
  case EP_CELL_DAY_FIRST:
    return at + sprintf(at, "%d%c%02d%c%s", day, separator, month, separator, years);
  case EP_CELL_MONTH_FIRST:
    return at + sprintf(at, "%02d%c%d%c%s", month, separator, day, separator, years);
  default: return named_write(name, day, years, at);
  }
}

/* Days since 1970, counted year by year. */
static int64_t days_of(int year, int month, int day) {
  int64_t days = day - 1;
  for (int i = 1; i < month; i++) days += ep_month_days(year, i);
  for (int i = 1970; i < year; i++) days += 337 + ep_month_days(i, 2);
  for (int i = year; i < 1970; i++) days -= 337 + ep_month_days(i, 2);
  return days;
}

static void date_holds(void) {
  ep_cell_kind kind =
      (ep_cell_kind)(EP_CELL_ISO_DATE + choose(EP_CELL_TIME - EP_CELL_ISO_DATE + 1));
  int year = 1700 + (int)choose(550), month = 1 + (int)choose(12);
  int day = 1 + (int)choose((unsigned)ep_month_days(year, month));
  char text[TEXT_BYTES], *at = text;
  int64_t micros = 0, days = 0;
  if (kind != EP_CELL_TIME) {
    days = days_of(year, month, day);
    at = date_write(kind, year, month, day, at);
  }
  if (kind == EP_CELL_TIME || choose(4)) {
    if (kind != EP_CELL_TIME)
      at += sprintf(at, "%s", choose(4) == 0 ? ", " : choose(2) ? "T" : " ");
    time_write(kind != EP_CELL_TIME, at, &micros);
  }
  read_holds(kind, text, (double)(days * 86400000000 + micros) / 1e6);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  state = count;
  for (size_t i = 0; i < count; i++) state = (state ^ bytes[i]) * UINT64_C(0x100000001B3);
  cell_holds((const char *)bytes, count < TEXT_BYTES ? count : TEXT_BYTES);
  number_holds();
  date_holds();
  return 0;
}
