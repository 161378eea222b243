#include "api/spec/parts.h"

#include <stdlib.h>

#include "api/json/json.h"
#include "api/spec/tables.h"

int ep_parts_count(const ep_parts_spec *parts) {
  int repeats = parts->repeats > 0 ? parts->repeats : 1;
  return repeats * (parts->folds > 0 ? parts->folds : 1);
}

void ep_parts_deinit(ep_parts_spec *parts) {
  free(parts->seeds);
}

/* {"seeds": […]} */
static void seeds_read(ep_field_reader *reader, const json_t *value, ep_parts_spec *parts) {
  const ep_field seed = {.kind = EP_FIELD_INT64, .min = 0, .max = EP_SEED_MAX};
  const json_t *list = json_object_get(value, "seeds");
  size_t place = ep_field_reader_enter(reader, "seeds");
  int64_t *seeds =
      list ? ep_integers_take(reader, &seed, list, EP_LIMIT_REPEATS, &parts->repeats) : NULL;
  if (!list || json_object_size(value) != 1 || (json_is_array(list) && json_array_size(list) == 0))
    ep_field_reader_fail(reader, "must be an array of at least one seed, without other fields");
  for (int i = 1; seeds && i < parts->repeats; i++)
    for (int j = 0; j < i; j++)
      if (seeds[i] == seeds[j]) {
        size_t inner = ep_field_reader_enter_index(reader, (size_t)i);
        ep_field_reader_fail(reader, "repeats seed %lld: give each seed once", (long long)seeds[i]);
        ep_field_reader_leave(reader, inner);
        break;
      }
  ep_field_reader_leave(reader, place);
  parts->seeds = (uint64_t *)seeds;
}

void ep_repeats_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                     void *base) {
  const ep_field count = {.kind = EP_FIELD_INT, .min = 1, .max = EP_LIMIT_REPEATS};
  ep_parts_spec *parts = (ep_parts_spec *)((char *)base + field->offset);
  parts->repeats = 1;
  if (json_is_object(value))
    seeds_read(reader, value, parts);
  else if (value && !json_is_null(value))
    ep_field_number_read(reader, &count, value, &parts->repeats);
}

void ep_repeats_write(ep_writer *writer, const ep_field *field, const void *base) {
  const ep_parts_spec *parts = (const ep_parts_spec *)((const char *)base + field->offset);
  if (!parts->seeds) {
    ep_writer_integer(writer, parts->repeats);
    return;
  }
  ep_writer_open(writer, '{');
  ep_writer_member_open(writer, "seeds", '[');
  for (int i = 0; i < parts->repeats; i++) ep_writer_unsigned(writer, parts->seeds[i]);
  ep_writer_close(writer, ']');
  ep_writer_close(writer, '}');
}
