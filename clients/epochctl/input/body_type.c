#include "clients/epochctl/input/body_type.h"

#include <stdlib.h>
#include <string.h>

#include "api/json/scanner.h"
#include "api/json/writer.h"
#include "api/limits.h"
#include "clients/epochctl/input/rows.h"

const char *ep_pictures_type(const char *text, size_t bytes) {
  static const struct {
    const char *begin, *type;
  } types[] = {
      {"\x89PNG", "image/png"}, {"\xFF\xD8\xFF", "image/jpeg"}, {"PK\3\4", "application/zip"}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    size_t begins = strlen(types[i].begin);
    if (bytes >= begins && memcmp(text, types[i].begin, begins) == 0) return types[i].type;
  }
  const size_t magic = 257; /* of a TAR */
  return bytes >= magic + 5 && memcmp(text + magic, "ustar", 5) == 0 ? "application/x-tar" : NULL;
}

static const char *start_of(const char *text) {
  const char *bom = "\xef\xbb\xbf";
  if (strncmp(text, bom, strlen(bom)) == 0) text += strlen(bom);
  return text + strspn(text, " \t\r\n");
}

bool ep_text_is_json(const char *text) {
  const char *start = start_of(text);
  return *start == '{' || *start == '[';
}

const char *ep_table_type(const char *text, size_t bytes) {
  if (memchr(text, 0, bytes)) return "text/csv";
  const char *start = text + strspn(text, " \t\r\n");
  ep_scanner x = {start, text + bytes}, rows = x;
  if (*start == '{')
    return ep_scan_member(&x, "x") || ep_scan_member(&rows, "rows") ? NULL : "application/x-ndjson";
  return *start == '[' || !ep_rows_have_names(start) ? NULL : "text/csv";
}

/* Copies each object in one line, since the end of one is in no string of JSON; of a list they are
 * in brackets, with commas between. False: one is no object, or there is none. */
static bool objects_copy(ep_scanner *from, bool list, ep_writer *writer) {
  bool more = list ? ep_scan_token(from, '[') : true;
  while (more) {
    bool object = ep_scan_peek(from) == '{';
    const char *at = from->at;
    if (!object || !ep_scan_skip(from)) return false;
    for (; at < from->at; at++) ep_writer_bytes(writer, *at == '\n' || *at == '\r' ? " " : at, 1);
    ep_writer_bytes(writer, "\n", 1);
    more = list ? ep_scan_token(from, ',') : ep_scan_peek(from) != 0;
  }
  return writer->count > 0 && (!list || ep_scan_token(from, ']'));
}

ep_status ep_json_lines_format(const char *text, size_t bytes, char **out, size_t *out_bytes,
                               ep_error *error) {
  const char *start = start_of(text);
  ep_scanner body = {start, text + bytes}, rows = body;
  ep_writer writer;
  *out = NULL;
  bool inner = ep_scan_member(&rows, "rows"), list = inner || *start == '[';
  if (!inner) rows = body;
  if (!list && ep_scan_member(&body, "x")) return EP_OK;
  ep_writer_init(&writer, 2 * EP_LIMIT_NAMED_ROWS_BYTES);
  if (!objects_copy(&rows, list, &writer)) {
    ep_writer_deinit(&writer);
    return EP_OK;
  }
  *out_bytes = writer.count;
  *out = ep_writer_take(&writer);
  return *out ? EP_OK : ep_fail_memory(error);
}
