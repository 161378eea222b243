#include "api/rates/found.h"

#include <math.h>

#include "api/json/json.h"

static void numbers_write(ep_writer *writer, const char *key, const double *values, int count) {
  ep_writer_member_open(writer, key, '[');
  for (int i = 0; i < count; i++) ep_writer_number(writer, values[i]);
  ep_writer_close(writer, ']');
}

void ep_found_lr_write_members(ep_writer *writer, const ep_found_lr *found) {
  ep_writer_member_number_or_null(writer, "proposal", found->proposal);
  ep_writer_member_number_or_null(writer, "steepest", found->steepest);
  ep_writer_member_number_or_null(writer, "least", found->least);
  ep_writer_member_boolean(writer, "exploded", found->exploded);
  numbers_write(writer, "lr", found->lr, found->count);
  numbers_write(writer, "loss", found->loss, found->count);
  numbers_write(writer, "smoothed", found->smoothed, found->count);
}

void ep_found_lr_write(ep_writer *writer, const ep_found_lr *found) {
  if (found->count == 0) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '{');
  ep_found_lr_write_members(writer, found);
  ep_writer_close(writer, '}');
}

/* "NaN" and the infinities are words. */
static bool number_read(const json_t *value, double *out) {
  const char *word = json_string_value(value);
  if (json_is_number(value))
    *out = json_number_value(value);
  else if (json_is_null(value) || (word && word[0] == 'N'))
    *out = NAN;
  else if (word)
    *out = word[0] == '-' ? -INFINITY : INFINITY;
  else
    return false;
  return true;
}

static bool numbers_read(const json_t *object, const char *key, double *values, int count) {
  const json_t *list = json_object_get(object, key);
  if (json_array_size(list) != (size_t)count) return false;
  for (int i = 0; i < count; i++)
    if (!number_read(json_array_get(list, (size_t)i), &values[i])) return false;
  return true;
}

bool ep_found_lr_read(const json_t *object, ep_found_lr *out) {
  *out = (ep_found_lr){0};
  if (!object || json_is_null(object)) return true;
  size_t count = json_array_size(json_object_get(object, "lr"));
  if (count < 1 || count > EP_LIMIT_FOUND_STEPS) return false;
  out->count = (int)count;
  out->exploded = json_is_true(json_object_get(object, "exploded"));
  return number_read(json_object_get(object, "proposal"), &out->proposal) &&
         number_read(json_object_get(object, "steepest"), &out->steepest) &&
         number_read(json_object_get(object, "least"), &out->least) &&
         numbers_read(object, "lr", out->lr, out->count) &&
         numbers_read(object, "loss", out->loss, out->count) &&
         numbers_read(object, "smoothed", out->smoothed, out->count);
}
