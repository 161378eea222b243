#include "api/wire/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/writer.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are little-endian, as is memory");

#define NAME_ROW(code, name) name,
static const char *const command_names[] = {EP_COMMAND_TABLE(NAME_ROW)};
static const char *const reply_names[] = {EP_REPLY_TABLE(NAME_ROW)};
enum {
  COMMANDS = sizeof command_names / sizeof *command_names,
  REPLIES = sizeof reply_names / sizeof *reply_names
};

static int name_find(const char *const *names, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) return i;
  return -1;
}

const char *ep_command_kind_name(ep_command_kind kind) {
  assert((int)kind < COMMANDS);
  return command_names[kind];
}

int ep_command_kind_from_name(const char *name) {
  return name_find(command_names, COMMANDS, name);
}

const char *ep_reply_kind_name(ep_reply_kind kind) {
  assert((int)kind < REPLIES);
  return reply_names[kind];
}

int ep_reply_kind_from_name(const char *name) {
  return name_find(reply_names, REPLIES, name);
}

/* A growing block with room for the header. */
static void frame_begin(ep_writer *writer) {
  static const char header[EP_FRAME_HEADER_BYTES];
  ep_writer_init(writer, EP_FRAME_HEADER_BYTES + EP_LIMIT_FRAME_BYTES);
  ep_writer_bytes(writer, header, sizeof header);
}

/* Fills the header in; the block is the caller's now. NULL after a failure. */
static uint8_t *frame_end(ep_writer *writer, ep_frame_kind kind, size_t *bytes) {
  if (writer->failed) {
    ep_writer_deinit(writer);
    return NULL;
  }
  uint32_t header[2] = {(uint32_t)(writer->count - EP_FRAME_HEADER_BYTES), (uint32_t)kind};
  memcpy(writer->text, header, sizeof header);
  *bytes = writer->count;
  return (uint8_t *)writer->text;
}

/* The object's opening bracket, without a comma after the header's bytes. */
static void object_begin(ep_writer *writer) {
  ep_writer_bytes(writer, "{", 1);
}

/* The values of a matrix after the JSON and a 0: exact, NaN and infinities included. */
static void values_write(ep_writer *writer, const double *values, int64_t rows, int64_t columns) {
  int64_t count;
  size_t bytes;
  if (rows <= 0 || columns <= 0 || !values) return;
  if (__builtin_mul_overflow(rows, columns, &count) ||
      __builtin_mul_overflow((size_t)count, sizeof *values, &bytes)) {
    writer->failed = true;
    return;
  }
  ep_writer_bytes(writer, "", 1);
  ep_writer_bytes(writer, (const char *)values, bytes);
}

uint8_t *ep_command_encode(const ep_command *command, size_t *bytes) {
  ep_writer writer;
  frame_begin(&writer);
  object_begin(&writer);
  ep_writer_member_string(&writer, "command", ep_command_kind_name(command->kind));
  ep_writer_member_unsigned(&writer, "request", command->request);
  ep_writer_member_string(&writer, "job", command->job);
  ep_writer_member_integer(&writer, "attempt", command->attempt);
  if (command->kind == EP_COMMAND_HELP) ep_writer_member_string(&writer, "spec", command->spec);
  if (command->kind == EP_COMMAND_HELP || command->kind == EP_COMMAND_RELEASE)
    ep_writer_member_unsigned(&writer, "lease", command->lease);
  if (command->kind == EP_COMMAND_HELPERS) {
    ep_writer_member_open(&writer, "leases", '[');
    for (int i = 0; i < command->leases_count; i++)
      ep_writer_integer(&writer, (int64_t)command->leases[i]);
    ep_writer_close(&writer, ']');
  }
  if (command->kind == EP_COMMAND_TRAIN) {
    ep_writer_member_string(&writer, "spec", command->spec);
    ep_writer_member_string(&writer, "executor", command->executor);
    ep_writer_member_integer(&writer, "epochs_logged", command->epochs_logged);
    ep_writer_member_integer(&writer, "thinning", command->thinning);
    ep_writer_member_open(&writer, "gpus", '[');
    for (int i = 0; i < command->gpus_count; i++) ep_writer_integer(&writer, command->gpus[i]);
    ep_writer_close(&writer, ']');
  }
  if (command->kind == EP_COMMAND_PREDICT) {
    ep_writer_member_integer(&writer, "checkpoint", command->checkpoint);
    ep_writer_member_string(&writer, "weights_sha256", command->weights_sha256);
    ep_writer_member_integer(&writer, "rows", command->rows);
    ep_writer_member_integer(&writer, "columns", command->columns);
    ep_writer_member_integer(&writer, "windows", command->windows);
  }
  if (command->kind == EP_COMMAND_EXPORT) {
    ep_writer_member_string(&writer, "weights_sha256", command->weights_sha256);
    ep_writer_member_boolean(&writer, "quantize", command->quantize);
    ep_writer_member_string(&writer, "file", command->file);
  }
  if (command->kind == EP_COMMAND_PLOT) {
    ep_writer_member_integer(&writer, "checkpoint", command->checkpoint);
    ep_writer_member_string(&writer, "weights_sha256", command->weights_sha256);
    ep_writer_member_string(&writer, "file", command->file);
    ep_plot_request_write(&writer, &command->plot);
  }
  ep_writer_close(&writer, '}');
  if (command->kind == EP_COMMAND_PREDICT)
    values_write(&writer, command->x, command->rows, command->columns);
  return frame_end(&writer, EP_FRAME_COMMAND, bytes);
}

