#include "api/json/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool ep_writer_grow(ep_writer *writer, size_t more) {
  if (writer->failed) return false;
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
  writer->capacity = writer->count; /* no room for anything after it, however short */
  return false;
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

/* Stands for itself in JSON, and ends nothing. */
static bool is_plain(unsigned char byte) {
  return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
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
    size_t plain = 0;
    while (is_plain(at[plain])) plain++;
    ep_writer_bytes(writer, (const char *)at, plain);
    at += plain;
    if (*at == 0) break;
    size_t count = utf8_bytes(at);
    if (count == 0)
      ep_writer_bytes(writer, "\xEF\xBF\xBD", 3);
    else if (count == 1)
      writer_escape(writer, *at);
    else
      ep_writer_bytes(writer, (const char *)at, count);
    at += count ? count : 1;
  }
  ep_writer_bytes(writer, "\"", 1);
}

void ep_writer_integer(ep_writer *writer, int64_t value) {
  char text[EP_NUMBER_BYTES];
  size_t count = ep_integer_format(value, text);
  writer_separate(writer);
  ep_writer_bytes(writer, text, count);
}

void ep_writer_unsigned(ep_writer *writer, uint64_t value) {
  char text[EP_NUMBER_BYTES];
  int count = snprintf(text, sizeof text, "%" PRIu64, value);
  writer_separate(writer);
  ep_writer_bytes(writer, text, (size_t)count);
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

/* The days since 1970 as a date: years begin in March, so that the leap day ends one, and 400 of
 * them have 146,097 days. */
static void date_of(int64_t days, int *year, int *month, int *day) {
  days += 719468; /* from 0000-03-01 */
  int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  int64_t of_era = days - era * 146097;
  int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
  int64_t from_march = (5 * of_year + 2) / 153;
  *day = (int)(of_year - (153 * from_march + 2) / 5 + 1);
  *month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
  *year = (int)(years + era * 400 + (*month <= 2));
}

static char *figures_put(char *text, int value, int count, char after) {
  for (int i = count; i-- > 0; value /= 10) text[i] = (char)('0' + value % 10);
  text[count] = after;
  return text + count + 1;
}

void ep_writer_time(ep_writer *writer, int64_t time_us) {
  const int64_t day_us = INT64_C(86400000000);
  int64_t days = time_us / day_us, rest = time_us % day_us;
  if (rest < 0) rest += day_us, days--; /* before 1970: round down */
  int year, month, day, ms = (int)(rest / 1000);
  date_of(days, &year, &month, &day);
  if (year < 0 || year > 9999) {
    ep_writer_null(writer);
    return;
  }
  char text[32], *at = text;
  *at++ = '"';
  at = figures_put(at, year, 4, '-');
  at = figures_put(at, month, 2, '-');
  at = figures_put(at, day, 2, 'T');
  at = figures_put(at, ms / 3600000, 2, ':');
  at = figures_put(at, ms / 60000 % 60, 2, ':');
  at = figures_put(at, ms / 1000 % 60, 2, '.');
  at = figures_put(at, ms % 1000, 3, 'Z');
  *at++ = '"';
  writer_separate(writer);
  ep_writer_bytes(writer, text, (size_t)(at - text));
}
