#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "engine/data/cells/date.h"
#include "engine/data/cells/unit.h"
#include "tests/suite.h"

START_TEST(missing_words_are_known) {
  static const char *const missing[] = {"",       "NA",    "n.a.",    "<NA>",   "NaT", "\\N",
                                        "(null)", "#REF!", "#DIV/0!", "?",      "-",   "--",
                                        ".",      "..",    "\u2014",  "#NAME?", "None"};
  static const char *const there[] = {
      "0",  "na",  "none", "Nan", "nil", "missing", "...",    "N",    "A", "#",       " ",   "??",
      "-1", "-.5", "N/B",  "#1",  "\\n", "<NB>",    "#DIV/0", "\xE2", "(", "unknown", "----"};
  size_t words = 0;
  for (const char *word; (word = ep_cell_missing_word(words)); words++) {
    char longer[16];
    ck_assert_msg(ep_cell_is_missing(word, strlen(word)), "%s", word);
    snprintf(longer, sizeof longer, "%sx", word);
    ck_assert_msg(!ep_cell_is_missing(longer, strlen(longer)), "%s", longer);
  }
  ck_assert_uint_gt(words, 30);
  for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
    ck_assert_msg(ep_cell_is_missing(missing[i], strlen(missing[i])), "%s", missing[i]);
  for (size_t i = 0; i < sizeof there / sizeof *there; i++)
    ck_assert_msg(!ep_cell_is_missing(there[i], strlen(there[i])), "%s", there[i]);
}
END_TEST

#define MINUS "\xE2\x88\x92" /* U+2212 */
#define QUOTE "\xE2\x80\x99" /* U+2019 */

