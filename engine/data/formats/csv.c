/* csv.c: delimited text: a table of any cells (typed_table.h), or the numbers of a part. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/json/number_scan.h"
#include "api/json/utf8.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/data/dialect/text_encoding.h"
#include "engine/data/formats/csv_faults.h"
#include "engine/data/formats/csv_rows.h"
#include "engine/data/formats/format.h"
#include "engine/data/tables/typed_table.h"

enum { PROBE_BYTES = 4096 };

/* Any text may be a CSV; this one is asked last. */
static bool recognise(const uint8_t *bytes, size_t size) {
  size_t probe = size < PROBE_BYTES ? size : PROBE_BYTES;
  if (ep_text_utf_16(bytes, size) != EP_TEXT_UTF_8 || ep_text_is_utf_32(bytes, size)) return true;
  for (size_t i = 0; i < probe; i++)
    if (bytes[i] < 0x20 && bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\t') return false;
  return size > 0;
}

static ep_status cell_refuse(const ep_part_writer *writer, const ep_table_cell *cell,
                             ep_error *error) {
  char label[EP_COLUMN_LABEL_BYTES], shown[EP_EXCERPT_BYTES];
  long long line = (long long)cell->line;
  size_t sign = cell->bytes > 0 && (*cell->text == '-' || *cell->text == '+');
  bool nan = cell->bytes - sign == 3 && strncasecmp(cell->text + sign, "nan", 3) == 0;
  double value;
  ep_column_label(writer->column, cell->column, label);
  if (cell->bytes == 0)
    return ep_fail(error, EP_INVALID, "row %lld, %s: the value is missing", line, label);
  if (nan || ep_cell_number_read('.', 0, cell->text, cell->bytes, &value))
    return ep_number_infinite_refuse(line, label, cell->text, cell->bytes, error);
  return ep_fail(error, EP_INVALID, "row %lld, %s: \"%s\" is not a number", line, label,
                 ep_excerpt(shown, cell->text, cell->bytes));
}

static ep_status number_store(void *context, const ep_table_cell *cell, ep_error *error) {
  ep_part_writer *writer = context;
  double *out = (double *)ep_part_writer_next(writer) + cell->column;
  const char *end = cell->text + cell->bytes;
  *out = cell->value;
  bool number = cell->plain || /* or in quotes */
                (ep_number_scan(cell->text, end, EP_NUMBER_CSV, out) == end && isfinite(*out));
  return number ? EP_OK : cell_refuse(writer, cell, error);
}

static ep_status numbers_commit(void *context, ep_error *error) {
  return ep_part_writer_commit(context, error);
}

/* x or y of a split. */
static ep_status numbers_read(ep_ingest *ingest, ep_csv_layout *layout, ep_csv_cell *cell,
                              ep_error *error) {
  ep_part_writer writer = {0};
  ep_dialect *dialect = &layout->found.dialect;
  ep_csv_table table = ep_csv_table_of(layout, dialect, cell, &layout->notes);
  ep_column *column;
  if (ep_dialect_has(dialect, EP_DIALECT_MISSING) && dialect->missing[0])
    return ep_fail(error, EP_INVALID,
                   "?missing= requires a table: separate x and y cannot have missing cells");
  ep_status status = ep_csv_columns_read(layout, cell, &column, error);
  if (status != EP_OK) return status;
  status = ep_part_writer_open(&writer, ingest->folder, ingest->split, ingest->role, EP_DTYPE_F64,
                               layout->columns, column, &ingest->budget_bytes, error);
  if (status == EP_OK)
    status = table.rows.walk(&table.rows, number_store, numbers_commit, &writer, error);
  if (status == EP_OK)
    status =
        ep_part_writer_finish(&writer, &ingest->meta->part[ingest->split][ingest->role], error);
  ep_part_writer_abandon(&writer);
  ep_dialect_plain(&layout->found);
  return status;
}

/* The line of names is the first row. */
static void names_give(ep_table_rows *rows) {
  ep_csv_layout *layout = ((ep_csv_table *)rows)->layout;
  layout->found.dialect.header = false;
  snprintf(layout->found.evidence[EP_DIALECT_HEADER], EP_DIALECT_EVIDENCE_BYTES,
           "its cells are words and numbers of the columns below");
  layout->rows = layout->header;
  ((ep_csv_table *)rows)->notes = &layout->notes;
}

/* A header may be a row, unless the options decide it. */
static ep_status typed_read(ep_ingest *ingest, ep_csv_layout *layout, ep_csv_cell *cell,
                            ep_error *error) {
  ep_dialect *dialect = &layout->found.dialect;
  ep_csv_table table = ep_csv_table_of(layout, dialect, cell, &layout->notes);
  ep_column *names;
  ep_status status = ep_csv_columns_read(layout, cell, &names, error);
  if (status != EP_OK) return status;
  if (!ep_dialect_has(&ingest->options.dialect, EP_DIALECT_HEADER) && dialect->header &&
      !dialect->row_names)
    table.rows.names_give = names_give;
  status = ep_typed_table_read(&table.rows, names, ingest->folder, &ingest->budget_bytes,
                               &layout->notes, ingest->meta, error);
  free(names);
  return status;
}

static ep_status text_open(ep_ingest *ingest, ep_dialect_record *record, ep_text *out,
                           ep_error *error) {
  ep_dialect *dialect = &record->dialect;
  ep_status status = EP_OK;
  if (ep_text_is_utf_32(ingest->bytes, ingest->size))
    return ep_fail(
        error, EP_INVALID,
        "the text is UTF-32: save it as UTF-8; ?encoding= takes " EP_TEXT_ENCODING_NAMES);
  *dialect = ingest->options.dialect;
  if (!ep_dialect_has(dialect, EP_DIALECT_ENCODING))
    status = ep_text_encoding_find(ingest->bytes, ingest->size, ingest->mapped, &dialect->encoding,
                                   record->evidence[EP_DIALECT_ENCODING], error);
  if (status != EP_OK) return status;
  dialect->set |= UINT32_C(1) << EP_DIALECT_ENCODING;
  return ep_text_open(dialect->encoding, ingest->bytes, ingest->size, ingest->folder,
                      &ingest->budget_bytes, out, error);
}

/* What is said of an encoding that is only likely. */
static void encoding_note(ep_csv_layout *layout) {
  if (layout->found.dialect.encoding != EP_TEXT_WINDOWS_1252 ||
      !layout->found.evidence[EP_DIALECT_ENCODING][0])
    return;
  ep_notes_add(&layout->notes,
               "read as windows-1252, since %s: where that is another letter, as in Mac Roman or "
               "ISO 8859-2, save the text as UTF-8; ?encoding= takes " EP_TEXT_ENCODING_NAMES,
               layout->found.evidence[EP_DIALECT_ENCODING]);
}

/* A text of another encoding than all that are known is read as UTF-8, up to a byte that is none.
 */
static void encodings_tell(const ep_text *text, ep_error *error) {
  size_t used = strlen(error->message);
  if (ep_utf8_valid(text->start, text->size)) return;
  snprintf(error->message + used, sizeof error->message - used,
           "; ?encoding= takes " EP_TEXT_ENCODING_NAMES ": save a text in any other as UTF-8");
}

static ep_status dialect_keep(ep_dataset_meta *meta, const ep_csv_layout *layout, ep_error *error) {
  meta->notes = layout->notes;
  meta->dialect = malloc(sizeof *meta->dialect);
  if (!meta->dialect) return ep_fail_memory(error);
  *meta->dialect = layout->found;
  return EP_OK;
}

static ep_status text_read(ep_ingest *ingest, const ep_text *text, const ep_dialect_record *record,
                           ep_csv_cell *cell, ep_error *error) {
  ep_csv_layout layout;
  bool table = ingest->role == EP_ROLE_TABLE;
  const ep_csv_source source = {.start = text->start,
                                .end = text->start + text->size,
                                .mapped = ingest->mapped || text->decoded.bytes,
                                .table = table};
  if (text->size == 0) return ep_fail(error, EP_INVALID, "the text is empty");
  ep_status status = ep_csv_layout_find(&source, &record->dialect, cell, &layout, error);
  if (status != EP_OK) return status;
  memcpy(layout.found.evidence[EP_DIALECT_ENCODING], record->evidence[EP_DIALECT_ENCODING],
         sizeof record->evidence[EP_DIALECT_ENCODING]);
  encoding_note(&layout);
  status =
      table ? typed_read(ingest, &layout, cell, error) : numbers_read(ingest, &layout, cell, error);
  if (status == EP_INVALID) ep_csv_faults_tell(&layout, !table, cell, error);
  if (status == EP_INVALID && error) encodings_tell(text, error);
  if (status == EP_OK) status = dialect_keep(ingest->meta, &layout, error);
  free(layout.labels.name);
  return status;
}

static ep_status read_csv(ep_ingest *ingest, ep_error *error) {
  ep_dialect_record record = {0};
  ep_text text = {0};
  ep_csv_cell *cell = malloc(sizeof *cell);
  if (!cell) return ep_fail_memory(error);
  ep_status status = text_open(ingest, &record, &text, error);
  if (status == EP_OK) status = text_read(ingest, &text, &record, cell, error);
  ep_mapping_close(&text.decoded);
  free(cell);
  return status;
}

const ep_format ep_format_csv = {"csv", recognise, read_csv};
