#include "server/slurm/values.h"

#include <string.h>
#include <strings.h>

#include "api/json/json.h"
#include "api/json/scanner.h"
#include "api/limits.h"

enum { KEY_BYTES = 64 };

bool ep_slurm_number(const json_t *object, const char *key, int64_t *out) {
  const json_t *value = json_object_get(object, key);
  if (json_is_object(value)) {
    const json_t *set = json_object_get(value, "set");
    if ((set && !json_is_true(set)) || json_is_true(json_object_get(value, "infinite")))
      return false;
    value = json_object_get(value, "number");
  }
  return ep_json_integer(value, out) && *out >= 0 && *out <= (1LL << 53);
}

int64_t ep_slurm_count(const json_t *object, const char *key, int64_t most) {
  int64_t value = 0;
  if (!ep_slurm_number(object, key, &value)) return 0;
  return value < most ? value : most;
}

void ep_slurm_text(const json_t *object, const char *key, char *text, size_t text_bytes) {
  const json_t *value = json_object_get(object, key);
  if (json_is_array(value)) value = json_array_get(value, 0);
  const char *from = json_is_string(value) ? json_string_value(value) : "";
  size_t used = 0;
  for (; *from && used + 1 < text_bytes; from++)
    text[used++] = (unsigned char)*from < 0x20 || *from == 0x7f ? ' ' : *from;
  while (used > 0 && *from && ((unsigned char)text[used - 1] & 0xc0) == 0x80) used--;
  if (used > 0 && *from && (unsigned char)text[used - 1] >= 0xc0) used--; /* no half a character */
  text[used] = 0;
}

bool ep_slurm_has_word(const json_t *object, const char *key, const char *word) {
  const json_t *value = json_object_get(object, key);
  if (json_is_string(value)) return strcasecmp(json_string_value(value), word) == 0;
  for (size_t i = 0; i < json_array_size(value); i++) {
    const json_t *element = json_array_get(value, i);
    if (json_is_string(element) && strcasecmp(json_string_value(element), word) == 0) return true;
  }
  return false;
}

/* A tree of one element at a time: squeue's text of a large Slurm has tens of megabytes. */
static ep_status elements_walk(ep_scanner *scanner, int key, ep_slurm_take *take, void *context,
                               ep_error *error) {
  if (!ep_scan_token(scanner, '[')) return ep_fail(error, EP_MALFORMED, "the list is not an array");
  if (ep_scan_token(scanner, ']')) return EP_OK;
  do {
    json_t *element = NULL;
    ep_scan_peek(scanner);
    const char *begin = scanner->at;
    if (!ep_scan_skip(scanner)) break;
    ep_status status = ep_json_load(begin, (size_t)(scanner->at - begin),
                                    EP_LIMIT_SLURM_ENTRY_BYTES, &element, error);
    if (status == EP_OK && json_is_object(element)) status = take(context, key, element, error);
    json_decref(element);
    if (status != EP_OK) return status;
  } while (ep_scan_token(scanner, ','));
  return ep_scan_token(scanner, ']') ? EP_OK : ep_fail(error, EP_MALFORMED, "the JSON is cut off");
}

ep_status ep_slurm_list_walk(const char *text, size_t bytes, const char *const *keys,
                             ep_slurm_take *take, void *context, ep_error *error) {
  ep_scanner scanner = {text, text + bytes};
  char key[KEY_BYTES];
  if (!ep_scan_token(&scanner, '{'))
    return ep_fail(error, EP_MALFORMED, "the command printed no JSON");
  do {
    if (!ep_scan_string(&scanner, key, sizeof key) || !ep_scan_token(&scanner, ':')) break;
    for (int i = 0; keys[i]; i++)
      if (strcmp(key, keys[i]) == 0) return elements_walk(&scanner, i, take, context, error);
    if (!ep_scan_skip(&scanner)) break;
  } while (ep_scan_token(&scanner, ','));
  return ep_fail(error, EP_MALFORMED, "no list \"%s\" in the JSON", keys[0]);
}