static const struct {
  const char *text;
  ep_cell_kind kind;
  double value; /* NAN: is none of the kind */
} cells[] = {
    {"1.5", EP_CELL_NUMBER, 1.5},
    {"inf", EP_CELL_NUMBER, INFINITY},
    {"-Infinity", EP_CELL_NUMBER, -INFINITY},
    {"1e999", EP_CELL_NUMBER, INFINITY},
    {"1,5", EP_CELL_NUMBER, NAN},
    {"1 5", EP_CELL_NUMBER, NAN},
    {"info", EP_CELL_NUMBER, NAN},
    {MINUS "1.5", EP_CELL_NUMBER, -1.5},
    {MINUS "1e-3", EP_CELL_NUMBER, -0.001},
    {MINUS "inf", EP_CELL_NUMBER, -INFINITY},
    {"2.97E" MINUS "08", EP_CELL_NUMBER, 2.97e-8},
    {MINUS "1.97e" MINUS "8", EP_CELL_NUMBER, -1.97e-8},
    {"2,5e" MINUS "3", EP_CELL_DECIMAL_COMMA, 0.0025},
    {"1e" MINUS, EP_CELL_NUMBER, NAN},
    {"1e" MINUS MINUS "8", EP_CELL_NUMBER, NAN},
    {"5" MINUS "3", EP_CELL_NUMBER, NAN},
    {MINUS "1.234,5", EP_CELL_DECIMAL_COMMA, -1234.5},
    {MINUS MINUS "1", EP_CELL_NUMBER, NAN},
    {MINUS "-1", EP_CELL_NUMBER, NAN},
    {"-" MINUS "1", EP_CELL_NUMBER, NAN},
    {"1" MINUS, EP_CELL_NUMBER, NAN},
    {MINUS, EP_CELL_NUMBER, NAN},
    {"\xE2\x80\x93"
     "5",
     EP_CELL_NUMBER, NAN}, /* an en dash */
    {"5-", EP_CELL_NUMBER, NAN},
    {"(1.5)", EP_CELL_NUMBER, -1.5},
    {"(-1.5)", EP_CELL_NUMBER, NAN},
    {"(1.5", EP_CELL_NUMBER, NAN},
    {"5 kg", EP_CELL_NUMBER, NAN},
    {"--", EP_CELL_NUMBER, NAN},
    {"+", EP_CELL_GROUPED, NAN},
    {"+-1", EP_CELL_GROUPED, NAN},
    {"<0.05", EP_CELL_NUMBER, NAN},
    {"#DIV/0!", EP_CELL_NUMBER, NAN},
    {"1'234.5", EP_CELL_APOSTROPHE, 1234.5},
    {"-12" QUOTE "345" QUOTE "678", EP_CELL_APOSTROPHE, -12345678},
    {"1e3", EP_CELL_APOSTROPHE, 1000},
    {"1'23", EP_CELL_APOSTROPHE, NAN},
    {"1234'567", EP_CELL_APOSTROPHE, NAN},
    {"1'234,5", EP_CELL_APOSTROPHE, NAN},
    {"'234", EP_CELL_APOSTROPHE, NAN},
    {"1'234,5", EP_CELL_APOSTROPHE_COMMA, 1234.5},
    {"1'234", EP_CELL_GROUPED, NAN},
    {"1,5", EP_CELL_DECIMAL_COMMA, 1.5},
    {"-1.234.567,89", EP_CELL_DECIMAL_COMMA, -1234567.89},
    {"1.234", EP_CELL_DECIMAL_COMMA, 1234},
    {"1234", EP_CELL_DECIMAL_COMMA, 1234},
    {"1.23", EP_CELL_DECIMAL_COMMA, NAN},
    {"1234.567", EP_CELL_DECIMAL_COMMA, NAN},
    {"1,", EP_CELL_DECIMAL_COMMA, 1},
    {",5", EP_CELL_DECIMAL_COMMA, 0.5},
    {"1,5e-3", EP_CELL_DECIMAL_COMMA, 0.0015},
    {"1.234,", EP_CELL_DECIMAL_COMMA, NAN},
    {"1.234,5e3", EP_CELL_DECIMAL_COMMA, NAN},
    {"-inf", EP_CELL_DECIMAL_COMMA, -INFINITY},
    {"1,2,3", EP_CELL_DECIMAL_COMMA, NAN},
    {"1,234", EP_CELL_GROUPED, 1234},
    {"+12,345,678.25", EP_CELL_GROUPED, 12345678.25},
    {"1e3", EP_CELL_GROUPED, 1000},
    {"1.5", EP_CELL_GROUPED, 1.5},
    {"1,23", EP_CELL_GROUPED, NAN},
    {"1234,567", EP_CELL_GROUPED, NAN},
    {",234", EP_CELL_GROUPED, NAN},
    {"-", EP_CELL_GROUPED, NAN},
    {"0,123", EP_CELL_GROUPED, NAN},
    {"0.123", EP_CELL_DECIMAL_COMMA, NAN},
    {"0,123", EP_CELL_DECIMAL_COMMA, 0.123},
    {"1 234", EP_CELL_SPACED, 1234},
    {"-12 345 678.25", EP_CELL_SPACED, -12345678.25},
    {"1\xC2\xA0"
     "234",
     EP_CELL_SPACED, 1234},
    {"1\xE2\x80\xAF"
     "234\xE2\x80\x89"
     "567",
     EP_CELL_SPACED, 1234567},
    {"1e3", EP_CELL_SPACED, 1000},
    {"+34 612 345 678", EP_CELL_SPACED, NAN},
    {"+34 612,5", EP_CELL_SPACED_COMMA, NAN},
    {"+34,5", EP_CELL_SPACED_COMMA, 34.5},
    {"1 23", EP_CELL_SPACED, NAN},
    {"1  234", EP_CELL_SPACED, NAN},
    {"1234 567", EP_CELL_SPACED, NAN},
    {"007 123", EP_CELL_SPACED, NAN},
    {"1 234,5", EP_CELL_SPACED, NAN},
    {"1 234,5", EP_CELL_SPACED_COMMA, 1234.5},
    {"1.234,5", EP_CELL_SPACED_COMMA, NAN},
    {"1 234", EP_CELL_GROUPED, NAN},
    {"1970-01-01", EP_CELL_ISO_DATE, 0},
    {"2024-02-29", EP_CELL_ISO_DATE, 1709164800},
    {"2024/02/29", EP_CELL_ISO_DATE, 1709164800},
    {"2024-2-9", EP_CELL_ISO_DATE, 1707436800},
    {"2024-02-29T12:30:00Z", EP_CELL_ISO_DATE, 1709209800},
    {"2024-02-29 12:30", EP_CELL_ISO_DATE, 1709209800},
    {"2024-02-29T12:30:00+02:00", EP_CELL_ISO_DATE, 1709202600},
    {"2024-02-29 12:30:00-0530", EP_CELL_ISO_DATE, 1709229600},
    {"2024-02-29 12:30:00+00", EP_CELL_ISO_DATE, 1709209800},
    {"2024-02-29T12:30:00.25Z", EP_CELL_ISO_DATE, 1709209800.25},
    {"0001-01-01", EP_CELL_ISO_DATE, -62135596800},
    {"1900-01-01", EP_CELL_ISO_DATE, -2208988800},
    {"9999-12-31", EP_CELL_ISO_DATE, 253402214400},
    {"2023-02-29", EP_CELL_ISO_DATE, NAN},
    {"1900-02-29", EP_CELL_ISO_DATE, NAN},
    {"0000-01-01", EP_CELL_ISO_DATE, NAN},
    {"2024-13-01", EP_CELL_ISO_DATE, NAN},
    {"2024-00-01", EP_CELL_ISO_DATE, NAN},
    {"2024-01-32", EP_CELL_ISO_DATE, NAN},
    {"2024-01/31", EP_CELL_ISO_DATE, NAN},
    {"2024-02", EP_CELL_ISO_DATE, 1706745600},
    {"2024/02", EP_CELL_ISO_DATE, 1706745600},
    {"2024.02", EP_CELL_ISO_DATE, NAN},
    {"2024-2", EP_CELL_ISO_DATE, NAN},
    {"2024-13", EP_CELL_ISO_DATE, NAN},
    {"2024-", EP_CELL_ISO_DATE, NAN},
    {"2024-02 12:30", EP_CELL_ISO_DATE, NAN},
    {"2024-W05", EP_CELL_ISO_DATE, NAN},
    {"2024-060", EP_CELL_ISO_DATE, NAN},
    {"2024.02.29", EP_CELL_ISO_DATE, 1709164800},
    {"2024.02-29", EP_CELL_ISO_DATE, NAN},
    {"20240229T123000Z", EP_CELL_ISO_DATE, 1709209800},
    {"20240229T1230", EP_CELL_ISO_DATE, 1709209800},
    {"20240229T123000.25+0100", EP_CELL_ISO_DATE, 1709206200.25},
    {"20240229T12:30:00", EP_CELL_ISO_DATE, 1709209800},
    {"20240229T", EP_CELL_ISO_DATE, NAN},
    {"20240229T12", EP_CELL_ISO_DATE, NAN},
    {"20240229 1230", EP_CELL_ISO_DATE, NAN},
    {"20230229T1230", EP_CELL_ISO_DATE, NAN},
    {"2024022T1230", EP_CELL_ISO_DATE, NAN},
    {"2024-02-29T1230", EP_CELL_ISO_DATE, NAN},
    {"2024-02-29 12:30 PM", EP_CELL_ISO_DATE, 1709209800},
    {"2024-02-29, 12:30:00\u202fp.m.", EP_CELL_ISO_DATE, 1709209800},
    {"2024-02-29 12:30:05,137", EP_CELL_ISO_DATE, 1709209805.137},
    {"2024-02-29 12:30:05.123456", EP_CELL_ISO_DATE, 1709209805.123456},
    {"2024-02-29 12:30:00 UTC", EP_CELL_ISO_DATE, 1709209800},
    {"2024-02-29 12:30:00UTC", EP_CELL_ISO_DATE, 1709209800},
    {"2024-02-29 12:30:00 Z", EP_CELL_ISO_DATE, 1709209800},
    {"2024-02-29t12:30:00z", EP_CELL_ISO_DATE, 1709209800},
    {"2024-02-29 12:30:00 +0200", EP_CELL_ISO_DATE, 1709202600},
    {"2024-02-29 12:30 -05:30", EP_CELL_ISO_DATE, 1709229600},
    {"2024-02-29 12:30 +24:00", EP_CELL_ISO_DATE, NAN},
    {"2024-02-29 12:30 +0160", EP_CELL_ISO_DATE, NAN},
    {"2024-02-29 12:30 CEST", EP_CELL_ISO_DATE, NAN},
    {"2024-02-29Z", EP_CELL_ISO_DATE, NAN},
    {"2024-02-28T24:00", EP_CELL_ISO_DATE, 1709164800},
    {"2024-02-28 24:00:00.000", EP_CELL_ISO_DATE, 1709164800},
    {"2024-02-28T24:00:01", EP_CELL_ISO_DATE, NAN},
    {"2024-02-28T24:01", EP_CELL_ISO_DATE, NAN},
    {"2024-02-28T25:00", EP_CELL_ISO_DATE, NAN},
    {"20240131", EP_CELL_ISO_DATE, NAN},
    {"2024-01-31T", EP_CELL_ISO_DATE, NAN},
    {"2024-01-31T12:60", EP_CELL_ISO_DATE, NAN},
    {"2024-01-31T12:30:", EP_CELL_ISO_DATE, NAN},
    {"2024-01-31T12:30:00.", EP_CELL_ISO_DATE, NAN},
    {"2024-01-31T12:30:00+2", EP_CELL_ISO_DATE, NAN},
    {"2024-01-31T12:30:00+02:", EP_CELL_ISO_DATE, NAN},
    {"2024-01-31T12:30:00Zx", EP_CELL_ISO_DATE, NAN},
    {"2024-01-31x", EP_CELL_ISO_DATE, NAN},
    {"29/2/2024", EP_CELL_DAY_FIRST, 1709164800},
    {"29.02.2024", EP_CELL_DAY_FIRST, 1709164800},
    {"29-02-2024 12:30", EP_CELL_DAY_FIRST, 1709209800},
    {"2/29/2024", EP_CELL_DAY_FIRST, NAN},
    {"2/29/2024", EP_CELL_MONTH_FIRST, 1709164800},
    {"29/2/2024", EP_CELL_MONTH_FIRST, NAN},
    {"2/29/24", EP_CELL_MONTH_FIRST, 1709164800},
    {"1/8/90 0:00", EP_CELL_MONTH_FIRST, 631756800},
    {"12/31/69", EP_CELL_MONTH_FIRST, -86400},
    {"12/31/68", EP_CELL_MONTH_FIRST, 3124137600},
    {"2-29-24", EP_CELL_MONTH_FIRST, 1709164800},
    {"29.02.24", EP_CELL_DAY_FIRST, 1709164800},
    {"29.02.1924", EP_CELL_DAY_FIRST, -1446595200},
    {"31.12.68", EP_CELL_DAY_FIRST, 3124137600},
    {"31.12.69", EP_CELL_DAY_FIRST, -86400},
    {"30.02.24", EP_CELL_DAY_FIRST, NAN},
    {"29.02.23", EP_CELL_DAY_FIRST, NAN},
    {"29.02-24", EP_CELL_DAY_FIRST, NAN},
    {"29.02.2", EP_CELL_DAY_FIRST, NAN},
    {"29.02.24.", EP_CELL_DAY_FIRST, NAN},
    {"29.02.24 12:30 UTC", EP_CELL_DAY_FIRST, 1709209800},
    {"2/29/24, 12:30 PM", EP_CELL_MONTH_FIRST, 1709209800},
    {"2/29/2024 12:30:00 +01:00", EP_CELL_MONTH_FIRST, 1709206200},
    {"2/29/124", EP_CELL_MONTH_FIRST, NAN},
    {"Feb 29 2024", EP_CELL_MONTH_NAME, 1709164800},
    {"29 february 2024", EP_CELL_MONTH_NAME, 1709164800},
    {"29-FEB-2024 12:30", EP_CELL_MONTH_NAME, 1709209800},
    {"Feb. 29, 2024", EP_CELL_MONTH_NAME, 1709164800},
    {"May 1 2000", EP_CELL_MONTH_NAME, 957139200},
    {"29-Feb-24", EP_CELL_MONTH_NAME, 1709164800},
    {"29.Feb.2024", EP_CELL_MONTH_NAME, 1709164800},
    {"29/feb/24", EP_CELL_MONTH_NAME, 1709164800},
    {"Feb 29, 24", EP_CELL_MONTH_NAME, 1709164800},
    {"FEBRUARY 29 69", EP_CELL_MONTH_NAME, NAN},
    {"29. February 2024", EP_CELL_MONTH_NAME, 1709164800},
    {"29FEB2024", EP_CELL_MONTH_NAME, 1709164800},
    {"29FEB2024:12:30:00", EP_CELL_MONTH_NAME, 1709209800},
    {"2024-Feb-29", EP_CELL_MONTH_NAME, 1709164800},
    {"1 Sept 2024", EP_CELL_MONTH_NAME, 1725148800},
    {"1 Septe 2024", EP_CELL_MONTH_NAME, NAN},
    {"Thu, 29 Feb 2024 12:30:00 +0100", EP_CELL_MONTH_NAME, 1709206200},
    {"Mon, 29 Feb 2024 12:30:00 GMT", EP_CELL_MONTH_NAME, 1709209800}, /* a Thursday */
    {"Thu, 29 Feb 2024 12:30:00 -0500 (EST)", EP_CELL_MONTH_NAME, 1709227800},
    {"29 Feb 2024 12:30:00 EST", EP_CELL_MONTH_NAME, 1709227800},
    {"29 Feb 2024 12:30:00 pdt", EP_CELL_MONTH_NAME, 1709235000},
    {"29 Feb 2024 12:30:00 CET", EP_CELL_MONTH_NAME, NAN},
    {"Thursday, 29-Feb-24 12:30:00 GMT", EP_CELL_MONTH_NAME, 1709209800},
    {"Thursday, February 29, 2024", EP_CELL_MONTH_NAME, 1709164800},
    {"Thx, 29 Feb 2024", EP_CELL_MONTH_NAME, NAN},
    {"Thu29 Feb 2024", EP_CELL_MONTH_NAME, NAN},
    {"Thu, ", EP_CELL_MONTH_NAME, NAN},
    {"Thu Feb 29 12:30:00 2024", EP_CELL_MONTH_NAME, 1709209800},
    {"Thu Feb 29 12:30:00 +0100 2024", EP_CELL_MONTH_NAME, 1709206200},
    {"Fri Mar  1 12:30:00 2024", EP_CELL_MONTH_NAME, 1709296200},
    {"Thu Feb 29 12:30:00", EP_CELL_MONTH_NAME, NAN},
    {"29/Feb/2024:12:30:00 +0000", EP_CELL_MONTH_NAME, 1709209800},
    {"Febr 29 2024", EP_CELL_MONTH_NAME, NAN},
    {"Feb 30 2024", EP_CELL_MONTH_NAME, NAN},
    {"Feb 29", EP_CELL_MONTH_NAME, NAN},
    {"29 2 2024", EP_CELL_MONTH_NAME, NAN},
    {"Feb29 2024", EP_CELL_MONTH_NAME, NAN},
    {"", EP_CELL_MONTH_NAME, NAN},
    {"2/29.2024", EP_CELL_MONTH_FIRST, NAN},
    {"0 days 10:11:12", EP_CELL_DURATION, 36672},
    {"-1 days +23:00:00.5", EP_CELL_DURATION, -3599.5},
    {"1 day, 0:00:01", EP_CELL_DURATION, 86401},
    {"12 days", EP_CELL_DURATION, 1036800},
    {"10:11:12", EP_CELL_DURATION, 36672},
    {"12 dogs", EP_CELL_DURATION, NAN},
    {"days 10:11:12", EP_CELL_DURATION, NAN},
    {"1 days,", EP_CELL_DURATION, NAN},
    {"1 days +", EP_CELL_DURATION, NAN},
    {"1 days 10:11:12 UTC", EP_CELL_DURATION, NAN},
    {"0 days 10:11:12", EP_CELL_TIME, NAN},
    {"12:30", EP_CELL_TIME, 45000},
    {"7:05:09", EP_CELL_TIME, 25509},
    {"23:59:60", EP_CELL_TIME, 86400},
    {"12:5", EP_CELL_TIME, NAN},
    {"24:00", EP_CELL_TIME, 86400},
    {"24:00:00", EP_CELL_TIME, 86400},
    {"24:01", EP_CELL_TIME, NAN},
    {"24:00 PM", EP_CELL_TIME, NAN},
    {"12:00:05,137", EP_CELL_TIME, 43205.137},
    {"12:00:05.1234567", EP_CELL_TIME, 43205.1234567},
    {"12:00:05,", EP_CELL_TIME, NAN},
    {"12:00.5", EP_CELL_TIME, NAN},
    {"1200", EP_CELL_TIME, NAN},
    {"12:00 UTC", EP_CELL_TIME, NAN},
    {"12:00 p.m.", EP_CELL_TIME, 43200},
    {"12:00 p.m", EP_CELL_TIME, NAN},
    {"12:30 PM", EP_CELL_TIME, 45000},
    {"12:00am", EP_CELL_TIME, 0},
    {"1:02:03 pm", EP_CELL_TIME, 46923},
    {"13:00 PM", EP_CELL_TIME, NAN},
    {"0:30 AM", EP_CELL_TIME, NAN},
    {"12:30 XM", EP_CELL_TIME, NAN},
};

