#include "api/wire/record.h"

#include <string.h>

#include "api/file_number.h"

#define MOST_ROW(code, most) [EP_RECORD_##code] = most,
static const size_t most_bytes[] = {EP_RECORD_TABLE(MOST_ROW)};

enum { KINDS = sizeof most_bytes / sizeof *most_bytes, NAME_PARTS = 4 };

void ep_record_header_write(uint8_t header[EP_RECORD_HEADER_BYTES], ep_record_kind kind,
                            size_t bytes, uint64_t number) {
  const uint32_t words[2] = {(uint32_t)bytes, (uint32_t)kind};
  memcpy(header, words, sizeof words);
  memcpy(header + sizeof words, &number, sizeof number);
}

ep_status ep_record_header_read(const uint8_t header[EP_RECORD_HEADER_BYTES], ep_record *out,
                                ep_error *error) {
  uint32_t words[2];
  *out = (ep_record){0};
  memcpy(words, header, sizeof words);
  memcpy(&out->number, header + sizeof words, sizeof out->number);
  if (words[1] == EP_RECORD_NONE || words[1] >= KINDS)
    return ep_fail(error, EP_MALFORMED, "a record of the unknown kind %u", words[1]);
  if (words[0] > most_bytes[words[1]])
    return ep_fail(error, EP_TOO_LARGE, "a record of %u bytes, of at most %zu", words[0],
                   most_bytes[words[1]]);
  out->kind = (ep_record_kind)words[1];
  out->bytes = words[0];
  return EP_OK;
}

static ep_status malformed(ep_error *error, const char *what) {
  return ep_fail(error, EP_MALFORMED, "a record's %s is malformed", what);
}

