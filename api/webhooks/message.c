#include "api/webhooks/message.h"

#include <stdio.h>

#include "api/json/writer.h"
#include "api/limits.h"

char *ep_webhook_message_format(const ep_webhook_message *message) {
  const char *kind = message->sweep ? "sweep" : "job";
  char type[32];
  ep_writer writer;
  snprintf(type, sizeof type, "%s.%s", kind, ep_webhook_name(message->event));
  ep_writer_init(&writer, EP_LIMIT_FRAME_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "type", type);
  ep_writer_member_time(&writer, "timestamp", message->time_us);
  ep_writer_member_open(&writer, "data", '{');
  ep_writer_member_raw(&writer, kind, message->subject);
  if (message->best) ep_writer_member_raw(&writer, "best", message->best);
  ep_writer_close(&writer, '}');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

static void view_write(ep_writer *writer, const ep_webhook_view *row) {
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "object", "webhook_message");
  ep_writer_member_string(writer, "id", row->id);
  ep_writer_member_string(writer, "event", ep_webhook_name(row->event));
  ep_writer_member_string(writer, "url", row->url);
  ep_writer_member_string(writer, "status",
                          row->delivered     ? "delivered"
                          : row->due_us != 0 ? "pending"
                                             : "failed");
  ep_writer_member_integer(writer, "attempts", row->attempts);
  ep_writer_key(writer, "response_status");
  if (row->status != 0)
    ep_writer_integer(writer, row->status);
  else
    ep_writer_null(writer);
  ep_writer_member_string(writer, "error", row->fault[0] ? row->fault : NULL);
  ep_writer_member_time(writer, "created_at", row->created_us);
  ep_writer_key(writer, "next_attempt_at");
  if (row->due_us != 0)
    ep_writer_time(writer, row->due_us);
  else
    ep_writer_null(writer);
  ep_writer_close(writer, '}');
}

char *ep_webhooks_format(const ep_webhook_view *rows, int64_t count) {
  ep_writer writer;
  ep_writer_init(&writer, EP_LIMIT_FRAME_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "list");
  ep_writer_member_open(&writer, "data", '[');
  for (int64_t i = 0; i < count; i++) view_write(&writer, &rows[i]);
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
