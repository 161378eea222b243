#include "api/json/writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/json/number.h"
#include "api/json/utf8.h"
#include "api/limits.h"
#include "api/reserve.h"

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
    size_t added = capacity - writer->capacity;
    bool allowed = added < EP_LIMIT_UNRESERVED_BYTES || ep_reserve((int64_t)added, NULL) == EP_OK;
    char *text = allowed ? realloc(writer->text, capacity) : NULL;
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
static bool is_plain(char character) {
  unsigned char byte = (unsigned char)character;
  return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

void ep_writer_string(ep_writer *writer, const char *value) {
  if (!value) {
    ep_writer_null(writer);
    return;
  }
  writer_separate(writer);
  ep_writer_bytes(writer, "\"", 1);
  for (const char *at = value; *at;) {
    size_t plain = 0;
    while (is_plain(at[plain])) plain++;
    ep_writer_bytes(writer, at, plain);
    at += plain;
    if (*at == 0) break;
    size_t count = ep_utf8_character(at, strnlen(at, EP_UTF8_BYTES));
    if (count == 0)
      ep_writer_bytes(writer, "\xEF\xBF\xBD", 3);
    else if (count == 1)
      writer_escape(writer, (unsigned char)*at);
    else
      ep_writer_bytes(writer, at, count);
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
  if (!json) json = "null";
  writer_separate(writer);
  ep_writer_bytes(writer, json, strlen(json));
}

static char *digits_put(char *text, int value, int count, char after) {
  for (int i = count; i-- > 0; value /= 10) text[i] = (char)('0' + value % 10);
  text[count] = after;
  return text + count + 1;
}

void ep_writer_time(ep_writer *writer, int64_t time_us) {
  int64_t us = time_us % 1000000;
  if (us < 0) us += 1000000; /* before 1970: round down */
  time_t seconds = (time_t)((time_us - us) / 1000000);
  struct tm date;
  if (!gmtime_r(&seconds, &date) || date.tm_year < -1900 || date.tm_year > 9999 - 1900) {
    ep_writer_null(writer);
    return;
  }
  char text[32], *at = text;
  *at++ = '"';
  at = digits_put(at, date.tm_year + 1900, 4, '-');
  at = digits_put(at, date.tm_mon + 1, 2, '-');
  at = digits_put(at, date.tm_mday, 2, 'T');
  at = digits_put(at, date.tm_hour, 2, ':');
  at = digits_put(at, date.tm_min, 2, ':');
  at = digits_put(at, date.tm_sec, 2, '.');
  at = digits_put(at, (int)(us / 1000), 3, 'Z');
  *at++ = '"';
  writer_separate(writer);
  ep_writer_bytes(writer, text, (size_t)(at - text));
}
