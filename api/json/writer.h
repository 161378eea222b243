/* writer.h: writes JSON text, into a growing block or a fixed buffer. Commas place themselves.
 *
 * Every call after a failure (memory short, buffer full, limit reached) does nothing, so a caller
 * looks once, at the end. */
#ifndef EP_API_JSON_WRITER_H
#define EP_API_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  char *text;
  size_t count, capacity;
  size_t limit; /* a growing block never gets larger */
  bool growing; /* the block is the writer's own */
  bool failed;
} ep_writer;

/* A growing block of at most `limit` bytes. End with ep_writer_take. */
void ep_writer_init(ep_writer *writer, size_t limit);
/* The caller's buffer. Nothing to free. */
void ep_writer_init_fixed(ep_writer *writer, char *buffer, size_t capacity);

/* The text, ending in 0, now the caller's (free); NULL after a failure. Growing blocks only. */
char *ep_writer_take(ep_writer *writer);
/* Frees a growing block that is not wanted any more. */
void ep_writer_deinit(ep_writer *writer);

/* bracket: one of { } [ ] */
void ep_writer_open(ep_writer *writer, char bracket);
void ep_writer_close(ep_writer *writer, char bracket);

/* UTF-8; bytes that are not become U+FFFD. NULL writes null. */
void ep_writer_string(ep_writer *writer, const char *value);
void ep_writer_integer(ep_writer *writer, int64_t value);
void ep_writer_unsigned(ep_writer *writer, uint64_t value);
/* The fewest digits that read back the same double; "NaN", "Infinity", "-Infinity" as strings. */
void ep_writer_number(ep_writer *writer, double value);
/* The same, but null for NaN: a figure that does not apply. */
void ep_writer_number_or_null(ep_writer *writer, double value);
void ep_writer_boolean(ep_writer *writer, bool value);
void ep_writer_null(ep_writer *writer);
/* A value that is JSON already. NULL writes null. */
void ep_writer_raw(ep_writer *writer, const char *json);
/* 2026-11-20T16:52:07.123Z; microseconds since 1970. */
void ep_writer_time(ep_writer *writer, int64_t time_us);

/* Grows the block by what is missing for `more` bytes; false, and failed for ever, when there is no
 * room. For the two below. */
bool ep_writer_grow(ep_writer *writer, size_t more);

/* Bytes outside JSON's grammar: CSV, the end of a line. */
static inline void ep_writer_bytes(ep_writer *writer, const char *bytes, size_t count) {
  if (count > writer->capacity - writer->count && !ep_writer_grow(writer, count)) return;
  memcpy(writer->text + writer->count, bytes, count);
  writer->count += count;
}

/* An ASCII name that needs no escape. Here, because a line of events has twelve: of a name that the
 * compiler knows, only the copy is left. */
static inline void ep_writer_key(ep_writer *writer, const char *key) {
  size_t count = strlen(key);
  char last = writer->count > 0 ? writer->text[writer->count - 1] : '{';
  bool comma = last != '{' && last != '[';
  size_t more = comma + count + 3;
  if (more > writer->capacity - writer->count && !ep_writer_grow(writer, more)) return;
  char *at = writer->text + writer->count;
  if (comma) *at++ = ',';
  *at = '"';
  memcpy(at + 1, key, count);
  memcpy(at + 1 + count, "\":", 2);
  writer->count += more;
}

/* A member of an object: its name, as ep_writer_key takes it, and its value, or the bracket that
 * opens it. */
#define EP_WRITER_MEMBER(word, type)                                                           \
  static inline void ep_writer_member_##word(ep_writer *writer, const char *key, type value) { \
    ep_writer_key(writer, key);                                                                \
    ep_writer_##word(writer, value);                                                           \
  }
EP_WRITER_MEMBER(open, char)
EP_WRITER_MEMBER(string, const char *)
EP_WRITER_MEMBER(integer, int64_t)
EP_WRITER_MEMBER(unsigned, uint64_t)
EP_WRITER_MEMBER(number, double)
EP_WRITER_MEMBER(number_or_null, double)
EP_WRITER_MEMBER(boolean, bool)
EP_WRITER_MEMBER(raw, const char *)
EP_WRITER_MEMBER(time, int64_t)
#undef EP_WRITER_MEMBER

#endif
