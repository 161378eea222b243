/* webhooks.c: "webhooks": who is told of a job's end. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/spec/spec.h"
#include "api/spec/tables.h"

static const char url_form[] =
    "a URL such as \"https://example.org/hook\": http or https, a host, a port from 1 to 65535 "
    "where it has one, without a user or a fragment";

static bool port_accepts(const char *text) {
  const size_t digits = strlen(text);
  if (digits == 0 || digits > 5 || strspn(text, "0123456789") != digits) return false;
  long port = strtol(text, NULL, 10);
  return port > 0 && port <= UINT16_MAX;
}

/* "example.org", "10.0.0.1:8080", "[::1]:8080": [bytes]. */
static bool authority_accepts(const char *text, size_t bytes) {
  char name[EP_LIMIT_URL_BYTES + 1];
  struct in6_addr address;
  if (bytes == 0 || bytes >= sizeof name) return false;
  memcpy(name, text, bytes);
  name[bytes] = 0;
  char *end = name[0] == '[' ? strchr(name, ']') : NULL, *port = strchr(end ? end : name, ':');
  if (name[0] == '[' && (!end || (end[1] && end[1] != ':'))) return false;
  if (port) *port++ = 0;
  if (port && !port_accepts(port)) return false;
  if (!end) return name[0] != 0;
  *end = 0;
  return inet_pton(AF_INET6, name + 1, &address) == 1;
}

/* Printable ASCII with a scheme and a host. What the host is, is looked at when it is called
 * (server/webhooks/wire/address.h). */
bool ep_url_accepts(const char *text) {
  size_t scheme = strncmp(text, "https://", 8) == 0 ? 8 : strncmp(text, "http://", 7) == 0 ? 7 : 0;
  size_t host = strcspn(text + scheme, "/?");
  if (scheme == 0 || !authority_accepts(text + scheme, host)) return false;
  if (memchr(text + scheme, '@', host)) return false;
  for (const char *at = text; *at; at++)
    if (*at <= 0x20 || *at >= 0x7f || strchr("\"\\#<>^`{|}", *at)) return false;
  return true;
}

static void events_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                        void *base) {
  (void)field;
  ep_webhook_spec *hook = base;
  size_t index;
  json_t *item;
  if (!value) {
    hook->events[EP_WEBHOOK_END] = true;
    return;
  }
  if (!json_is_array(value) || json_array_size(value) == 0) {
    ep_field_reader_fail(reader, "must be an array such as [\"end\"], not %s",
                         json_is_array(value) ? "an empty one" : ep_json_type_name(value));
    return;
  }
  json_array_foreach((json_t *)value, index, item) {
    size_t place = ep_field_reader_enter_index(reader, index);
    int event = ep_field_word_read(reader, &ep_webhook_words, item);
    if (event >= 0) hook->events[event] = true;
    ep_field_reader_leave(reader, place);
  }
}

static void events_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_webhook_spec *hook = base;
  ep_writer_open(writer, '[');
  for (int i = 0; i < EP_WEBHOOK_COUNT; i++)
    if (hook->events[i]) ep_writer_string(writer, ep_webhook_name((ep_webhook)i));
  ep_writer_close(writer, ']');
}

static const ep_field hook_rows[] = {
    {.key = "url",
     .kind = EP_FIELD_STRING,
     .offset = offsetof(ep_webhook_spec, url),
     .required = true,
     .capacity = EP_LIMIT_URL_BYTES + 1,
     .accepts = ep_url_accepts,
     .form = url_form,
     .doc = "the URL that messages are POSTed to; visible to everyone who can read the job"},
    {.key = "events",
     .kind = EP_FIELD_CUSTOM,
     .read = events_read,
     .write = events_write,
     .form = "an array of \"end\", \"failed\" and \"best\"",
     .text_fallback = "[\"end\"]",
     .doc = "the events that send a message: end, however the job ended; failed; best, a new best "
            "validation metric",
     .schema = EP_JSON(
         {"type" : "array", "items" : {"enum" : [ "end", "failed", "best" ]}, "minItems" : 1})},
};
const ep_field_table ep_webhook_table = EP_FIELD_TABLE(hook_rows, NULL);

static void hook_read(ep_field_reader *reader, const json_t *item, ep_webhook_spec *hook) {
  if (json_is_object(item))
    ep_fields_read(reader, &ep_webhook_table, NULL, item, hook);
  else
    ep_field_reader_fail(reader, "must be an object with \"url\", not %s", ep_json_type_name(item));
}

void ep_webhooks_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                      void *base) {
  (void)field;
  ep_job_spec *spec = base;
  size_t index;
  json_t *item;
  if (!value) return;
  if (!json_is_array(value) || json_array_size(value) > EP_LIMIT_WEBHOOKS) {
    ep_field_reader_fail(reader, "must be an array of at most %d objects with \"url\"",
                         EP_LIMIT_WEBHOOKS);
    return;
  }
  if (json_array_size(value) == 0) return;
  spec->webhooks = calloc(json_array_size(value), sizeof *spec->webhooks);
  if (!spec->webhooks) {
    ep_field_reader_fail_memory(reader);
    return;
  }
  json_array_foreach((json_t *)value, index, item) {
    size_t place = ep_field_reader_enter_index(reader, index);
    hook_read(reader, item, &spec->webhooks[spec->webhooks_count++]);
    ep_field_reader_leave(reader, place);
  }
}

void ep_webhooks_write(ep_writer *writer, const ep_field *field, const void *base) {
  (void)field;
  const ep_job_spec *spec = base;
  ep_writer_open(writer, '[');
  for (int i = 0; i < spec->webhooks_count; i++) {
    ep_writer_open(writer, '{');
    ep_fields_write(writer, &ep_webhook_table, &spec->webhooks[i]);
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, ']');
}

bool ep_webhooks_have(const ep_job_spec *spec, ep_webhook event) {
  for (int i = 0; i < spec->webhooks_count; i++)
    if (spec->webhooks[i].events[event]) return true;
  return false;
}