/* Any pair of marks, not only those of a kind; what is not read leaves the value alone. */
START_TEST(numbers_have_the_marks_that_were_given) {
  static const struct {
    char decimal, thousands;
    const char *text;
    double value;
  } cases[] = {
      {'.', 0, "1234.5", 1234.5}, {'.', 0, "1,234", NAN}, {',', 0, "1234,5", 1234.5},
      {',', 0, "1.234", NAN},     {',', 0, "1.5", NAN},   {',', 0, "1,234", 1.234},
      {'.', 0, "1 234", NAN},     {',', 0, "", NAN},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double value = -7, none = cases[i].value;
    const char *text = cases[i].text;
    bool read =
        ep_cell_number_read(cases[i].decimal, cases[i].thousands, text, strlen(text), &value);
    ck_assert_msg(read == !isnan(none), "%s", text);
    ck_assert_msg(value == (isnan(none) ? -7 : none), "%s: %.17g", text, value);
  }
}
END_TEST

START_TEST(kinds_have_names) {
  for (int kind = 0; kind < EP_CELL_KINDS; kind++)
    ck_assert_int_eq(ep_cell_kind_from_name(ep_cell_kind_name((ep_cell_kind)kind)), kind);
  ck_assert_int_eq(ep_cell_kind_from_name("roman"), -1);
}
END_TEST

