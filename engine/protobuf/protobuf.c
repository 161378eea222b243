#include "engine/protobuf/protobuf.h"

#include <stdlib.h>
#include <string.h>

enum {
  VARINT = 0,
  FIXED64 = 1,
  LENGTH_DELIMITED = 2,
  FIXED32 = 5,
  VARINT_BYTES_MAX = 10,
  CAPACITY_MIN = 256
};

void ep_protobuf_deinit(ep_protobuf *message) {
  free(message->bytes);
  *message = (ep_protobuf){0};
}

/* Where `count` more bytes go; NULL when memory is short. */
static uint8_t *grow(ep_protobuf *message, size_t count) {
  size_t needed;
  if (message->failed) return NULL;
  if (__builtin_add_overflow(message->count, count, &needed) || needed > SIZE_MAX / 2) {
    message->failed = true;
    return NULL;
  }
  if (needed > message->capacity) {
    size_t capacity = message->capacity ? message->capacity : CAPACITY_MIN;
    while (capacity < needed) capacity *= 2;
    uint8_t *grown = realloc(message->bytes, capacity);
    if (!grown) {
      message->failed = true;
      return NULL;
    }
    message->bytes = grown;
    message->capacity = capacity;
  }
  uint8_t *place = message->bytes + message->count;
  message->count = needed;
  return place;
}

static void append(ep_protobuf *message, const void *bytes, size_t count) {
  uint8_t *place = count > 0 ? grow(message, count) : NULL;
  if (place) memcpy(place, bytes, count);
}

/* Seven bits a byte, the least first, the highest bit of each says that more follow. */
static size_t varint_format(uint64_t value, uint8_t out[VARINT_BYTES_MAX]) {
  size_t count = 0;
  do {
    out[count++] = (uint8_t)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
    value >>= 7;
  } while (value > 0);
  return count;
}

static void varint_append(ep_protobuf *message, uint64_t value) {
  uint8_t bytes[VARINT_BYTES_MAX];
  append(message, bytes, varint_format(value, bytes));
}

static uint64_t key(int field, int type) {
  return (uint64_t)field << 3 | (uint64_t)type;
}

void ep_protobuf_integer(ep_protobuf *message, int field, int64_t value) {
  varint_append(message, key(field, VARINT));
  varint_append(message, (uint64_t)value);
}

void ep_protobuf_float(ep_protobuf *message, int field, float value) {
  uint32_t bits;
  uint8_t bytes[4];
  memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(bits >> 8 * i);
  varint_append(message, key(field, FIXED32));
  append(message, bytes, sizeof bytes);
}

void ep_protobuf_double(ep_protobuf *message, int field, double value) {
  uint64_t bits;
  uint8_t bytes[8];
  memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(bits >> 8 * i);
  varint_append(message, key(field, FIXED64));
  append(message, bytes, sizeof bytes);
}

void ep_protobuf_head(ep_protobuf *message, int field, uint64_t count) {
  varint_append(message, key(field, LENGTH_DELIMITED));
  varint_append(message, count);
}

size_t ep_protobuf_head_bytes(int field, uint64_t count) {
  uint8_t bytes[VARINT_BYTES_MAX];
  return varint_format(key(field, LENGTH_DELIMITED), bytes) + varint_format(count, bytes);
}

void ep_protobuf_bytes(ep_protobuf *message, int field, const void *bytes, size_t count) {
  ep_protobuf_head(message, field, count);
  append(message, bytes, count);
}

void ep_protobuf_text(ep_protobuf *message, int field, const char *text) {
  ep_protobuf_bytes(message, field, text, strlen(text));
}

void ep_protobuf_take(ep_protobuf *message, int field, ep_protobuf *part) {
  message->failed = message->failed || part->failed;
  ep_protobuf_bytes(message, field, part->bytes, part->count);
  ep_protobuf_deinit(part);
}
