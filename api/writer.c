#include "api/writer.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void ep_writer_init(ep_writer *writer, size_t limit) {
  *writer = (ep_writer){.limit = limit, .growing = true};
}

void ep_writer_init_fixed(ep_writer *writer, char *buffer, size_t capacity) {
  *writer = (ep_writer){.text = buffer, .capacity = capacity, .limit = capacity};
}

void ep_writer_deinit(ep_writer *writer) {
  if (writer->growing) free(writer->text);
  *writer = (ep_writer){.failed = true};
}

char *ep_writer_take(ep_writer *writer) {
  assert(writer->growing);
  ep_writer_bytes(writer, "", 1);
  if (writer->failed) {
    ep_writer_deinit(writer);
    return NULL;
  }
  char *text = writer->text;
  *writer = (ep_writer){.failed = true};
  return text;
}

/* Makes room for `more` bytes; false, and failed for ever, when there is none. */
static bool writer_reserve(ep_writer *writer, size_t more) {
  if (writer->failed) return false;
  if (more <= writer->capacity - writer->count) return true;
  if (writer->growing && more <= writer->limit - writer->count) {
    size_t wanted = writer->count + more;
    size_t capacity = writer->capacity ? writer->capacity : 256;
    while (capacity < wanted) capacity *= 2;
    if (capacity > writer->limit) capacity = writer->limit;
    char *text = realloc(writer->text, capacity);
    if (text) {
      writer->text = text;
      writer->capacity = capacity;
      return true;
    }
  }
  writer->failed = true;
  return false;
}

void ep_writer_bytes(ep_writer *writer, const char *bytes, size_t count) {
  if (!writer_reserve(writer, count)) return;
  memcpy(writer->text + writer->count, bytes, count);
  writer->count += count;
}

/* A comma, unless this is the first of its kind: what stands before tells. */
static void writer_separate(ep_writer *writer) {
  if (writer->failed || writer->count == 0) return;
  char last = writer->text[writer->count - 1];
  if (last != '{' && last != '[' && last != ':') ep_writer_bytes(writer, ",", 1);
}

void ep_writer_open(ep_writer *writer, char bracket) {
  writer_separate(writer);
  ep_writer_bytes(writer, &bracket, 1);
}

void ep_writer_close(ep_writer *writer, char bracket) {
  ep_writer_bytes(writer, &bracket, 1);
}

void ep_writer_key(ep_writer *writer, const char *key) {
  writer_separate(writer);
  ep_writer_bytes(writer, "\"", 1);
  ep_writer_bytes(writer, key, strlen(key));
  ep_writer_bytes(writer, "\":", 2);
}

/* Bytes of the UTF-8 character at `text` (ends in 0), or 0 when there is none (RFC 3629). */
static size_t utf8_bytes(const unsigned char *text) {
  unsigned char first = text[0], second_min = 0x80, second_max = 0xBF;
  size_t count;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF)
    count = 2;
  else if (first >= 0xE0 && first <= 0xEF)
    count = 3;
  else if (first >= 0xF0 && first <= 0xF4)
    count = 4;
  else
    return 0;
  if (first == 0xE0) second_min = 0xA0; /* overlong */
  if (first == 0xED) second_max = 0x9F; /* surrogates */
  if (first == 0xF0) second_min = 0x90; /* overlong */
  if (first == 0xF4) second_max = 0x8F; /* beyond U+10FFFF */
  if (text[1] < second_min || text[1] > second_max) return 0;
  for (size_t i = 2; i < count; i++)
    if (text[i] < 0x80 || text[i] > 0xBF) return 0;
  return count;
}

static void writer_escape(ep_writer *writer, unsigned char byte) {
  char text[8];
  switch (byte) {
  case '"': ep_writer_bytes(writer, "\\\"", 2); return;
  case '\\': ep_writer_bytes(writer, "\\\\", 2); return;
  case '\n': ep_writer_bytes(writer, "\\n", 2); return;
  case '\t': ep_writer_bytes(writer, "\\t", 2); return;
  default: snprintf(text, sizeof text, "\\u%04x", byte); ep_writer_bytes(writer, text, 6);
  }
}

void ep_writer_string(ep_writer *writer, const char *value) {
  if (!value) {
    ep_writer_null(writer);
    return;
  }
  writer_separate(writer);
  ep_writer_bytes(writer, "\"", 1);
  const unsigned char *at = (const unsigned char *)value;
  while (*at) {
    size_t count = utf8_bytes(at);
    if (count == 0)
      ep_writer_bytes(writer, "\xEF\xBF\xBD", 3);
    else if (*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7F)
      writer_escape(writer, *at);
    else
      ep_writer_bytes(writer, (const char *)at, count);
    at += count ? count : 1;
  }
  ep_writer_bytes(writer, "\"", 1);
}

