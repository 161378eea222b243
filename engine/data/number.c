#include "engine/data/number.h"

#include <float.h>
#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"

/* A number as it was read: mantissa * 10^exponent, exact unless digits other than 0 were dropped.
 */
typedef struct {
  uint64_t mantissa; /* at most 19 digits */
  int64_t exponent;
  bool dropped;
} decimal;

static inline bool is_digit(char c) {
  return (unsigned char)(c - '0') < 10;
}

static inline void digit_add(decimal *number, char digit, bool fraction) {
  if (number->mantissa < UINT64_C(1000000000000000000)) {
    number->mantissa = number->mantissa * 10 + (uint64_t)(digit - '0');
    number->exponent -= fraction;
  } else {
    number->dropped |= digit != '0';
    number->exponent += !fraction;
  }
}

/* Digits, point, digits. Returns the byte after them, NULL when the grammar has no such number. */
static inline const char *digits_scan(const char *at, const char *end, ep_number_grammar grammar,
                                      decimal *number) {
  const char *start = at;
  for (; at < end && is_digit(*at); at++) digit_add(number, *at, false);
  int64_t whole = at - start, fraction = 0;
  if (grammar == EP_NUMBER_JSON && (whole == 0 || (whole > 1 && *start == '0'))) return NULL;
  if (at < end && *at == '.') {
    const char *first = ++at;
    for (; at < end && is_digit(*at); at++) digit_add(number, *at, true);
    fraction = at - first;
    if (grammar == EP_NUMBER_JSON && fraction == 0) return NULL;
  }
  return whole + fraction > 0 ? at : NULL;
}

/* "e", sign, digits; what is not all of that is left unread. */
static inline const char *exponent_scan(const char *at, const char *end, decimal *number) {
  if (at == end || (*at != 'e' && *at != 'E')) return at;
  const char *start = at++;
  bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) at++;
  if (at == end || !is_digit(*at)) return start;
  int64_t exponent = 0;
  for (; at < end && is_digit(*at); at++)
    if (exponent < 1000000000) exponent = exponent * 10 + (*at - '0');
  number->exponent += negative ? -exponent : exponent;
  return at;
}

/* W. D. Clinger, "How to Read Floating Point Numbers Accurately", PLDI 1990: when mantissa and
 * power of ten are both exact, one multiplication or division rounds once, and so rightly. */
static inline bool decimal_to_double(const decimal *number, double *value) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  int64_t exponent = number->exponent;
  if (number->dropped) return false;
  if (number->mantissa <= UINT64_C(1) << 53 && exponent >= -22 && exponent <= 22) {
    double mantissa = (double)number->mantissa;
    *value = exponent < 0 ? mantissa / powers[-exponent] : mantissa * powers[exponent];
    return true;
  }
#if LDBL_MANT_DIG == 64
  /* The same with 64 bits: all 19 digits and powers to 10^27 are exact. The second rounding, to 53
   * bits, is right unless the 11 bits that fall away lie next to the middle. */
  static const long double wide_powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                            1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                            1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                            1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
  if (number->mantissa != 0 && exponent >= -27 && exponent <= 27) {
    long double mantissa = (long double)number->mantissa;
    long double wide =
        exponent < 0 ? mantissa / wide_powers[-exponent] : mantissa * wide_powers[exponent];
    uint64_t significand;
    memcpy(&significand, &wide, sizeof significand);
    uint64_t tail = significand & 0x7FF;
    if (tail < 0x3FE || tail > 0x402) {
      *value = (double)wide;
      return true;
    }
  }
#endif
  return false;
}

/* The rare rest goes to the C library, in the C locale whatever the process has. */
static __attribute__((noinline)) const char *slow_scan(const char *at, const char *end,
                                                       double *value) {
  char text[EP_LIMIT_CSV_FIELD_BYTES + 1];
  if (end - at > EP_LIMIT_CSV_FIELD_BYTES) return NULL;
  memcpy(text, at, (size_t)(end - at));
  text[end - at] = 0;
  locale_t locale = newlocale(LC_ALL_MASK, "C", NULL);
  if (!locale) return NULL;
  *value = strtod_l(text, NULL, locale);
  freelocale(locale);
  return end;
}

const char *ep_number_scan(const char *at, const char *end, ep_number_grammar grammar,
                           double *value) {
  const char *start = at;
  decimal number = {0};
  bool negative = at < end && *at == '-';
  if (negative || (at < end && *at == '+' && grammar == EP_NUMBER_CSV)) at++;
  at = digits_scan(at, end, grammar, &number);
  if (!at) return NULL;
  at = exponent_scan(at, end, &number);
  if (!decimal_to_double(&number, value)) return slow_scan(start, at, value);
  if (negative) *value = -*value;
  return at;
}
