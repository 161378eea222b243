#include "api/json/number_scan.h"

#include <endian.h>
#include <float.h>
#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"

/* A number as it was read: mantissa * 10^exponent. */
typedef struct {
  uint64_t mantissa;
  int64_t exponent;
  int64_t digits; /* of the mantissa, which wraps around beyond 19 */
} decimal;

static inline bool is_digit(char c) {
  return (unsigned char)(c - '0') < 10;
}

/* Up to 8 digits at once, without a branch on how many there are: their count, 0 to 8, and their
 * value. Reads 8 bytes. The subtraction of '0' and the carries of the addition mark the first byte
 * that is no digit; the digits move up behind zeros; three multiplications add them by pairs. */
static inline unsigned digits8_read(const char *at, uint64_t *value) {
  uint64_t bytes;
  memcpy(&bytes, at, sizeof bytes);
  bytes = le64toh(bytes) ^ UINT64_C(0x3030303030303030);
  uint64_t others = ((bytes + UINT64_C(0x7676767676767676)) | bytes) & UINT64_C(0x8080808080808080);
  unsigned count = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
  bytes = bytes << 4 * (8 - count) << 4 * (8 - count); /* 64 bits at once would be undefined */
  bytes = bytes * (1 + 10 * 256) >> 8 & UINT64_C(0x00FF00FF00FF00FF);
  bytes = bytes * (1 + 100 * 65536) >> 16 & UINT64_C(0x0000FFFF0000FFFF);
  *value = bytes * (1 + 10000 * (UINT64_C(1) << 32)) >> 32;
  return count;
}

/* All digits at `at`, appended to the mantissa, which wraps around when there are too many. */
static inline const char *digits_take(const char *at, const char *end, uint64_t *mantissa) {
  static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  unsigned count = 8;
  while (count == 8 && end - at >= 8) {
    uint64_t value;
    count = digits8_read(at, &value);
    *mantissa = *mantissa * powers[count] + value;
    at += count;
  }
  if (count == 8)
    for (; at < end && is_digit(*at); at++) *mantissa = *mantissa * 10 + (uint64_t)(*at - '0');
  return at;
}

static inline char mark_of(ep_number_grammar grammar) {
  return grammar == EP_NUMBER_CSV_COMMA ? ',' : '.';
}

/* Digits, mark, digits. Returns the byte after them, NULL when the grammar has no such number. */
static inline const char *digits_scan(const char *at, const char *end, ep_number_grammar grammar,
                                      decimal *number) {
  const char *start = at;
  uint64_t mantissa = 0;
  at = digits_take(at, end, &mantissa);
  int64_t whole = at - start, fraction = 0;
  if (grammar == EP_NUMBER_JSON && (whole == 0 || (whole > 1 && *start == '0'))) return NULL;
  if (at < end && *at == mark_of(grammar)) {
    const char *first = ++at;
    at = digits_take(at, end, &mantissa);
    fraction = at - first;
    if (grammar == EP_NUMBER_JSON && fraction == 0) return NULL;
  }
  if (whole + fraction == 0) return NULL;
  *number = (decimal){mantissa, -fraction, whole + fraction};
  return at;
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
static inline bool exact_to_double(const decimal *number, double *value) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  int64_t exponent = number->exponent;
  if (number->mantissa > UINT64_C(1) << 53 || exponent < -22 || exponent > 22) return false;
  double mantissa = (double)number->mantissa;
  *value = exponent < 0 ? mantissa / powers[-exponent] : mantissa * powers[exponent];
  return true;
}

/* The same with 64 bits: all 19 digits and powers to 10^27 are exact. The second rounding, to 53
 * bits, is right unless the 11 bits that fall away lie next to the middle. */
static __attribute__((noinline)) bool wide_to_double(uint64_t mantissa, int64_t exponent,
                                                     double *value) {
#if LDBL_MANT_DIG == 64
  static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                       1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                       1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                       1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
  if (mantissa == 0 || exponent < -27 || exponent > 27) return false;
  long double wide = (long double)mantissa;
  wide = exponent < 0 ? wide / powers[-exponent] : wide * powers[exponent];
  uint64_t significand;
  memcpy(&significand, &wide, sizeof significand);
  uint64_t tail = significand & 0x7FF;
  *value = (double)wide;
  return tail < 0x3FE || tail > 0x402;
#else
  (void)mantissa, (void)exponent, (void)value;
  return false;
#endif
}

/* The rare rest goes to the C library, in the C locale whatever the process has. */
static __attribute__((noinline)) const char *slow_scan(const char *at, const char *end,
                                                       ep_number_grammar grammar, double *value) {
  char text[EP_LIMIT_CSV_FIELD_BYTES + 1];
  memcpy(text, at, (size_t)(end - at));
  text[end - at] = 0;
  char *mark = strchr(text, mark_of(grammar));
  if (mark) *mark = '.';
  locale_t locale = newlocale(LC_ALL_MASK, "C", NULL);
  if (!locale) return NULL;
  *value = strtod_l(text, NULL, locale);
  freelocale(locale);
  return end;
}

/* A number of more digits than a mantissa surely holds, once more: leading zeros are free, and
 * zeros beyond the 19th digit go to the exponent. */
static __attribute__((noinline)) const char *long_scan(const char *start, const char *end,
                                                       int64_t exponent, ep_number_grammar grammar,
                                                       double *value) {
  decimal number = {.exponent = exponent};
  for (const char *at = start; at < end && *at != 'e' && *at != 'E'; at++) {
    if (!is_digit(*at)) continue;
    if (number.mantissa < UINT64_C(1000000000000000000))
      number.mantissa = number.mantissa * 10 + (uint64_t)(*at - '0');
    else if (*at == '0')
      number.exponent++;
    else
      return slow_scan(start, end, grammar, value);
  }
  if (!exact_to_double(&number, value) && !wide_to_double(number.mantissa, number.exponent, value))
    return slow_scan(start, end, grammar, value);
  if (*start == '-') *value = -*value;
  return end;
}

/* As ep_number_scan. */
static inline __attribute__((always_inline)) const char *
scan(const char *at, const char *end, ep_number_grammar grammar, double *value) {
  const char *start = at;
  decimal number;
  bool negative = at < end && *at == '-';
  if (negative || (at < end && *at == '+' && grammar != EP_NUMBER_JSON)) at++;
  at = digits_scan(at, end, grammar, &number);
  if (!at) return NULL;
  at = exponent_scan(at, end, &number);
  if (at - start > EP_LIMIT_CSV_FIELD_BYTES) return NULL;
  if (number.digits > 19) return long_scan(start, at, number.exponent, grammar, value);
  if (!exact_to_double(&number, value) && !wide_to_double(number.mantissa, number.exponent, value))
    return slow_scan(start, at, grammar, value);
  if (negative) *value = -*value;
  return at;
}

const char *ep_number_scan(const char *at, const char *end, ep_number_grammar grammar,
                           double *value) {
  if (grammar == EP_NUMBER_CSV) return scan(at, end, EP_NUMBER_CSV, value);
  if (grammar == EP_NUMBER_JSON) return scan(at, end, EP_NUMBER_JSON, value);
  return scan(at, end, EP_NUMBER_CSV_COMMA, value);
}
