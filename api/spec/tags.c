/* tags.c: "tags". */
#include <string.h>

#include "api/json/json.h"
#include "api/spec/tables.h"

static bool tag_is_good(const ep_field_reader *reader, const json_t *value) {
  const char *text = json_string_value(value);
  return text && text[0] && json_string_length(value) <= EP_LIMIT_NAME_BYTES &&
         (reader->stored || ep_name_accepts(text));
}

void ep_tags_read(ep_field_reader *reader, const ep_field *field, const json_t *value, void *base) {
  (void)field;
  ep_job_spec *spec = base;
  if (!value) return;
  if (!json_is_array(value)) {
    ep_field_reader_fail(reader, "must be an array of strings, not %s", ep_json_type_name(value));
    return;
  }
  if (json_array_size(value) > EP_LIMIT_TAGS) {
    ep_field_reader_fail(reader, "must have at most %d tags, not %zu", EP_LIMIT_TAGS,
                         json_array_size(value));
    return;
  }
  size_t index;
  json_t *item;
  json_array_foreach((json_t *)value, index, item) {
    if (!tag_is_good(reader, item)) {
      size_t place = ep_field_reader_enter_index(reader, index);
      ep_field_reader_fail(reader,
                           "must be a string of 1 to %d bytes without control characters and "
                           "invisible ones, without spaces at its ends",
                           EP_LIMIT_NAME_BYTES);
      ep_field_reader_leave(reader, place);
      continue;
    }
    char *tag = strdup(json_string_value(item));
    if (!tag) {
      ep_field_reader_fail_memory(reader);
      return;
    }
    spec->tags[spec->tags_count++] = tag;
  }
}

void ep_tags_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_job_spec *spec = base;
  ep_writer_open(writer, '[');
  for (int i = 0; i < spec->tags_count; i++) ep_writer_string(writer, spec->tags[i]);
  ep_writer_close(writer, ']');
}
