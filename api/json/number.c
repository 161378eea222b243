/* number.c: the numbers that lines of events hold are written without printf and strtod, as the
 * same text. */
#include "api/json/number.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 128 bits hold the products below exactly. */
__extension__ typedef unsigned __int128 wide;

enum { MAGNITUDE_BYTES = EP_NUMBER_BYTES - 1 }; /* of a text without its sign */
enum { DIGITS_MOST = 17 };                      /* of a double: so many read back always */
static const uint64_t DIGITS_ALL = UINT64_C(100000000000000000); /* one more than they can say */

/* Writes the digits of a number, most significant first; returns their count. */
static size_t digits_write(uint64_t value, char *text) {
  char reversed[20];
  size_t count = 0, used = 0;
  do reversed[count++] = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  while (count > 0) text[used++] = reversed[--count];
  return used;
}

size_t ep_integer_format(int64_t value, char text[EP_NUMBER_BYTES]) {
  size_t used = 0;
  if (value < 0) text[used++] = '-';
  used += digits_write(value < 0 ? -(uint64_t)value : (uint64_t)value, text + used);
  text[used] = 0;
  return used;
}

/* n nanos, below 1e-4: as 2.13e-07. */
static size_t nanos_format(uint64_t nanos, char text[MAGNITUDE_BYTES]) {
  char digits[24];
  size_t count = digits_write(nanos, digits), used = 0;
  int exponent = 10 - (int)count;
  while (digits[count - 1] == '0') count--;
  text[used++] = digits[0];
  if (count > 1) text[used++] = '.';
  memcpy(text + used, digits + 1, count - 1);
  used += count - 1;
  memcpy(text + used, "e-0", 3);
  text[used + 3] = (char)('0' + exponent);
  text[used + 4] = 0;
  return used + 4;
}

/* A number with at most 9 decimals and 15 digits, as times and rates are. 0 when it is none. */
static size_t decimal_format(double value, char text[MAGNITUDE_BYTES]) {
  const double unit = 1e9;
  if (!(value >= 1e-9 && value < 1e6)) return 0;
  uint64_t scaled = (uint64_t)(value * unit + 0.5);
  if ((double)scaled / unit != value) return 0; /* exact: both are, and division rounds once */
  if (value < 1e-4) return nanos_format(scaled, text);
  uint64_t rest = scaled % 1000000000;
  size_t used = digits_write(scaled / 1000000000, text);
  if (rest > 0) {
    text[used] = '.';
    for (int place = 9; place > 0; place--, rest /= 10)
      text[used + (size_t)place] = (char)('0' + rest % 10);
    used += 9;
    while (text[used] == '0') used--;
    used++;
  }
  text[used] = 0;
  return used;
}

/* A double as scaled / 2^shift units of the last of its 17 digits. */
typedef struct {
  wide scaled, spacing; /* spacing: to the next double, in the same scale */
  int shift;
  bool even; /* the mantissa is: half the spacing away still reads back */
} fraction;

/* The fraction in units of `unit` (a power of ten), rounded, halves to even. *reads_back: does that
 * text read back as the double? */
static uint64_t fraction_round(const fraction *f, uint64_t unit, bool *reads_back) {
  uint64_t digits = (uint64_t)(f->scaled >> f->shift) / unit;
  wide whole = (wide)unit << f->shift, rest = f->scaled - digits * whole;
  bool up = rest * 2 > whole || (rest * 2 == whole && digits % 2 == 1);
  wide away = up ? whole - rest : rest;
  *reads_back = away * 2 < f->spacing || (away * 2 == f->spacing && f->even);
  return digits + up;
}

/* `count` digits, of which `whole` (which may be negative) stand before the point. */
static size_t digits_place(uint64_t digits, int count, int whole, char text[MAGNITUDE_BYTES]) {
  char all[24];
  size_t used = 0;
  while (count > 1 && count > whole && digits % 10 == 0) digits /= 10, count--;
  digits_write(digits, all);
  if (whole <= 0) {
    text[used++] = '0';
    text[used++] = '.';
    for (int i = whole; i < 0; i++) text[used++] = '0';
  }
  for (int i = 0; i < count; i++) {
    if (i == whole && i > 0) text[used++] = '.';
    text[used++] = all[i];
  }
  text[used] = 0;
  return used;
}

/* The first 17 digits of a value, of which *whole (which may be negative) stand before the point;
 * false where that is not the way: not positive, or out of its range. */
static bool fraction_make(double value, fraction *out, int *whole) {
  enum { BITS = DBL_MANT_DIG, WHOLE_LEAST = -3 };
  if (!(value >= 1e-4 && value < 1e15)) return false;
  int exponent;
  uint64_t mantissa = (uint64_t)ldexp(frexp(value, &exponent), BITS);
  *whole = WHOLE_LEAST;
  for (double bound = 1e-3; value >= bound; bound *= 10) ++*whole;
  uint64_t first = 1; /* 10^20 at most, times 2^53: in two factors, which 64 bits hold */
  int tens = DIGITS_MOST - *whole, more = tens > 18 ? tens - 18 : 0;
  for (int i = more; i < tens; i++) first *= 10;
  wide power = (wide)first * (more == 2 ? 100 : more == 1 ? 10 : 1);
  *out = (fraction){mantissa * power, power, BITS - exponent, mantissa % 2 == 0};
  uint64_t digits = (uint64_t)(out->scaled >> out->shift);
  return digits >= DIGITS_ALL / 10 && digits < DIGITS_ALL; /* else `bound` was not exact */
}

