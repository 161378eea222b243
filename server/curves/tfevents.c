#include "server/curves/tfevents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/curve.h"
#include "engine/protobuf/protobuf.h"

/* Fields of tensorflow.Event, Summary and Summary.Value. */
enum {
  EVENT_WALL_TIME = 1,
  EVENT_STEP = 2,
  EVENT_FILE_VERSION = 3,
  EVENT_SUMMARY = 5,
  SUMMARY_VALUE = 1,
  VALUE_TAG = 1,
  VALUE_SIMPLE = 2
};

enum { LENGTH_BYTES = 8, CHECKSUM_BYTES = 4 };

static uint32_t crc_step(uint32_t crc) {
  const uint32_t castagnoli = 0x82F63B78; /* the polynomial, its bits reversed */
  return crc & 1 ? crc >> 1 ^ castagnoli : crc >> 1;
}

/* Four bits at a time: 64 bytes of table, and fast enough for files of megabytes. */
uint32_t ep_crc32c(const void *bytes, size_t count) {
  uint32_t table[16];
  for (uint32_t i = 0; i < 16; i++) table[i] = crc_step(crc_step(crc_step(crc_step(i))));
  uint32_t crc = UINT32_MAX;
  for (const uint8_t *at = bytes, *end = at + count; at < end; at++) {
    crc ^= *at;
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}

/* A checksum as a record holds it: rotated and moved, because a checksum of bytes that hold
 * checksums is weak (the format's own masking). */
static uint32_t crc_mask(uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

static void integer_put(uint8_t *out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) out[i] = (uint8_t)(value >> 8 * i);
}

/* The file as it grows. */
typedef struct {
  uint8_t *bytes; /* [count] of [capacity], owned */
  size_t count, capacity;
  bool failed;
} file;

static uint8_t *file_grow(file *out, size_t count) {
  if (out->capacity - out->count < count) {
    size_t capacity = (out->capacity + count) * 2;
    uint8_t *grown = realloc(out->bytes, capacity);
    if (!grown) return NULL;
    out->bytes = grown;
    out->capacity = capacity;
  }
  uint8_t *record = out->bytes + out->count;
  out->count += count;
  return record;
}

/* Appends the message as a record, and empties it. */
static void record_add(file *out, ep_protobuf *event) {
  size_t bytes = event->count;
  uint8_t *record = NULL;
  if (!out->failed && !event->failed)
    record = file_grow(out, LENGTH_BYTES + CHECKSUM_BYTES + bytes + CHECKSUM_BYTES);
  if (!record) {
    out->failed = true;
    return;
  }
  integer_put(record, bytes, LENGTH_BYTES);
  integer_put(record + LENGTH_BYTES, crc_mask(ep_crc32c(record, LENGTH_BYTES)), CHECKSUM_BYTES);
  record += LENGTH_BYTES + CHECKSUM_BYTES;
  memcpy(record, event->bytes, bytes);
  integer_put(record + bytes, crc_mask(ep_crc32c(record, bytes)), CHECKSUM_BYTES);
  event->count = 0;
}

/* Messages within messages, kept so that their memory is used again. */
typedef struct {
  ep_protobuf event, summary, value;
} messages;

static void scalar_add(messages *parts, const char *tag, double value) {
  ep_protobuf_text(&parts->value, VALUE_TAG, tag);
  ep_protobuf_float(&parts->value, VALUE_SIMPLE, (float)value);
  ep_protobuf_bytes(&parts->summary, SUMMARY_VALUE, parts->value.bytes, parts->value.count);
  parts->summary.failed = parts->summary.failed || parts->value.failed;
  parts->value.count = 0;
}

static void point_add(file *out, messages *parts, const ep_curve_point *point) {
  scalar_add(parts, "loss/train", point->loss);
  if (!isnan(point->validation_loss)) scalar_add(parts, "loss/validation", point->validation_loss);
  if (!isnan(point->error)) scalar_add(parts, "error/train", point->error);
  if (!isnan(point->validation_error))
    scalar_add(parts, "error/validation", point->validation_error);
  scalar_add(parts, "train/elapsed_seconds", point->elapsed_seconds);
  ep_protobuf_double(&parts->event, EVENT_WALL_TIME, point->wall_seconds);
  ep_protobuf_integer(&parts->event, EVENT_STEP, point->epoch);
  ep_protobuf_bytes(&parts->event, EVENT_SUMMARY, parts->summary.bytes, parts->summary.count);
  parts->event.failed = parts->event.failed || parts->summary.failed;
  parts->summary.count = 0;
  record_add(out, &parts->event);
}

void *ep_tfevents_format(const ep_curve_point *points, int64_t count, size_t *bytes) {
  file out = {0};
  messages parts = {0};
  ep_protobuf_double(&parts.event, EVENT_WALL_TIME, count > 0 ? points[0].wall_seconds : 0);
  ep_protobuf_text(&parts.event, EVENT_FILE_VERSION, "brain.Event:2");
  record_add(&out, &parts.event);
  for (int64_t i = 0; i < count && !out.failed; i++) point_add(&out, &parts, &points[i]);
  ep_protobuf_deinit(&parts.value);
  ep_protobuf_deinit(&parts.summary);
  ep_protobuf_deinit(&parts.event);
  if (out.failed) {
    free(out.bytes);
    return NULL;
  }
  *bytes = out.count;
  return out.bytes;
}