START_TEST(cells_are_read) {
  double value = -7, none = cells[_i].value;
  const char *text = cells[_i].text;
  bool read = ep_cell_read(cells[_i].kind, text, strlen(text), &value);
  ck_assert_msg(read == !isnan(none), "%s", text);
  ck_assert_msg(value == (isnan(none) ? -7 : none), "%s: %.17g", text, value);
}
END_TEST

static const struct {
  const char *text, *unit;
  ep_cell_kind kind;
  double value; /* NAN: it is none */
} numbers[] = {
    {"$10", "$", EP_CELL_NUMBER, 10},
    {"$ 10", "$", EP_CELL_NUMBER, 10},
    {"-$10", "$", EP_CELL_NUMBER, -10},
    {"$-10", "$", EP_CELL_NUMBER, -10},
    {"$ -10", "$", EP_CELL_NUMBER, -10},
    {"+10$", "$", EP_CELL_NUMBER, 10},
    {"$.5", "$", EP_CELL_NUMBER, 0.5},
    {MINUS "$10", "$", EP_CELL_NUMBER, -10},
    {"$ " MINUS "10", "$", EP_CELL_NUMBER, -10},
    {MINUS "$-10", "$", EP_CELL_NUMBER, NAN},
    {"$1,234.50", "$", EP_CELL_GROUPED, 1234.5},
    {"1.234,50\xC2\xA0€", "€", EP_CELL_DECIMAL_COMMA, 1234.5},
    {"1\xE2\x80\xAF"
     "234,5 €",
     "€", EP_CELL_SPACED_COMMA, 1234.5},
    {"£7", "£", EP_CELL_NUMBER, 7},
    {"7 ₹", "₹", EP_CELL_NUMBER, 7},
    {"12.5%", "%", EP_CELL_NUMBER, 12.5},
    {"-3 %", "%", EP_CELL_NUMBER, -3},
    {"%3", "%", EP_CELL_NUMBER, 3},
    {"10", "$", EP_CELL_NUMBER, 10},
    {"10", "", EP_CELL_NUMBER, 10},
    {"€10", "$", EP_CELL_NUMBER, NAN},
    {"$10", "", EP_CELL_NUMBER, NAN},
    {"$", "$", EP_CELL_NUMBER, NAN},
    {"$ ", "$", EP_CELL_NUMBER, NAN},
    {"-$", "$", EP_CELL_NUMBER, NAN},
    {"$$10", "$", EP_CELL_NUMBER, NAN},
    {"$10$", "$", EP_CELL_NUMBER, NAN},
    {"$10%", "$", EP_CELL_NUMBER, NAN},
    {"-$-10", "$", EP_CELL_NUMBER, NAN},
    {"$inf", "$", EP_CELL_NUMBER, NAN},
    {"$nan", "$", EP_CELL_NUMBER, NAN},
    {"$10-$20", "$", EP_CELL_NUMBER, NAN},
    {"$10k", "$", EP_CELL_NUMBER, NAN},
    {"($10)", "$", EP_CELL_NUMBER, NAN},
    {"10 EUR", "EUR", EP_CELL_NUMBER, NAN},
    {"\xE2\x82", "\xE2\x82", EP_CELL_NUMBER, NAN},
};

