/* csv.c: delimited text. A table of numbers goes straight from the mapped file into a part; the
 * first cell that is none gives the text to csv_typed.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/json/number_scan.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/data/formats/csv_cell.h"
#include "engine/data/formats/csv_faults.h"
#include "engine/data/formats/csv_header.h"
#include "engine/data/formats/csv_rows.h"
#include "engine/data/formats/csv_typed.h"
#include "engine/data/formats/format.h"
#include "engine/data/tables/typed_table.h"
#include "engine/files/path.h"

enum { PROBE_BYTES = 4096 };

/* Any text may be a CSV; this one is asked last. */
static bool recognise(const uint8_t *bytes, size_t size) {
  size_t probe = size < PROBE_BYTES ? size : PROBE_BYTES;
  for (size_t i = 0; i < probe; i++)
    if (bytes[i] < 0x20 && bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\t') return false;
  return size > 0;
}

/* Numbers of a file, until there is another cell. */
typedef struct {
  ep_part_writer writer;
  ep_csv_cell *cell; /* working memory, lent */
  bool words;        /* a cell is no number: `error` says which */
} reader;

static ep_status cell_refuse(reader *read, int64_t line, int64_t column, ep_error *error) {
  char label[EP_COLUMN_LABEL_BYTES], shown[EP_EXCERPT_BYTES];
  const ep_csv_cell *cell = read->cell;
  const char *end = cell->text + cell->bytes;
  double value;
  read->words = true;
  ep_column_label(read->writer.column, column, label);
  if (cell->bytes == 0)
    return ep_fail(error, EP_INVALID, "row %lld, %s: the value is missing", (long long)line, label);
  if (ep_csv_not_finite(cell->text) ||
      ep_number_scan(cell->text, end, EP_NUMBER_CSV, &value) == end)
    return ep_number_infinite_refuse(line, label, cell->text, cell->bytes, error);
  return ep_fail(error, EP_INVALID, "row %lld, %s: \"%s\" is not a number", (long long)line, label,
                 ep_excerpt(shown, cell->text, cell->bytes));
}

/* The slow way of one cell: quotes, spaces, and every error. */
static ep_status cell_read(reader *read, ep_csv_text *text, int64_t column, double *value,
                           ep_csv_stop *stop, ep_error *error) {
  int64_t line = text->line;
  ep_csv_cell *cell = read->cell;
  ep_status status = ep_csv_cell_read(text, column + 1, cell, error);
  if (status != EP_OK) return status;
  ep_csv_text inner = {cell->text, cell->text + cell->bytes, text->delimiter, line, false};
  ep_csv_stop end;
  *stop = cell->stop;
  if (!ep_csv_number_read(&inner, value, &end) || end != EP_CSV_END)
    return cell_refuse(read, line, column, error);
  return EP_OK;
}

static ep_status row_read(void *context, ep_csv_text *text, ep_error *error) {
  reader *read = context;
  double *row = ep_part_writer_next(&read->writer);
  int64_t columns = read->writer.columns, line = text->line;
  ep_csv_stop stop = EP_CSV_DELIMITER;
  for (int64_t column = 0; column < columns; column++) {
    if (stop != EP_CSV_DELIMITER) return ep_csv_row_check(line, column, columns, stop, error);
    if (ep_csv_number_read(text, &row[column], &stop)) continue;
    ep_status status = cell_read(read, text, column, &row[column], &stop, error);
    if (status != EP_OK) return status;
  }
  if (stop == EP_CSV_DELIMITER) return ep_csv_row_check(line, columns, columns, stop, error);
  return ep_part_writer_commit(&read->writer, error);
}

/* The names of the columns once more, for the part: the header's own may be needed again. */
static ep_status column_copy(const ep_csv_header *header, ep_column **out, ep_error *error) {
  size_t bytes = (size_t)header->columns * sizeof **out;
  *out = malloc(bytes);
  if (!*out) return ep_fail_memory(error);
  memcpy(*out, header->column, bytes);
  return EP_OK;
}

/* *words: a cell is no number, and the part is to be read in another way. */
static ep_status numbers_read(ep_ingest *ingest, ep_csv_text text, const ep_csv_header *header,
                              ep_csv_cell *cell, bool *words, ep_error *error) {
  reader read = {.cell = cell};
  ep_column *column = NULL;
  ep_status status = column_copy(header, &column, error);
  if (status != EP_OK) return status;
  status = ep_part_writer_open(&read.writer, ingest->folder, ingest->split, ingest->role,
                               EP_DTYPE_F64, header->columns, column, &ingest->budget_bytes, error);
  if (status == EP_OK && ingest->role == EP_ROLE_TABLE)
    status = ep_part_writer_table(&read.writer, error);
  if (status == EP_OK) status = ep_csv_rows_read(&text, row_read, &read, error);
  if (status == EP_OK)
    status = ep_part_writer_finish(&read.writer, &ingest->meta->part[ingest->split][ingest->role],
                                   error);
  ep_part_writer_abandon(&read.writer);
  *words = read.words;
  return status;
}

/* Takes back what was written of a part. */
static ep_status part_remove(const ep_ingest *ingest, ep_error *error) {
  char path[EP_PATH_BYTES];
  if (!ingest->folder) return EP_OK;
  ep_status status = ep_part_path(ingest->folder, ingest->split, ingest->role, path, error);
  if (status == EP_OK && unlink(path) != 0) status = ep_fail(error, EP_IO, "%s: unlink", path);
  return status;
}

/* x and y that come apart are numbers; a table may have any cells. */
static ep_status part_read(ep_ingest *ingest, ep_csv_text text, ep_csv_header *header,
                           ep_csv_cell *cell, ep_error *error) {
  ep_error first = {0};
  bool words = false;
  if (header->labels.count > 0) return ep_csv_typed_read(ingest, text, header, cell, error);
  int64_t budget_bytes = ingest->budget_bytes;
  ep_status status = numbers_read(ingest, text, header, cell, &words, &first);
  if (status != EP_OK && words && ingest->role == EP_ROLE_TABLE) {
    ingest->budget_bytes = budget_bytes;
    status = part_remove(ingest, error);
    return status == EP_OK ? ep_csv_typed_read(ingest, text, header, cell, error) : status;
  }
  if (status != EP_OK && error) *error = first;
  return status;
}

/* Tells what was done with a first line that names no columns. */
static void counts_note(ep_ingest *ingest, int64_t rows, const ep_csv_labels *labels) {
  snprintf(ingest->meta->note, sizeof ingest->meta->note,
           "the first line is no header but scikit-learn's: it says that there are %lld rows%s",
           (long long)rows, labels->count ? ", and names the classes of the last column" : "");
}

static ep_status read_csv(ep_ingest *ingest, ep_error *error) {
  const char *start = (const char *)ingest->bytes, *end = start + ingest->size;
  if (ingest->size >= 3 && memcmp(start, "\xEF\xBB\xBF", 3) == 0) start += 3;
  char delimiter = ingest->options.delimiter;
  char named = 0;
  const char *table = ep_csv_separator_take(start, end, &named);
  if (!delimiter) delimiter = named ? named : ep_csv_delimiter_find(start, end);
  ep_csv_text text = {table ? table : start, end, delimiter, table ? 2 : 1, ingest->mapped};
  ep_csv_header header = {0};
  ep_csv_labels labels = {0};
  int64_t rows;
  ep_csv_cell *cell = malloc(sizeof *cell);
  if (!cell) return ep_fail_memory(error);
  ep_csv_text probe = text;
  ep_status status = EP_OK;
  if (ep_csv_blank_line_take(&probe)) status = ep_fail(error, EP_INVALID, "row 1 is empty");
  if (status == EP_OK && ingest->options.header == 0 && ingest->role == EP_ROLE_TABLE &&
      ep_csv_counts_take(&text, cell, &rows, &labels))
    counts_note(ingest, rows, &labels);
  if (status == EP_OK)
    status = ep_csv_header_read(&text, ingest->options.header, cell, &header, error);
  header.labels = labels;
  if (header.row_names)
    snprintf(ingest->meta->note, sizeof ingest->meta->note,
             "the header has a cell less than the rows: the first column has no name");
  ep_csv_text first = header.start;
  if (status == EP_OK) {
    status = part_read(ingest, text, &header, cell, error);
    if (status == EP_INVALID)
      ep_csv_faults_tell(first, ingest->options.header, ingest->role != EP_ROLE_TABLE, cell, error);
  }
  free(header.column);
  free(labels.name);
  free(cell);
  return status;
}

const ep_format ep_format_csv = {"csv", recognise, read_csv};
