#include "api/responses/checkpoints.h"

#include <stdio.h>

#include "api/base_path.h"
#include "api/json/writer.h"
#include "api/limits.h"

static void checkpoint_write(ep_writer *writer, const char *job, const ep_checkpoint_view *row) {
  char url[EP_BASE_PATH_BYTES + 128];
  snprintf(url, sizeof url, "%s/v1/jobs/%.64s/checkpoints/%lld/weights", ep_base_path(), job,
           (long long)row->step);
  ep_writer_open(writer, '{');
  ep_writer_member_string(writer, "object", "checkpoint");
  ep_writer_member_string(writer, "job", job);
  ep_writer_member_integer(writer, "step", row->step);
  ep_writer_member_integer(writer, "epoch", row->epoch);
  ep_writer_member_integer(writer, "epochs", row->epochs);
  ep_writer_member_number_or_null(writer, "loss", row->loss);
  ep_writer_member_number(writer, "train_seconds", row->train_seconds);
  ep_writer_member_time(writer, "created_at", row->created_us);
  ep_writer_member_string(writer, "executor", row->executor);
  ep_writer_member_integer(writer, "bytes", row->bytes);
  ep_writer_member_open(writer, "weights", '{');
  ep_writer_member_string(writer, "url", url);
  ep_writer_member_string(writer, "sha256", row->weights_sha256);
  ep_writer_member_integer(writer, "bytes", row->weights_bytes);
  ep_writer_close(writer, '}');
  ep_writer_close(writer, '}');
}

char *ep_checkpoints_format(const char *job, const ep_checkpoint_view *rows, int64_t count) {
  ep_writer writer;
  ep_writer_init(&writer, EP_LIMIT_FRAME_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "list");
  ep_writer_member_open(&writer, "data", '[');
  for (int64_t i = 0; i < count; i++) checkpoint_write(&writer, job, &rows[i]);
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