START_TEST(numbers_with_a_sign_are_read) {
  double value = -7, none = numbers[_i].value;
  const char *text = numbers[_i].text;
  bool read = ep_unit_number_read(ep_cell_kind_marks(numbers[_i].kind), numbers[_i].unit, text,
                                  strlen(text), &value);
  ck_assert_msg(read == !isnan(none), "%s", text);
  ck_assert_msg(value == (isnan(none) ? -7 : none), "%s: %.17g", text, value);
}
END_TEST

START_TEST(numbers_with_a_sign_have_a_length) {
  char text[80] = "$";
  double value;
  memset(text + 1, '1', 65);
  ck_assert(ep_unit_number_read(ep_cell_kind_marks(EP_CELL_NUMBER), "$", text, 65, &value));
  ck_assert(!ep_unit_number_read(ep_cell_kind_marks(EP_CELL_NUMBER), "$", text, 66, &value));
  ck_assert(ep_unit_is_one("€") && ep_unit_is_one("%"));
  ck_assert(!ep_unit_is_one("") && !ep_unit_is_one("$$") && !ep_unit_is_one("kg"));
}
END_TEST

/* A number is written as the first one with a sign was; a stored sign alone stands where it is
 * usual. */
START_TEST(a_sign_has_its_place) {
  static const struct {
    const char *text, *form, *unit;
  } cases[] = {{"100 €", "0 €", "€"},
               {"-1,234.50€", "0€", "€"},
               {"€100", "€0", "€"},
               {"-$ 5", "$ 0", "$"},
               {"$-5", "$0", "$"},
               {"12.5 %", "0 %", "%"},
               {"7\u00A0€", "0\u00A0€", "€"},
               {"7", "", ""},
               {"€", "", ""}};
  char form[EP_UNIT_FORM_BYTES], unit[EP_UNIT_BYTES], again[EP_UNIT_FORM_BYTES];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ep_unit_form_find(cases[i].text, strlen(cases[i].text), form);
    ck_assert_str_eq(form, cases[i].form);
    if (!form[0]) continue;
    ck_assert(ep_unit_form_parse(form, again, unit));
    ck_assert_str_eq(again, form);
    ck_assert_str_eq(unit, cases[i].unit);
  }
  ck_assert(ep_unit_form_parse("€", form, unit) && strcmp(form, "€0") == 0);
  ck_assert(ep_unit_form_parse("%", form, unit) && strcmp(form, "0%") == 0);
  ck_assert(!ep_unit_form_parse("", form, unit) && !ep_unit_form_parse("1 €", form, unit) &&
            !ep_unit_form_parse("0 kg", form, unit) &&
            !ep_unit_form_parse("0        €", form, unit));
}
END_TEST

