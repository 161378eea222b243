#include "engine/checkpoints/manifest.h"

#include <string.h>

#include "api/json/json.h"
#include "api/json/writer.h"

enum { TEXT_BYTES = 4096 };

char *ep_checkpoint_format(const ep_checkpoint *checkpoint) {
  ep_writer writer;
  ep_writer_init(&writer, TEXT_BYTES);
  ep_writer_open(&writer, '{');
#define WRITE_INTEGER(name) ep_writer_member_integer(&writer, #name, checkpoint->name);
#define WRITE_REAL(name) ep_writer_member_number(&writer, #name, checkpoint->name);
#define WRITE_ADDED_INTEGER(name) WRITE_INTEGER(name)
#define WRITE_ADDED_REAL(name) WRITE_REAL(name)
#define WRITE(kind, name) WRITE_##kind(name)
  EP_CHECKPOINT_TABLE(WRITE)
#undef WRITE
#undef WRITE_ADDED_REAL
#undef WRITE_ADDED_INTEGER
#undef WRITE_REAL
#undef WRITE_INTEGER
  ep_writer_member_string(&writer, "weights_sha256", checkpoint->weights_sha256);
  ep_writer_member_string(&writer, "executor", checkpoint->executor);
  ep_writer_member_string(&writer, "machine", checkpoint->machine);
  ep_writer_member_string(&writer, "version", checkpoint->version);
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}

static bool members_read(const json_t *object, ep_checkpoint *out) {
#define READ_INTEGER(name) ep_json_get_integer(object, #name, 0, INT64_MAX, &out->name) &&
#define READ_REAL(name) ep_json_get_number(object, #name, &out->name) &&
#define READ_ADDED(name, read) (!json_object_get(object, #name) || (read true)) &&
#define READ_ADDED_INTEGER(name) READ_ADDED(name, READ_INTEGER(name))
#define READ_ADDED_REAL(name) READ_ADDED(name, READ_REAL(name))
#define READ(kind, name) READ_##kind(name)
  return EP_CHECKPOINT_TABLE(READ)
#undef READ
#undef READ_ADDED_REAL
#undef READ_ADDED_INTEGER
#undef READ_ADDED
#undef READ_REAL
#undef READ_INTEGER
             ep_json_get_text(object, "weights_sha256", out->weights_sha256,
                              sizeof out->weights_sha256) &&
         ep_json_get_text(object, "executor", out->executor, sizeof out->executor) &&
         ep_json_get_text(object, "machine", out->machine, sizeof out->machine) &&
         ep_json_get_text(object, "version", out->version, sizeof out->version);
}

ep_status ep_checkpoint_parse(const char *text, ep_checkpoint *out, ep_error *error) {
  json_t *root;
  *out = (ep_checkpoint){0};
  ep_status status = ep_json_load(text, strlen(text), TEXT_BYTES, &root, error);
  if (status == EP_OK && !members_read(root, out))
    status = ep_fail(error, EP_DATA, "a checkpoint has a number missing or of the wrong kind");
  else if (status != EP_OK && status != EP_NO_MEMORY)
    status = ep_fail(error, EP_DATA, "the numbers of a checkpoint are not JSON");
  if (root) json_decref(root);
  return status;
}
