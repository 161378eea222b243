#include "engine/data/datasets/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/json/memory.h"
#include "api/reserve.h"
#include "engine/data/arrays/table.h"
#include "engine/data/datasets/column_json.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/files/path.h"

enum {
  FRAME_BYTES = 16 /* of JSON around a cell, and a number's digits */
};

/* A part whose rows are read. */
typedef struct {
  const ep_part *part;        /* lent */
  const ep_class_name *class; /* [classes], lent: what its numbers stand for; NULL: themselves */
  int classes;
  ep_table table;
  size_t values_offset;
  int file;       /* -1: not open */
  bool named;     /* each column has a name of its own */
  uint8_t *bytes; /* [columns] values of the dtype, owned: a row */
  double *cells;  /* [columns], owned: the same row */
} part_reader;

static void reader_close(part_reader *reader) {
  if (reader->file >= 0) close(reader->file);
  free(reader->bytes);
  free(reader->cells);
  *reader = (part_reader){.file = -1};
}

/* False when memory is short. */
static bool names_look(const ep_part *part, bool *named) {
  json_t *names = json_object();
  bool ok = names != NULL;
  *named = true;
  for (int64_t i = 0; ok && *named && i < part->columns; i++) {
    *named = part->column[i].name[0] != 0;
    ok = ep_json_set(names, part->column[i].name, json_true());
  }
  *named = *named && json_object_size(names) == (size_t)part->columns;
  json_decref(names);
  return ok;
}

static ep_status file_open(part_reader *reader, const char *path, ep_error *error) {
  reader->file = open(path, O_RDONLY | O_CLOEXEC);
  if (reader->file < 0)
    return ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : EP_IO, "%s: %s", path, strerror(errno));
  ep_status status =
      ep_table_peek(reader->file, path, &reader->table, &reader->values_offset, error);
  if (status != EP_OK) return status;
  if (reader->table.rows == reader->part->rows && reader->table.columns == reader->part->columns &&
      reader->table.dtype == reader->part->dtype)
    return EP_OK;
  return ep_fail(error, EP_DAMAGED, "%s is damaged: upload the same data again", path);
}

/* A part without rows is not opened. Afterwards: reader_close, also on failure. */
static ep_status reader_open(part_reader *reader, const char *folder, const ep_dataset_meta *meta,
                             ep_split split, ep_role role, ep_error *error) {
  char path[EP_PATH_BYTES];
  const ep_part *part = &meta->part[split][role];
  *reader = (part_reader){.part = part, .file = -1};
  if (part->rows == 0) return EP_OK;
  if (role == EP_ROLE_Y && part->columns == 1) {
    reader->class = meta->class_name;
    reader->classes = meta->classes;
  }
  reader->bytes = malloc((size_t)part->columns * ep_dtype_bytes(part->dtype));
  reader->cells = malloc((size_t)part->columns * sizeof *reader->cells);
  if (!reader->bytes || !reader->cells || !names_look(part, &reader->named))
    return ep_fail_memory(error);
  ep_status status = ep_part_path(folder, split, role, path, error);
  return status == EP_OK ? file_open(reader, path, error) : status;
}

static json_t *number_json(double value) {
  const double exact = 9007199254740992.0; /* 2^53: integers up to it are */
  bool whole = value == floor(value) && fabs(value) <= exact;
  return whole ? json_integer((json_int_t)value) : json_real(value);
}

/* Takes its bytes from *left_bytes. */
static json_t *cell_json(const part_reader *reader, int64_t index, int64_t *left_bytes) {
  const ep_column *column = &reader->part->column[index];
  const char *word = NULL;
  double cell = reader->cells[index];
  *left_bytes -= FRAME_BYTES + (reader->named ? (int64_t)strlen(column->name) : 0);
  if (isnan(cell) || column->type == EP_COLUMN_TEXT) return json_null();
  if (column->type == EP_COLUMN_DATE) return ep_date_json(column->form, cell);
  if (column->type == EP_COLUMN_CATEGORY && cell >= 0 && cell < (double)column->words.count)
    word = column->words.word[(int64_t)cell];
  if (reader->class && cell >= 0 && cell < reader->classes) word = reader->class[(int)cell].name;
  if (!word) return number_json(cell);
  *left_bytes -= (int64_t)strlen(word);
  return json_string(word);
}

/* The row as an object, an array, or, of a list of numbers, a number. NULL: memory is short. */
static json_t *cells_json(const part_reader *reader, int64_t *left_bytes) {
  const ep_part *part = reader->part;
  if (!reader->named && part->dimensions == 0 && part->columns == 1)
    return cell_json(reader, 0, left_bytes);
  json_t *row = reader->named ? json_object() : json_array();
  bool ok = row != NULL;
  for (int64_t i = 0; ok && i < part->columns; i++) {
    json_t *cell = cell_json(reader, i, left_bytes);
    ok = reader->named ? ep_json_set(row, part->column[i].name, cell)
                       : json_array_append_new(row, cell) == 0;
  }
  if (ok) return row;
  json_decref(row);
  return NULL;
}