/* Of 15 to 17 digits the fewest that read back, by exact integers; 0 where that is not the way: out
 * of range, or a power of two, whose neighbours lie unequally far. */
static size_t fraction_format(double value, char text[MAGNITUDE_BYTES]) {
  static const uint64_t unit[] = {1, 10, 100};
  int whole, fewer = 0, exponent;
  fraction f;
  if (!fraction_make(value, &f, &whole) || frexp(value, &exponent) == 0.5) return 0;
  bool reads_back;
  uint64_t digits = fraction_round(&f, 1, &reads_back);
  if (digits >= DIGITS_ALL) return 0;
  for (int i = 1; i < 3; i++) {
    uint64_t shorter = fraction_round(&f, unit[i], &reads_back);
    if (!reads_back || shorter >= DIGITS_ALL / unit[i]) break;
    digits = shorter;
    fewer = i;
  }
  return digits_place(digits, DIGITS_MOST - fewer, whole, text);
}

/* EP_ROUNDED_DIGITS digits; 0 where fractions are not the way, or an exponent is. */
static size_t fraction_rounded(double value, char text[MAGNITUDE_BYTES]) {
  const uint64_t unit = 1000000000; /* of the 17 digits, what 8 leave */
  int whole;
  fraction f;
  bool reads_back;
  if (!fraction_make(value, &f, &whole)) return 0;
  uint64_t digits = fraction_round(&f, unit, &reads_back);
  if (digits == DIGITS_ALL / unit) digits /= 10, whole++; /* 9.99… became 10 */
  if (whole > EP_ROUNDED_DIGITS) return 0;
  return digits_place(digits, EP_ROUNDED_DIGITS, whole, text);
}

size_t ep_rounded_format(double value, char text[EP_NUMBER_BYTES]) {
  bool negative = value < 0;
  if (value == 0 && !signbit(value)) return ep_integer_format(0, text);
  size_t written = fraction_rounded(fabs(value), text + negative);
  if (written == 0)
    return (size_t)snprintf(text, EP_NUMBER_BYTES, "%.*g", EP_ROUNDED_DIGITS, value);
  if (negative) text[0] = '-';
  return written + negative;
}

/* The first count of digits from `digits` on that reads back. */
static size_t digits_search(double value, int digits, char text[MAGNITUDE_BYTES]) {
  int count = 0;
  do count = snprintf(text, MAGNITUDE_BYTES, "%.*g", digits, value);
  while (strtod(text, NULL) != value && ++digits <= 17);
  return (size_t)count;
}

/* value: over 0. */
static size_t magnitude_format(double value, char text[MAGNITUDE_BYTES]) {
  size_t written = decimal_format(value, text);
  if (written == 0) written = fraction_format(value, text);
  if (written > 0) return written;
  /* 17 digits read back always, 16 half the time, 15 for most decimal numbers. */
  if (value < DBL_MIN) return digits_search(value, 1, text); /* subnormals hold fewer */
  char shorter[MAGNITUDE_BYTES];
  int count = snprintf(text, MAGNITUDE_BYTES, "%.16g", value);
  if (strtod(text, NULL) != value) return (size_t)snprintf(text, MAGNITUDE_BYTES, "%.17g", value);
  int fewer = snprintf(shorter, sizeof shorter, "%.15g", value);
  if (strtod(shorter, NULL) != value) return (size_t)count;
  memcpy(text, shorter, sizeof shorter);
  return (size_t)fewer;
}

size_t ep_number_format(double value, char text[EP_NUMBER_BYTES]) {
  assert(isfinite(value));
  if (value == 0 && signbit(value)) return (size_t)snprintf(text, EP_NUMBER_BYTES, "-0.0");
  if (fabs(value) < 1e15 && value == (double)(int64_t)value)
    return ep_integer_format((int64_t)value, text);
  if (value > 0) return magnitude_format(value, text);
  text[0] = '-';
  return 1 + magnitude_format(-value, text + 1);
}

size_t ep_grouped_format(int64_t value, char text[EP_NUMBER_BYTES]) {
  char digits[EP_NUMBER_BYTES];
  size_t count = ep_integer_format(value, digits), used = 0;
  for (size_t i = 0; i < count; i++) {
    text[used++] = digits[i];
    size_t left = count - 1 - i;
    if (left > 0 && left % 3 == 0 && digits[i] != '-') text[used++] = ',';
  }
  text[used] = 0;
  return used;
}

size_t ep_plain_format(double value, char text[EP_PLAIN_BYTES]) {
  int decimals = 0;
  if (value != 0 && isfinite(value))
    decimals = EP_ROUNDED_DIGITS - 1 - (int)floor(log10(fabs(value)));
  if (decimals < 0) decimals = 0;
  int written = snprintf(text, EP_PLAIN_BYTES, "%.*f", decimals, value == 0 ? 0.0 : value);
  size_t bytes = written < EP_PLAIN_BYTES ? (size_t)written : EP_PLAIN_BYTES - 1;
  if (decimals > 0) {
    while (text[bytes - 1] == '0') bytes--;
    if (text[bytes - 1] == '.') bytes--;
  }
  text[bytes] = 0;
  return bytes;
}