/* Against the C library, over four centuries and more. */
START_TEST(days_are_those_of_the_calendar) {
  for (time_t day = -200000; day < 200000; day += 17) {
    char text[32];
    double value;
    struct tm tm;
    time_t seconds = day * 86400;
    gmtime_r(&seconds, &tm);
    int bytes =
        snprintf(text, sizeof text, "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
    ck_assert_msg(ep_date_read(EP_DATE_ISO, text, (size_t)bytes, &value), "%s", text);
    ck_assert_double_eq(value, (double)seconds);
  }
}
END_TEST

/* The nearest double to each microsecond, whatever the date. */
START_TEST(fractions_are_exact) {
  static const int years[] = {1700, 1969, 1970, 2024, 2250};
  for (size_t i = 0; i < sizeof years / sizeof *years; i++)
    for (int micros = 0; micros < 1000000; micros += 997) {
      char text[40], wanted[40];
      double value;
      struct tm tm = {.tm_year = years[i] - 1900, .tm_mday = 1, .tm_sec = 5};
      long long seconds = (long long)timegm(&tm);
      int bytes = snprintf(text, sizeof text, "%04d-01-01 00:00:05,%06d", years[i], micros);
      if (seconds < 0 && micros > 0) /* as the C library reads the sum */
        snprintf(wanted, sizeof wanted, "-%lld.%06d", -seconds - 1, 1000000 - micros);
      else
        snprintf(wanted, sizeof wanted, "%lld.%06d", seconds, micros);
      ck_assert_msg(ep_date_read(EP_DATE_ISO, text, (size_t)bytes, &value), "%s", text);
      ck_assert_msg(value == strtod(wanted, NULL), "%s: %.17g", text, value);
    }
}
END_TEST

START_TEST(dates_go_on) {
  static const struct {
    const char *before, *last, *next, *tenth;
  } cases[] = {{"2024-02-27", "2024-02-28", "2024-02-29", "2024-03-09"},
               {"2024-01-31 22:00", "2024-01-31 23:00", "2024-02-01", "2024-02-01T09:00:00"},
               {"2023-11-15", "2023-12-15", "2024-01-15", "2024-10-15"},
               {"2023-10-01", "2024-01-01", "2024-04-01", "2026-07-01"},
               {"2022-02-28", "2023-02-28", "2024-02-28", "2033-02-28"},
               {"2024-02-01", "2024-02-15", "2024-02-29", "2024-07-04"}};
  char text[EP_DATE_TEXT_BYTES];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double before, last;
    ck_assert(ep_date_read(EP_DATE_ISO, cases[i].before, strlen(cases[i].before), &before));
    ck_assert(ep_date_read(EP_DATE_ISO, cases[i].last, strlen(cases[i].last), &last));
    ck_assert(ep_date_format(false, ep_date_after(before, last, 1), text));
    ck_assert_str_eq(text, cases[i].next);
    ck_assert(ep_date_format(false, ep_date_after(before, last, 10), text));
    ck_assert_str_eq(text, cases[i].tenth);
    ck_assert(isnan(ep_date_after(last, before, 1)));
    ck_assert(isnan(ep_date_after(last, last, 1)));
  }
  const double end_of_march = 1711843200, end_of_april = 1714435200;
  ck_assert(isnan(ep_date_after(end_of_march, end_of_april, 1)));
  const double end_of_july = 1722384000, end_of_august = 1725062400; /* the same day: the 31st */
  ck_assert(isnan(ep_date_after(end_of_july, end_of_august, 1)));
}
END_TEST

EP_SUITE("cells") {
  TCase *all = ep_suite_case(suite, "all");
  tcase_add_test(all, dates_go_on);
  tcase_add_test(all, missing_words_are_known);
  tcase_add_test(all, kinds_have_names);
  tcase_add_test(all, numbers_have_the_marks_that_were_given);
  tcase_add_loop_test(all, cells_are_read, 0, sizeof cells / sizeof *cells);
  tcase_add_loop_test(all, numbers_with_a_sign_are_read, 0, sizeof numbers / sizeof *numbers);
  tcase_add_test(all, numbers_with_a_sign_have_a_length);
  tcase_add_test(all, a_sign_has_its_place);
  tcase_add_test(all, days_are_those_of_the_calendar);
  tcase_add_test(all, fractions_are_exact);
}