static void error_write(ep_writer *writer, const ep_error *error) {
  ep_writer_member_open(writer, "error", '{');
  ep_writer_member_string(writer, "status", ep_status_name(error->status));
  ep_writer_member_string(writer, "pointer", error->pointer);
  ep_writer_member_string(writer, "message", error->message);
  ep_writer_close(writer, '}');
}

static void device_write(ep_writer *writer, const ep_device_info *device) {
  ep_writer_member_open(writer, "device", '{');
  ep_writer_member_string(writer, "name", device->name);
  ep_writer_member_string(writer, "id", device->id);
  ep_writer_member_string(writer, "instruction_set", device->instruction_set);
  ep_writer_member_string(writer, "driver", device->driver);
  ep_writer_member_integer(writer, "memory_bytes", device->memory_bytes);
  ep_writer_member_integer(writer, "memory_free_bytes", device->memory_free_bytes);
  ep_writer_member_integer(writer, "threads", device->threads);
  ep_writer_close(writer, '}');
}

uint8_t *ep_reply_encode(const ep_reply *reply, size_t *bytes) {
  ep_writer writer;
  frame_begin(&writer);
  object_begin(&writer);
  ep_writer_member_string(&writer, "reply", ep_reply_kind_name(reply->kind));
  ep_writer_member_unsigned(&writer, "request", reply->request);
  ep_writer_member_string(&writer, "job", reply->job);
  ep_writer_member_integer(&writer, "attempt", reply->attempt);
  error_write(&writer, &reply->error);
  switch (reply->kind) {
  case EP_REPLY_READY: device_write(&writer, &reply->device); break;
  case EP_REPLY_STARTED:
    ep_writer_member_string(&writer, "executor", reply->executor);
    ep_writer_member_integer(&writer, "parameters", reply->parameters);
    ep_writer_member_integer(&writer, "bytes", reply->bytes);
    ep_writer_member_integer(&writer, "epoch", reply->epoch);
    ep_writer_member_string(&writer, "note", reply->note);
    ep_writer_member_string(&writer, "remarks", reply->remarks);
    break;
  case EP_REPLY_CHECKPOINTED:
    ep_writer_member_integer(&writer, "step", reply->step);
    ep_writer_member_integer(&writer, "epoch", reply->epoch);
    ep_writer_member_integer(&writer, "bytes", reply->bytes);
    break;
  case EP_REPLY_FINISHED:
    ep_writer_key(&writer, "result");
    ep_job_result_write(&writer, &reply->result);
    break;
  case EP_REPLY_PREDICTED:
    ep_writer_member_integer(&writer, "rows", reply->rows);
    ep_writer_member_integer(&writer, "columns", reply->columns);
    break;
  case EP_REPLY_WANTS: ep_writer_member_integer(&writer, "helpers", reply->helpers); break;
  case EP_REPLY_HELPED: ep_writer_member_unsigned(&writer, "lease", reply->lease); break;
  case EP_REPLY_WAITING:
  case EP_REPLY_EXPORTED:
  case EP_REPLY_LEAVING:
  case EP_REPLY_PLOTTED:
  case EP_REPLY_PROBED: break;
  case EP_REPLY_CALIBRATED:
    ep_writer_key(&writer, "executors");
    ep_calibration_write(&writer, &reply->calibration);
    break;
  }
  ep_writer_close(&writer, '}');
  if (reply->kind == EP_REPLY_PREDICTED)
    values_write(&writer, reply->output, reply->rows, reply->columns);
  return frame_end(&writer, EP_FRAME_REPLY, bytes);
}

uint8_t *ep_progress_encode(const ep_progress *progress, size_t *bytes) {
  ep_writer writer;
  ep_progress_prefix prefix = {.attempt = progress->attempt, .count = progress->count};
  memcpy(prefix.job, progress->job, sizeof prefix.job);
  frame_begin(&writer);
  ep_writer_bytes(&writer, (const char *)&prefix, sizeof prefix);
  if (progress->trials)
    ep_writer_bytes(&writer, (const char *)progress->trials,
                    (size_t)progress->count * sizeof *progress->trials);
  else if (progress->count)
    ep_writer_bytes(&writer, (const char *)progress->records,
                    (size_t)progress->count * sizeof *progress->records);
  return frame_end(&writer, progress->trials ? EP_FRAME_TRIALS : EP_FRAME_PROGRESS, bytes);
}

uint8_t *ep_points_encode(const ep_points *points, ep_frame_kind kind, size_t *bytes) {
  ep_writer writer;
  ep_points_prefix prefix = {.attempt = points->attempt,
                             .count = points->count,
                             .lease = points->lease,
                             .slots = points->slots,
                             .together = points->together};
  memcpy(prefix.job, points->job, sizeof prefix.job);
  frame_begin(&writer);
  ep_writer_bytes(&writer, (const char *)&prefix, sizeof prefix);
  if (kind == EP_FRAME_POINTS)
    ep_writer_bytes(&writer, (const char *)points->points,
                    (size_t)points->count * sizeof *points->points);
  else if (points->count > 0)
    ep_writer_bytes(&writer, (const char *)points->results,
                    (size_t)points->count * sizeof *points->results);
  return frame_end(&writer, kind, bytes);
}
