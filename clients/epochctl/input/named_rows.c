/* named_rows.c: CSV with names, or objects, as the rows of a request. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/writer.h"
#include "api/limits.h"
#include "clients/epochctl/input/rows.h"

/* Where the text is read, and the cell that was read last. */
typedef struct {
  const char *at;
  char delimiter, *cell; /* cell: room for all of the text, ends in 0 */
  long line;
  bool ends; /* the cell was the last one of its line */
} csv;

/* The delimiter that the first line has most of. */
static char delimiter_find(const char *text) {
  static const char delimiters[] = ",;\t|";
  size_t most = 0, bytes = strcspn(text, "\n");
  char found = ',';
  for (const char *one = delimiters; *one; one++) {
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++) count += text[i] == *one;
    if (count > most) found = *one;
    if (count > most) most = count;
  }
  return found;
}

static bool is_line_end(const csv *read) {
  return *read->at == 0 || *read->at == '\n' || (*read->at == '\r' && read->at[1] == '\n');
}

/* Within quotes, from behind the first one. False: they never end. */
static bool quoted_read(csv *read, size_t *used) {
  for (; *read->at; read->at++) {
    if (*read->at == '"' && *++read->at != '"') return true;
    read->line += *read->at == '\n';
    read->cell[(*used)++] = *read->at;
  }
  return false;
}

static ep_status cell_read(csv *read, ep_error *error) {
  size_t used = 0;
  long line = read->line;
  while (*read->at == ' ') read->at++;
  if (*read->at == '"') {
    read->at++;
    if (!quoted_read(read, &used))
      return ep_fail(error, EP_INVALID, "line %ld: a quote is not closed", line);
  }
  while (!is_line_end(read) && *read->at != read->delimiter) read->cell[used++] = *read->at++;
  while (used > 0 && read->cell[used - 1] == ' ') used--;
  read->cell[used] = 0;
  read->ends = *read->at != read->delimiter;
  if (!read->ends) read->at++;
  if (!read->ends || *read->at == 0) return EP_OK;
  read->at += *read->at == '\r' ? 2 : 1;
  read->line++;
  return EP_OK;
}

enum { NAMES = EP_LIMIT_COLUMNS };

/* names: [*count], the caller's, each too. */
static ep_status names_read(csv *read, char **names, long *count, ep_error *error) {
  ep_status status = EP_OK;
  *count = 0;
  do {
    status = cell_read(read, error);
    if (status != EP_OK) return status;
    if (*count == NAMES) return ep_fail(error, EP_INVALID, "there are over %d columns", NAMES);
    names[*count] = strdup(read->cell);
    if (!names[(*count)++]) return ep_fail_memory(error);
  } while (!read->ends);
  return EP_OK;
}

static ep_status row_write(csv *read, char **names, long count, ep_writer *writer,
                           ep_error *error) {
  long column = 0, line = read->line;
  ep_writer_open(writer, '{');
  do {
    ep_status status = cell_read(read, error);
    if (status != EP_OK) return status;
    if (column == count)
      return ep_fail(error, EP_INVALID, "line %ld has more cells than the %ld names", line, count);
    ep_writer_string(writer, names[column++]);
    ep_writer_bytes(writer, ":", 1);
    ep_writer_string(writer, read->cell[0] ? read->cell : NULL);
  } while (!read->ends);
  ep_writer_close(writer, '}');
  if (column == count) return EP_OK;
  return ep_fail(error, EP_INVALID, "line %ld has %ld cells, there are %ld names", line, column,
                 count);
}

/* The same of the names that a CSV without a line of them goes by. */
static ep_status names_copy(const json_t *columns, char **names, long *count, ep_error *error) {
  for (*count = 0; *count < (long)json_array_size(columns) && *count < NAMES; (*count)++) {
    names[*count] = strdup(json_string_value(json_array_get(columns, (size_t)*count)));
    if (!names[*count]) return ep_fail_memory(error);
  }
  return EP_OK;
}

static ep_status rows_write(csv *read, const json_t *columns, char **names, ep_writer *writer,
                            ep_error *error) {
  long count = 0, rows = 0;
  ep_status status =
      columns ? names_copy(columns, names, &count, error) : names_read(read, names, &count, error);
  while (status == EP_OK && *read->at) {
    if (is_line_end(read)) { /* a blank line */
      read->line++;
      read->at += *read->at == '\r' ? 2 : 1;
      continue;
    }
    status = row_write(read, names, count, writer, error);
    rows++;
  }
  for (long i = 0; i < count; i++) free(names[i]);
  if (status == EP_OK && rows == 0) return ep_fail(error, EP_INVALID, "there is no row to predict");
  return status;
}

static ep_status csv_write(const char *text, size_t bytes, const json_t *columns, ep_writer *writer,
                           ep_error *error) {
  csv read = {.at = text, .delimiter = delimiter_find(text), .line = 1};
  char **names = calloc(NAMES, sizeof *names);
  read.cell = malloc(bytes + 1);
  ep_status status =
      names && read.cell ? rows_write(&read, columns, names, writer, error) : ep_fail_memory(error);
  free(read.cell);
  free(names);
  return status;
}

/* Whether it is a list of objects. */
static bool has_objects(const char *text) {
  if (*text != '[') return false;
  text++;
  return text[strspn(text, " \t\r\n")] == '{';
}

static bool is_column(const json_t *columns, const char *cell) {
  size_t index;
  const json_t *name;
  json_array_foreach(columns, index, name) {
    if (strcmp(json_string_value(name), cell) == 0) return true;
  }
  return false;
}

bool ep_rows_begin_with_names(const char *text, const json_t *columns) {
  csv read = {.at = text, .delimiter = delimiter_find(text), .line = 1};
  size_t cells = 0, names = 0, numbers = 0;
  if (!ep_rows_have_names(text)) return false;
  read.cell = malloc(strlen(text) + 1);
  if (!read.cell) return true;
  do {
    if (cell_read(&read, NULL) != EP_OK) break;
    names += is_column(columns, read.cell);
    numbers += *read.cell && !ep_rows_have_names(read.cell);
    cells++;
  } while (!read.ends);
  free(read.cell);
  if (cells != json_array_size(columns) || names == cells) return numbers < cells;
  return names > 0 && numbers == 0;
}

ep_status ep_named_rows_format(const char *text, size_t bytes, const json_t *columns, char **out,
                               size_t *out_bytes, ep_error *error) {
  const char *bom = "\xef\xbb\xbf";
  if (strncmp(text, bom, strlen(bom)) == 0) text += strlen(bom);
  const char *start = text + strspn(text, " \t\r\n");
  bool objects = has_objects(start);
  ep_writer writer;
  ep_status status = EP_OK;
  *out = NULL;
  if (!objects && (*start == '{' || *start == '[' || (!columns && !ep_rows_have_names(start))))
    return EP_OK;
  ep_writer_init(&writer, EP_LIMIT_NAMED_ROWS_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_key(&writer, "rows");
  if (objects) {
    ep_writer_raw(&writer, start);
  } else {
    ep_writer_open(&writer, '[');
    status = csv_write(start, bytes, columns, &writer, error);
    ep_writer_close(&writer, ']');
  }
  ep_writer_close(&writer, '}');
  if (status != EP_OK) {
    ep_writer_deinit(&writer);
    return status;
  }
  *out_bytes = writer.count;
  *out = ep_writer_take(&writer);
  if (*out) return EP_OK;
  return ep_fail(error, EP_TOO_LARGE,
                 "the rows are more than %d MiB with their names: predict in "
                 "pieces",
                 EP_LIMIT_NAMED_ROWS_BYTES >> 20);
}