/* text: [capacity]. */
static bool text_valid(const char *text, size_t capacity) {
  size_t length = strnlen(text, capacity);
  if (length == capacity) return false;
  for (size_t i = 0; i < length; i++)
    if (text[i] <= ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\') return false;
  for (size_t i = length; i < capacity; i++)
    if (text[i] != 0) return false;
  return true;
}

static bool is_hex(const char *text, size_t length) {
  return strspn(text, "0123456789abcdef") == length && text[length] == 0;
}

static bool part_valid(const char *part, size_t length) {
  if (length == 0 || part[0] == '.') return false;
  for (size_t i = 0; i < length; i++) {
    const char c = part[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '.' || c == '_' || c == '-';
    if (!plain) return false;
  }
  return true;
}

bool ep_record_name_valid(const char *name) {
  for (int parts = 1; parts <= NAME_PARTS; parts++) {
    size_t length = strcspn(name, "/");
    if (!part_valid(name, length)) return false;
    if (name[length] == 0) return true;
    name += length + 1;
  }
  return false;
}

/* Copies a payload that has exactly so many bytes. */
static bool payload_copy(const ep_record *record, void *out, size_t bytes) {
  if (record->bytes != bytes) return false;
  memcpy(out, record->payload, bytes);
  return true;
}

ep_status ep_record_hello_read(const ep_record *record, ep_record_hello *out, ep_error *error) {
  if (record->bytes < sizeof out->magic ||
      memcmp(record->payload, EP_RECORD_MAGIC, sizeof out->magic) != 0)
    return ep_fail(error, EP_UNSUPPORTED, "a relay of another protocol");
  if (!payload_copy(record, out, sizeof *out)) return malformed(error, "size");
  if (!text_valid(out->version, sizeof out->version) ||
      !text_valid(out->worker, sizeof out->worker) || !ep_record_name_valid(out->worker) ||
      !text_valid(out->secret, sizeof out->secret) ||
      !is_hex(out->secret, EP_SHA256_HEX_BYTES - 1) || !text_valid(out->node, sizeof out->node) ||
      !text_valid(out->slurm_job, sizeof out->slurm_job) ||
      !text_valid(out->job, sizeof out->job) || strchr(out->worker, '/') ||
      strchr(out->job, '/')) /* names of files may have folders */
    return malformed(error, "text");
  bool job = out->job[0] != 0;
  if ((job && !ep_record_name_valid(out->job)) || job != (out->attempt > 0) || out->attempt < 0 ||
      (out->has_all & ~1) != 0 || (out->ended & ~1) != 0 || (out->ended && !job) ||
      out->first == 0 || out->last < out->first - 1 || out->last == UINT64_MAX)
    return malformed(error, "number");
  return EP_OK;
}

ep_status ep_record_welcome_read(const ep_record *record, ep_record_welcome *out, ep_error *error) {
  if (!payload_copy(record, out, sizeof *out)) return malformed(error, "size");
  if (!text_valid(out->secret, sizeof out->secret) ||
      !is_hex(out->secret, EP_SHA256_HEX_BYTES - 1) || (out->keep & ~1) != 0 ||
      out->reconnect_seconds < 0)
    return malformed(error, "welcome");
  return EP_OK;
}

ep_status ep_record_file_read(const ep_record *record, ep_record_file *out, ep_error *error) {
  if (!payload_copy(record, out, sizeof *out)) return malformed(error, "size");
  if (!text_valid(out->name, sizeof out->name) || !ep_record_name_valid(out->name))
    return malformed(error, "file name");
  if (out->from < 0 || out->bytes < 0 || out->from > EP_LIMIT_UPLOAD_BYTES ||
      out->bytes > EP_LIMIT_UPLOAD_BYTES)
    return malformed(error, "file size");
  return EP_OK;
}

ep_status ep_record_end_read(const ep_record *record, char *hash, ep_error *error) {
  hash[EP_SHA256_HEX_BYTES - 1] = 0;
  if (!payload_copy(record, hash, EP_SHA256_HEX_BYTES - 1) ||
      !is_hex(hash, EP_SHA256_HEX_BYTES - 1))
    return malformed(error, "hash");
  return EP_OK;
}

ep_status ep_record_folder_read(const ep_record *record, char *name, ep_error *error) {
  if (!payload_copy(record, name, EP_RECORD_NAME_BYTES) ||
      !text_valid(name, EP_RECORD_NAME_BYTES) || !ep_record_name_valid(name))
    return malformed(error, "folder");
  return EP_OK;
}

ep_status ep_record_frame_read(const ep_record *record, ep_frame_kind *kind, ep_error *error) {
  size_t payload = 0;
  if (record->bytes < EP_FRAME_HEADER_BYTES) return malformed(error, "frame");
  ep_status status = ep_frame_header(record->payload, kind, &payload, error);
  if (status == EP_OK && payload != record->bytes - EP_FRAME_HEADER_BYTES)
    status = malformed(error, "frame");
  return status;
}

ep_status ep_record_names_read(const ep_record *record, ep_error *error) {
  const char *names = (const char *)record->payload;
  if (record->bytes > 0 && names[record->bytes - 1] != 0) return malformed(error, "list of names");
  for (size_t at = 0; at < record->bytes; at += strlen(names + at) + 1)
    if (!ep_record_name_valid(names + at) || strchr(names + at, '/'))
      return malformed(error, "list of names");
  return EP_OK;
}

void ep_record_text_read(const ep_record *record, char *text) {
  size_t used = 0;
  for (size_t i = 0; i < record->bytes && used < EP_MESSAGE_BYTES - 1; i++) {
    const char c = (char)record->payload[i];
    text[used++] = c >= ' ' && c <= '~' ? c : '?';
  }
  text[used] = 0;
}

bool ep_record_result_valid(const char *name) {
  static const char *const names[] = {EP_WEIGHTS_FILE, EP_TRIALS_FILE, EP_PREDICTIONS_JSON_FILE,
                                      EP_PREDICTIONS_CSV_FILE};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return ep_file_number(EP_CHECKPOINT_PREFIX, name) >= 0 ||
         ep_file_number(EP_MOMENT_PREFIX, name) >= 0;
}