void ep_writer_integer(ep_writer *writer, int64_t value) {
  char text[EP_NUMBER_BYTES];
  int count = snprintf(text, sizeof text, "%" PRId64, value);
  writer_separate(writer);
  ep_writer_bytes(writer, text, (size_t)count);
}

void ep_writer_unsigned(ep_writer *writer, uint64_t value) {
  char text[EP_NUMBER_BYTES];
  int count = snprintf(text, sizeof text, "%" PRIu64, value);
  writer_separate(writer);
  ep_writer_bytes(writer, text, (size_t)count);
}

/* A number with at most 9 decimals and 15 digits, as times and rates are: 6 times as fast as the
 * search below, with the same text. 0 when it is none. */
static size_t decimal_format(double value, char text[EP_NUMBER_BYTES]) {
  const double unit = 1e9;
  if (!(value >= 1e-4 && value < 1e6)) return 0;
  int64_t scaled = (int64_t)(value * unit + 0.5);
  if ((double)scaled / unit != value) return 0; /* exact: both are, and division rounds once */
  int64_t whole = scaled / 1000000000, rest = scaled % 1000000000;
  char digits[16];
  int count = 0;
  do digits[count++] = (char)('0' + whole % 10);
  while ((whole /= 10) > 0);
  size_t used = 0;
  while (count > 0) text[used++] = digits[--count];
  if (rest > 0) text[used++] = '.';
  for (int64_t place = 100000000; rest > 0; rest %= place, place /= 10)
    text[used++] = (char)('0' + rest / place);
  text[used] = 0;
  return used;
}

/* The first count of digits from `digits` on that reads back. */
static size_t digits_search(double value, int digits, char text[EP_NUMBER_BYTES]) {
  int count = 0;
  do count = snprintf(text, EP_NUMBER_BYTES, "%.*g", digits, value);
  while (strtod(text, NULL) != value && ++digits <= 17);
  return (size_t)count;
}

size_t ep_number_format(double value, char text[EP_NUMBER_BYTES]) {
  assert(isfinite(value));
  if (value == 0 && signbit(value)) return (size_t)snprintf(text, EP_NUMBER_BYTES, "-0.0");
  if (fabs(value) < 1e15 && value == (double)(int64_t)value)
    return (size_t)snprintf(text, EP_NUMBER_BYTES, "%" PRId64, (int64_t)value);
  size_t decimal = decimal_format(value, text);
  if (decimal > 0) return decimal;
  /* 17 digits read back always, 16 half the time, 15 for most decimal numbers. */
  if (fabs(value) < DBL_MIN) return digits_search(value, 1, text); /* subnormals hold fewer */
  char shorter[EP_NUMBER_BYTES];
  int count = snprintf(text, EP_NUMBER_BYTES, "%.16g", value);
  if (strtod(text, NULL) != value) return (size_t)snprintf(text, EP_NUMBER_BYTES, "%.17g", value);
  int fewer = snprintf(shorter, sizeof shorter, "%.15g", value);
  if (strtod(shorter, NULL) != value) return (size_t)count;
  memcpy(text, shorter, sizeof shorter);
  return (size_t)fewer;
}

void ep_writer_number(ep_writer *writer, double value) {
  if (isnan(value)) {
    ep_writer_string(writer, "NaN");
  } else if (isinf(value)) {
    ep_writer_string(writer, value > 0 ? "Infinity" : "-Infinity");
  } else {
    char text[EP_NUMBER_BYTES];
    size_t count = ep_number_format(value, text);
    writer_separate(writer);
    ep_writer_bytes(writer, text, count);
  }
}

void ep_writer_number_or_null(ep_writer *writer, double value) {
  if (isnan(value))
    ep_writer_null(writer);
  else
    ep_writer_number(writer, value);
}

void ep_writer_boolean(ep_writer *writer, bool value) {
  ep_writer_raw(writer, value ? "true" : "false");
}

void ep_writer_null(ep_writer *writer) {
  ep_writer_raw(writer, "null");
}

void ep_writer_raw(ep_writer *writer, const char *json) {
  writer_separate(writer);
  ep_writer_bytes(writer, json, strlen(json));
}

void ep_writer_time(ep_writer *writer, int64_t time_us) {
  int64_t rest = time_us % 1000000;
  if (rest < 0) rest += 1000000; /* before 1970: round down */
  time_t seconds = (time_t)((time_us - rest) / 1000000);
  int milliseconds = (int)(rest / 1000);
  struct tm parts;
  char text[64];
  if (!gmtime_r(&seconds, &parts)) {
    ep_writer_null(writer);
    return;
  }
  snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
           parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
           milliseconds);
  ep_writer_string(writer, text);
}
