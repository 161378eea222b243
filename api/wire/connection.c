#include "api/wire/connection.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  const char *name;
  size_t offset, capacity;
} line_row;

#define LINE_ROW(line, member, size) {line, offsetof(ep_connection, member), size},
static const line_row rows[] = {EP_CONNECTION_TABLE(LINE_ROW)};
enum { ROWS = sizeof rows / sizeof *rows };

ep_status ep_connection_format(const ep_connection *connection, char *text, ep_error *error) {
  size_t used = 0;
  for (int i = 0; i < ROWS; i++) {
    const char *value = (const char *)connection + rows[i].offset;
    int bytes = snprintf(text + used, EP_CONNECTION_BYTES - used, "%s=%s\n", rows[i].name, value);
    if (bytes < 0 || (size_t)bytes >= EP_CONNECTION_BYTES - used || strchr(value, '\n'))
      return ep_fail(error, EP_TOO_LARGE, "a worker's %s is too long", rows[i].name);
    used += (size_t)bytes;
  }
  return EP_OK;
}

/* line: [length], without its newline. */
static ep_status line_take(const char *line, size_t length, bool seen[ROWS], ep_connection *out,
                           ep_error *error) {
  for (int i = 0; i < ROWS; i++) {
    size_t name = strlen(rows[i].name);
    if (length <= name || strncmp(line, rows[i].name, name) != 0 || line[name] != '=') continue;
    size_t bytes = length - name - 1;
    if (bytes >= rows[i].capacity)
      return ep_fail(error, EP_INVALID, "%s is too long", rows[i].name);
    if (seen[i]) return ep_fail(error, EP_INVALID, "%s is given twice", rows[i].name);
    seen[i] = true;
    memcpy((char *)out + rows[i].offset, line + name + 1, bytes);
    return EP_OK;
  }
  return ep_fail(error, EP_INVALID, "an unknown line: %.*s", length < 40 ? (int)length : 40, line);
}

ep_status ep_connection_parse(const char *text, ep_connection *out, ep_error *error) {
  bool seen[ROWS] = {false};
  *out = (ep_connection){0};
  while (*text) {
    size_t length = strcspn(text, "\n");
    ep_status status = line_take(text, length, seen, out, error);
    if (status != EP_OK) return status;
    text += length + (text[length] != 0);
  }
  for (int i = 0; i < ROWS; i++)
    if (!seen[i]) return ep_fail(error, EP_INVALID, "%s is missing", rows[i].name);
  return EP_OK;
}
