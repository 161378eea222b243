#include "api/wire/tried.h"

#include "api/json/json.h"

void ep_tried_write(ep_writer *writer, const ep_tried_executors *tried) {
  if (tried->count == 0) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '[');
  for (int i = 0; i < tried->count; i++) {
    ep_writer_open(writer, '{');
    ep_writer_member_string(writer, "executor", tried->executor[i].name);
    ep_writer_member_number(writer, "step_microseconds", tried->executor[i].step_microseconds);
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, ']');
}

bool ep_tried_read(const json_t *array, ep_tried_executors *out) {
  const size_t count = json_array_size(array);
  *out = (ep_tried_executors){0};
  if (!array || json_is_null(array)) return true;
  if (!json_is_array(array) || count > EP_LIMIT_TRIED) return false;
  for (size_t i = 0; i < count; i++) {
    const json_t *object = json_array_get(array, i);
    ep_tried_executor *to = &out->executor[i];
    if (!ep_json_get_text(object, "executor", to->name, sizeof to->name) ||
        !ep_json_get_number(object, "step_microseconds", &to->step_microseconds))
      return false;
  }
  out->count = (int)count;
  return true;
}