/* *out: NULL behind the part's last row. */
static ep_status part_row_read(part_reader *reader, int64_t index, int64_t *left_bytes,
                               json_t **out, ep_error *error) {
  *out = NULL;
  if (index >= reader->part->rows) return EP_OK;
  ep_status status = ep_table_row_read(reader->file, &reader->table, reader->values_offset, index,
                                       reader->bytes, error);
  if (status != EP_OK) return status;
  ep_dtype_values(reader->part->dtype, reader->bytes, reader->part->columns, reader->cells);
  *out = cells_json(reader, left_bytes);
  return *out ? EP_OK : ep_fail_memory(error);
}

/* readers: [EP_ROLE_COUNT]. */
static ep_status row_read(part_reader *readers, int64_t index, int64_t *left_bytes, json_t **out,
                          ep_error *error) {
  if (readers[EP_ROLE_TABLE].part->rows > 0)
    return part_row_read(&readers[EP_ROLE_TABLE], index, left_bytes, out, error);
  ep_status status = EP_OK;
  *out = json_object();
  if (!*out) return ep_fail_memory(error);
  for (int role = EP_ROLE_X; status == EP_OK && role <= EP_ROLE_Y; role++) {
    json_t *cells = NULL;
    status = part_row_read(&readers[role], index, left_bytes, &cells, error);
    if (status == EP_OK && cells && !ep_json_set(*out, ep_role_name((ep_role)role), cells))
      status = ep_fail_memory(error);
  }
  if (status != EP_OK) json_decref(*out);
  return status;
}

static ep_status page_read(part_reader *readers, const ep_rows_page *page, int64_t total,
                           json_t *data, ep_error *error) {
  int64_t left_bytes = EP_LIMIT_SHOWN_ROWS_BYTES;
  ep_status status = EP_OK;
  for (int64_t i = 0; status == EP_OK && i < page->limit && page->offset + i < total; i++) {
    json_t *row;
    status = row_read(readers, page->offset + i, &left_bytes, &row, error);
    if (status != EP_OK || (left_bytes < 0 && i > 0)) {
      if (status == EP_OK) json_decref(row);
      break;
    }
    if (json_array_append_new(data, row) != 0) status = ep_fail_memory(error);
  }
  return status;
}

/* Takes `data`. NULL: memory is short. */
static char *page_format(json_t *data, int64_t next, int64_t total) {
  json_t *after = next < total ? json_integer(next) : json_null();
  json_t *object = json_pack("{s:s, s:o, s:I, s:b, s:o}", "object", "list", "data", data, "total",
                             (json_int_t)total, "has_more", next < total, "next", after);
  /* as the description: 0.1 stays 0.1 */
  char *text = object ? ep_json_write(object, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
  json_decref(object);
  return text;
}

/* A tree of the names, and one of the cells that are shown: a row at least. */
static ep_status page_reserve(const ep_dataset_meta *meta, const ep_rows_page *page,
                              ep_error *error) {
  enum { NAME_TREE_BYTES = 160, CELL_TREE_BYTES = 160, SHOWN = EP_LIMIT_SHOWN_ROWS_BYTES / 16 };
  int64_t bytes = 0;
  for (int role = 0; role < EP_ROLE_COUNT; role++) {
    const int64_t columns = meta->part[page->split][role].columns, cells = page->limit * columns;
    bytes += columns * NAME_TREE_BYTES +
             (cells < columns + SHOWN ? cells : columns + SHOWN) * CELL_TREE_BYTES;
  }
  return bytes > EP_LIMIT_SMALL_CACHED_BYTES ? ep_reserve(bytes, error) : EP_OK;
}

ep_status ep_dataset_rows_format(const char *folder, const ep_dataset_meta *meta,
                                 const ep_rows_page *page, char **text, ep_error *error) {
  part_reader readers[EP_ROLE_COUNT];
  int64_t total = 0;
  *text = NULL;
  for (int role = 0; role < EP_ROLE_COUNT; role++) {
    int64_t rows = meta->part[page->split][role].rows;
    readers[role] = (part_reader){.file = -1};
    if (rows > total) total = rows;
  }
  if (total == 0)
    return ep_fail(error, EP_MALFORMED,
                   "the dataset has no %s rows: ?split= must be one of its parts",
                   ep_split_name(page->split));
  ep_status status = page_reserve(meta, page, error);
  if (status != EP_OK) return status;
  json_t *data = json_array();
  if (!data) status = ep_fail_memory(error);
  for (int role = 0; status == EP_OK && role < EP_ROLE_COUNT; role++)
    status = reader_open(&readers[role], folder, meta, page->split, (ep_role)role, error);
  if (status == EP_OK) status = page_read(readers, page, total, data, error);
  for (int role = 0; role < EP_ROLE_COUNT; role++) reader_close(&readers[role]);
  if (status != EP_OK) {
    json_decref(data);
    return status;
  }
  *text = page_format(data, page->offset + (int64_t)json_array_size(data), total);
  return *text ? EP_OK : ep_fail_memory(error);
}
