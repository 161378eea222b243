#include "clients/epochctl/input/rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/writer.h"
#include "api/limits.h"

/* Writes the cells of a line as numbers. Returns their count, or -1 at a cell that is no finite
 * number. */
static long cells_read(const char *line, size_t bytes, ep_writer *writer) {
  const char *at = line, *end = line + bytes;
  long count = 0;
  while (at < end) {
    char *stop;
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    if (at >= end) break;
    double value = strtod(at, &stop);
    if (stop == at || stop > end || !isfinite(value)) return -1;
    if (writer) ep_writer_number(writer, value);
    count++;
    at = stop;
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    if (at < end && (*at == ',' || *at == ';')) {
      if (++at >= end) return -1; /* an empty cell at the end */
    } else if (at < end && at == stop) {
      return -1; /* letters behind the number */
    }
  }
  return count;
}

bool ep_rows_have_names(const char *text) {
  size_t bytes = strcspn(text, "\n");
  if (bytes > 0 && text[bytes - 1] == '\r') bytes--;
  return bytes > 0 && cells_read(text, bytes, NULL) < 0;
}

static ep_status lines_write(const char *text, ep_writer *writer, ep_error *error) {
  long number = 0, rows = 0;
  for (const char *at = text; *at; number++) {
    size_t bytes = strcspn(at, "\n"), length = bytes;
    if (length > 0 && at[length - 1] == '\r') length--;
    bool names = number == 0 && cells_read(at, length, NULL) < 0;
    bool blank = strspn(at, " \t\r") >= length;
    if (!names && !blank) {
      ep_writer_open(writer, '[');
      if (cells_read(at, length, writer) < 0)
        return ep_fail(error, EP_INVALID, "line %ld: every cell must be a number", number + 1);
      ep_writer_close(writer, ']');
      rows++;
    }
    at += bytes + (at[bytes] != 0);
  }
  return rows > 0 ? EP_OK : ep_fail(error, EP_INVALID, "no rows to predict");
}

/* Whether it is a list of objects. */
static bool has_objects(const char *list) {
  return list[1 + strspn(list + 1, " \t\r\n")] == '{';
}

ep_status ep_rows_format(const char *text, size_t bytes, char **out, size_t *out_bytes,
                         ep_error *error) {
  static const char mark[] = "\xef\xbb\xbf";
  size_t marked = strncmp(text, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
  ep_writer writer;
  ep_status status = EP_OK;
  text += marked;
  bytes -= marked;
  const char *start = text + strspn(text, " \t\r\n");
  ep_writer_init(&writer, EP_LIMIT_PREDICT_BYTES);
  if (*start == '{') {
    ep_writer_bytes(&writer, text, bytes);
  } else {
    ep_writer_open(&writer, '{');
    ep_writer_key(&writer, *start == '[' && has_objects(start) ? "rows" : "x");
    if (*start == '[') {
      ep_writer_raw(&writer, start);
    } else {
      ep_writer_open(&writer, '[');
      status = lines_write(text, &writer, error);
      ep_writer_close(&writer, ']');
    }
    ep_writer_close(&writer, '}');
  }
  if (status != EP_OK) {
    ep_writer_deinit(&writer);
    return status;
  }
  *out_bytes = writer.count;
  *out = ep_writer_take(&writer);
  if (*out) return EP_OK;
  return ep_fail(error, EP_TOO_LARGE, "the rows are more than %d MiB: predict in pieces",
                 EP_LIMIT_PREDICT_BYTES >> 20);
}
