#include "api/responses/queue.h"

#include <math.h>

#include "api/json/writer.h"

#define QUEUE_TEXT_LIMIT (1LL << 30)

static void queue_row_write(ep_writer *writer, const ep_queue_row *row, int64_t position) {
  if (!row->id) return;
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "id", row->id);
  ep_writer_key(writer, "position");
  if (position > 0)
    ep_writer_integer(writer, position);
  else
    ep_writer_null(writer);
  ep_writer_member_number_or_null(writer, "start_seconds",
                                  position > 0 && isfinite(row->start_seconds) ? row->start_seconds
                                                                               : NAN);
  ep_writer_member_integer(writer, "priority", row->priority);
  ep_writer_member_string(writer, "owner", row->owner);
  ep_writer_member_string(writer, "name", row->name);
  ep_writer_close(writer, '}');
}

char *ep_queue_format(const ep_queue_row *queued, int64_t queued_count, const ep_queue_row *running,
                      int64_t running_count) {
  ep_writer writer;
  ep_writer_init(&writer, QUEUE_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "queue");
  ep_writer_member_integer(&writer, "queued", queued_count);
  ep_writer_member_integer(&writer, "running", running_count);
  ep_writer_member_open(&writer, "jobs", '[');
  for (int64_t i = 0; i < running_count; i++) queue_row_write(&writer, &running[i], 0);
  for (int64_t i = 0; i < queued_count; i++) queue_row_write(&writer, &queued[i], i + 1);
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
