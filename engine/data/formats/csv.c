/* csv.c: numbers in delimited text, straight from the mapped file into a part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/number_scan.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/data/formats/csv_cell.h"
#include "engine/data/formats/csv_header.h"
#include "engine/data/formats/format.h"
#include "engine/files/excerpt.h"

enum { PROBE_BYTES = 4096 };

/* Any text may be a CSV; this one is asked last. */
static bool recognise(const uint8_t *bytes, size_t size) {
  size_t probe = size < PROBE_BYTES ? size : PROBE_BYTES;
  for (size_t i = 0; i < probe; i++)
    if (bytes[i] < 0x20 && bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\t') return false;
  return size > 0;
}

/* `column 3 ("age")`, or `column 3` without a name. */
static void column_label(const ep_part_writer *writer, int64_t column, char *out, size_t bytes) {
  const char *name = writer->column[column].name;
  char shown[EP_EXCERPT_BYTES];
  if (name[0])
    snprintf(out, bytes, "column %lld (\"%s\")", (long long)column + 1,
             ep_excerpt(shown, name, strlen(name)));
  else
    snprintf(out, bytes, "column %lld", (long long)column + 1);
}

static ep_status cell_refuse(const ep_part_writer *writer, int64_t line, int64_t column,
                             const ep_csv_cell *cell, ep_error *error) {
  char label[EP_EXCERPT_BYTES + 48], shown[EP_EXCERPT_BYTES];
  double value;
  column_label(writer, column, label, sizeof label);
  ep_excerpt(shown, cell->text, cell->bytes);
  if (cell->bytes == 0)
    return ep_fail(error, EP_INVALID, "row %lld, %s: the value is missing", (long long)line, label);
  const char *end = cell->text + cell->bytes;
  if (ep_csv_not_finite(cell->text))
    return ep_fail(error, EP_INVALID, "row %lld, %s: \"%s\" is not a number to train on",
                   (long long)line, label, shown);
  if (ep_number_scan(cell->text, end, EP_NUMBER_CSV, &value) == end)
    return ep_fail(error, EP_INVALID, "row %lld, %s: \"%s\" is beyond what a double can hold",
                   (long long)line, label, shown);
  return ep_fail(error, EP_INVALID, "row %lld, %s: \"%s\" is not a number", (long long)line, label,
                 shown);
}

/* The slow way of one cell: quotes, spaces, and every error. */
static ep_status cell_read(const ep_part_writer *writer, ep_csv_text *text, int64_t column,
                           ep_csv_cell *cell, double *value, ep_csv_stop *stop, ep_error *error) {
  int64_t line = text->line;
  ep_status status = ep_csv_cell_read(text, column + 1, cell, error);
  if (status != EP_OK) return status;
  ep_csv_text inner = {cell->text, cell->text + cell->bytes, text->delimiter, line};
  ep_csv_stop end;
  *stop = cell->stop;
  if (!ep_csv_number_read(&inner, value, &end) || end != EP_CSV_END)
    return cell_refuse(writer, line, column, cell, error);
  return EP_OK;
}

static ep_status row_read(ep_part_writer *writer, ep_csv_text *text, ep_csv_cell *cell,
                          ep_error *error) {
  double *row = ep_part_writer_next(writer);
  int64_t columns = writer->columns, line = text->line;
  ep_csv_stop stop = EP_CSV_DELIMITER;
  for (int64_t column = 0; column < columns; column++) {
    if (stop != EP_CSV_DELIMITER)
      return ep_fail(error, EP_INVALID, "row %lld has %lld cell%s, row 1 has %lld", (long long)line,
                     (long long)column, column == 1 ? "" : "s", (long long)columns);
    if (ep_csv_number_read(text, &row[column], &stop)) continue;
    ep_status status = cell_read(writer, text, column, cell, &row[column], &stop, error);
    if (status != EP_OK) return status;
  }
  if (stop == EP_CSV_DELIMITER)
    return ep_fail(error, EP_INVALID, "row %lld has more cells than row 1, which has %lld",
                   (long long)line, (long long)columns);
  return ep_part_writer_commit(writer, error);
}

/* Blank lines are no rows; they may stand at the end only. */
static ep_status rows_read(ep_part_writer *writer, ep_csv_text *text, ep_csv_cell *cell,
                           ep_error *error) {
  ep_status status = EP_OK;
  int64_t blank = 0;
  while (status == EP_OK && text->at < text->end) {
    int64_t line = text->line;
    if (ep_csv_blank_line_take(text)) {
      if (blank == 0) blank = line;
    } else if (blank != 0) {
      status = ep_fail(error, EP_INVALID, "row %lld is empty", (long long)blank);
    } else {
      status = row_read(writer, text, cell, error);
    }
  }
  if (status == EP_OK && writer->measure.rows == 0)
    status = ep_fail(error, EP_INVALID, "there are no rows of data");
  return status;
}

static ep_status read_csv(ep_ingest *ingest, ep_error *error) {
  const char *start = (const char *)ingest->bytes, *end = start + ingest->size;
  if (ingest->size >= 3 && memcmp(start, "\xEF\xBB\xBF", 3) == 0) start += 3;
  char delimiter = ingest->options.delimiter;
  ep_csv_text text = {start, end, delimiter ? delimiter : ep_csv_delimiter_find(start, end), 1};
  ep_csv_header header = {0};
  ep_part_writer writer = {0};
  ep_csv_cell *cell = malloc(sizeof *cell);
  if (!cell) return ep_fail_memory(error);
  ep_csv_text probe = text;
  ep_status status = EP_OK;
  if (ep_csv_blank_line_take(&probe)) status = ep_fail(error, EP_INVALID, "row 1 is empty");
  if (status == EP_OK)
    status = ep_csv_header_read(&text, ingest->options.header, cell, &header, error);
  if (status == EP_OK)
    status = ep_part_writer_open(&writer, ingest->folder, ingest->split, ingest->role, EP_DTYPE_F64,
                                 header.columns, header.column, &ingest->budget_bytes, error);
  if (status == EP_OK) status = rows_read(&writer, &text, cell, error);
  if (status == EP_OK)
    status =
        ep_part_writer_finish(&writer, &ingest->meta->part[ingest->split][ingest->role], error);
  ep_part_writer_abandon(&writer);
  free(cell);
  return status;
}

const ep_format ep_format_csv = {"csv", recognise, read_csv};
