/* protobuf.h: messages in the protobuf wire format, appended field by field to a growing buffer.
 *
 * Format: https://protobuf.dev/programming-guides/encoding: each field is a varint, number << 3 |
 * type, and its value. What a field means is its caller's to know. */
#ifndef EP_ENGINE_PROTOBUF_PROTOBUF_H
#define EP_ENGINE_PROTOBUF_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeros is an empty message. Once memory was short `failed` stays, and nothing is added any
 * more: looked at once, at the end. */
typedef struct {
  uint8_t *bytes; /* [count] of [capacity], owned */
  size_t count, capacity;
  bool failed;
} ep_protobuf;

void ep_protobuf_deinit(ep_protobuf *message);

void ep_protobuf_integer(ep_protobuf *message, int field, int64_t value);
void ep_protobuf_float(ep_protobuf *message, int field, float value);
void ep_protobuf_double(ep_protobuf *message, int field, double value);
void ep_protobuf_bytes(ep_protobuf *message, int field, const void *bytes, size_t count);
void ep_protobuf_text(ep_protobuf *message, int field, const char *text);

/* A message within a message; its part is done with: deinitialized, ready to start anew. */
void ep_protobuf_take(ep_protobuf *message, int field, ep_protobuf *part);

/* The head of a field of `count` bytes that come from elsewhere; nothing else of it is added. */
void ep_protobuf_head(ep_protobuf *message, int field, uint64_t count);
/* Bytes of such a head. */
size_t ep_protobuf_head_bytes(int field, uint64_t count);

#endif
