#include "engine/data/tables/json_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/number.h"
#include "api/json/utf8.h"

/* What is done with the cells of a walk. */
typedef struct {
  ep_json_table *table;
  ep_table_cell_read read;
  ep_table_row_end end;
  void *context;
} walker;

/* A number in the spelling that it has in predictions: 1e5 and 100000.0 are 100000. */
static void number_spell(ep_json_cell *cell) {
  enum { DIGITS_MOST = 17 }; /* that a double needs */
  double value;
  bool fraction = memchr(cell->text, '.', cell->bytes),
       exponent = memchr(cell->text, 'e', cell->bytes) || memchr(cell->text, 'E', cell->bytes),
       zeros = cell->text[cell->bytes - 1] == '0';
  if (!exponent && !(fraction && (zeros || cell->bytes > DIGITS_MOST))) return;
  if (!ep_cell_number_read('.', 0, cell->text, cell->bytes, &value) || !isfinite(value)) return;
  cell->bytes = ep_number_format(value, cell->decoded);
  cell->text = cell->decoded;
}

static ep_status cell_give(const walker *walk, int64_t column, ep_error *error) {
  ep_json_cell *cell = walk->table->cell;
  if (cell->number) number_spell(cell);
  ep_table_cell given = ep_table_cell_make(cell->text, cell->bytes, walk->table->row, column);
  given.number = cell->number;
  int64_t *nested = walk->table->nested;
  if (cell->nested && nested && nested[column] == 0) nested[column] = given.line;
  return walk->read(walk->context, &given, error);
}

static ep_status column_add(ep_json_table *table, ep_error *error) {
  const ep_json_cell *name = table->cell;
  int64_t count = table->rows.columns;
  if (count == EP_LIMIT_COLUMNS)
    return ep_fail(error, EP_TOO_LARGE, "JSON: more than %d columns", EP_LIMIT_COLUMNS);
  if (name->bytes > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "JSON, row %lld: a name of %zu bytes: the limit is %d",
                   (long long)table->row, name->bytes, EP_LIMIT_NAME_BYTES);
  if (!ep_utf8_valid(name->text, name->bytes) || memchr(name->text, 0, name->bytes))
    return ep_fail(error, EP_INVALID, "JSON, row %lld: a name is not UTF-8 text",
                   (long long)table->row);
  if ((count & (count - 1)) == 0) { /* a power of two: it is full */
    size_t room = count ? 2 * (size_t)count : 1;
    ep_column *column = realloc(table->column, room * sizeof *column);
    if (!column) return ep_fail_memory(error);
    table->column = column;
  }
  ep_column *column = &table->column[count];
  *column = (ep_column){0};
  for (size_t i = 0; i < name->bytes; i++) {
    unsigned char c = (unsigned char)name->text[i];
    column->name[i] = c < 0x20 || c == 0x7F ? ' ' : (char)c;
  }
  table->rows.columns++;
  return EP_OK;
}

/* The column of the key that was read; *next is a guess, and then the next one. */
static int64_t key_find(const ep_json_table *table, int64_t *next) {
  const ep_json_cell *key = table->cell;
  int64_t found = *next;
  bool guessed = found < table->rows.columns && strlen(table->column[found].name) == key->bytes &&
                 memcmp(table->column[found].name, key->text, key->bytes) == 0;
  if (!guessed) found = ep_word_set_find(&table->names, key->text, key->bytes);
  *next = found + 1;
  return found;
}

/* Rows, one after the other: table->row counts them. */
typedef ep_status (*row_read)(const walker *walk, ep_json_text *text, ep_error *error);

static ep_status rows_walk(const walker *walk, ep_json_text *text, row_read read, ep_error *error) {
  ep_json_table *table = walk->table;
  ep_status status = EP_OK;
  bool lines = table->layout == EP_JSON_LINES, members = table->layout == EP_JSON_MEMBERS;
  char end = members ? '}' : ']';
  bool more = lines ? ep_scan_peek(&text->left) != 0 : !ep_scan_token(&text->left, end);
  table->row = 0;
  if (!more) return ep_fail(error, EP_INVALID, "no rows of data");
  while (status == EP_OK && more) {
    table->row++;
    if (members) status = ep_json_key_read(text, table->cell, error);
    ep_scan_peek(&text->left); /* behind white space */
    table->rows.row_start = text->left.at;
    if (status == EP_OK) status = read(walk, text, error);
    table->rows.row_end = text->left.at;
    if (status == EP_OK && walk->end) status = walk->end(walk->context, error);
    more = lines ? ep_scan_peek(&text->left) != 0 : ep_scan_token(&text->left, ',');
  }
  if (status != EP_OK || lines) return status;
  return ep_json_token_read(
      text, end, members ? "a comma or a closing brace" : "a comma or a closing bracket", error);
}

/* A member of a record whose key was read. */
static ep_status member_read(const walker *walk, ep_json_text *text, int64_t column,
                             ep_error *error) {
  ep_json_table *table = walk->table;
  if (table->seen[column] == table->row)
    return ep_fail(error, EP_INVALID, "JSON, row %lld: duplicate key \"%s\"", (long long)table->row,
                   table->column[column].name);
  table->seen[column] = table->row;
  ep_status status = ep_json_cell_read(text, table->cell, error);
  return status == EP_OK ? cell_give(walk, column, error) : status;
}

static ep_status record_read(const walker *walk, ep_json_text *text, ep_error *error) {
  ep_json_table *table = walk->table;
  int64_t next = 0;
  ep_status status = ep_json_token_read(text, '{', "a record (an object)", error);
  if (status != EP_OK) return status;
  bool more = !ep_scan_token(&text->left, '}');
  bool empty = !more;
  while (status == EP_OK && more) {
    status = ep_json_key_read(text, table->cell, error);
    if (status == EP_OK) status = member_read(walk, text, key_find(table, &next), error);
    more = ep_scan_token(&text->left, ',');
  }
  if (status == EP_OK && !empty)
    status = ep_json_token_read(text, '}', "a comma or a closing brace", error);
  table->cell->bytes = 0;
  table->cell->number = false;
  table->cell->nested = false;
  for (int64_t i = 0; i < table->rows.columns && status == EP_OK; i++)
    if (table->seen[i] != table->row) status = cell_give(walk, i, error);
  return status;
}

static ep_status count_refuse(const ep_json_table *table, const char *more, int64_t cells,
                              ep_error *error) {
  return ep_fail(error, EP_INVALID, "JSON, row %lld has %s%lld cell%s, not %lld",
                 (long long)table->row, more, (long long)cells, cells == 1 ? "" : "s",
                 (long long)table->rows.columns);
}

static ep_status cells_read(const walker *walk, ep_json_text *text, ep_error *error) {
  ep_json_table *table = walk->table;
  int64_t column = 0, columns = table->rows.columns;
  ep_status status = ep_json_token_read(text, '[', "a row (an array)", error);
  if (status != EP_OK) return status;
  if (ep_scan_token(&text->left, ']')) return count_refuse(table, "", 0, error);
  do {
    status = ep_json_cell_read(text, table->cell, error);
    if (status == EP_OK && column == columns)
      return count_refuse(table, "more than ", column, error);
    if (status == EP_OK) status = cell_give(walk, column++, error);
  } while (status == EP_OK && ep_scan_token(&text->left, ','));
  if (status == EP_OK)
    status = ep_json_token_read(text, ']', "a comma or a closing bracket", error);
  if (status == EP_OK && column < columns) return count_refuse(table, "", column, error);
  return status;
}

/* Cells of a row have the same key in all columns: they are told apart by where they stand. */
static ep_status key_check(ep_json_table *table, int64_t column, ep_error *error) {
  enum { SHOWN_BYTES = 24 };
  const ep_json_cell *key = table->cell;
  char shown[EP_EXCERPT_BYTES];
  if (column == 0) table->key = key->text == key->decoded ? NULL : key->text;
  if (column == 0) table->key_bytes = key->bytes;
  if (!table->key || key->text == key->decoded ||
      (key->bytes == table->key_bytes && memcmp(key->text, table->key, key->bytes) == 0))
    return EP_OK;
  return ep_fail(
      error, EP_INVALID,
      "JSON, row %lld: column \"%s\" has the key \"%s\", and column \"%s\" has a different one",
      (long long)table->row, table->column[column].name,
      ep_excerpt(shown, key->text, key->bytes < SHOWN_BYTES ? key->bytes : SHOWN_BYTES),
      table->column[0].name);
}

/* The next cell of one column; *there is false behind the last. */
static ep_status column_cell(ep_json_table *table, int64_t column, bool *there, ep_error *error) {
  ep_json_text text = {table->text.start, table->cursor[column]};
  ep_status status = EP_OK;
  *there = !ep_scan_token(&text.left, table->objects ? '}' : ']');
  if (!*there) return EP_OK;
  if (table->row > 1) status = ep_json_token_read(&text, ',', "a comma", error);
  if (status == EP_OK && table->objects) status = ep_json_key_read(&text, table->cell, error);
  if (status == EP_OK && table->objects) status = key_check(table, column, error);
  if (status == EP_OK) status = ep_json_cell_read(&text, table->cell, error);
  table->cursor[column] = text.left;
  return status;
}

static ep_status column_row(const walker *walk, bool *there, ep_error *error) {
  ep_json_table *table = walk->table;
  ep_status status = EP_OK;
  for (int64_t i = 0; i < table->rows.columns && status == EP_OK; i++) {
    bool has = false;
    status = column_cell(table, i, &has, error);
    if (status == EP_OK && i > 0 && has != *there)
      return ep_fail(error, EP_INVALID, "JSON: column \"%s\" has %s cells than column \"%s\"",
                     table->column[i].name, has ? "more" : "fewer", table->column[0].name);
    *there = has;
    if (status == EP_OK && has) status = cell_give(walk, i, error);
  }
  return status;
}

static ep_status cursors_set(ep_json_table *table, ep_error *error) {
  ep_json_text text = table->text;
  ep_status status = ep_json_token_read(&text, '{', "an object", error);
  for (int64_t i = 0; i < table->rows.columns && status == EP_OK; i++) {
    if (i > 0) status = ep_json_token_read(&text, ',', "a comma", error);
    if (status == EP_OK) status = ep_json_key_read(&text, table->cell, error);
    ep_scan_peek(&text.left);
    table->cursor[i] = text.left;
    table->cursor[i].at++; /* the bracket */
    if (status == EP_OK) ep_scan_skip_python(&text.left);
  }
  return status;
}

static ep_status columns_walk(const walker *walk, ep_error *error) {
  ep_json_table *table = walk->table;
  bool there = true;
  table->row = 1;
  ep_status status = cursors_set(table, error);
  while (status == EP_OK) {
    status = column_row(walk, &there, error);
    if (status != EP_OK || !there) break;
    if (walk->end) status = walk->end(walk->context, error);
    table->row++;
  }
  if (status == EP_OK && table->row == 1) return ep_fail(error, EP_INVALID, "no rows of data");
  return status;
}

static ep_status table_walk(ep_table_rows *rows, ep_table_cell_read read, ep_table_row_end end,
                            void *context, ep_error *error) {
  walker walk = {(ep_json_table *)rows, read, end, context};
  ep_json_text text = walk.table->text;
  if (walk.table->layout == EP_JSON_COLUMNS) return columns_walk(&walk, error);
  memset(walk.table->seen, 0, (size_t)rows->columns * sizeof *walk.table->seen);
  return rows_walk(&walk, &text, walk.table->layout == EP_JSON_ROWS ? cells_read : record_read,
                   error);
}

/* The walks that find the columns. */

static ep_status keys_gather(const walker *walk, ep_json_text *text, ep_error *error) {
  ep_json_table *table = walk->table;
  int64_t next = 0;
  ep_status status = ep_json_token_read(text, '{', "a record (an object)", error);
  if (status != EP_OK || ep_scan_token(&text->left, '}')) return status;
  do {
    status = ep_json_key_read(text, table->cell, error);
    if (status == EP_OK && key_find(table, &next) < 0) {
      status = column_add(table, error);
      if (status == EP_OK)
        status = ep_word_set_add(&table->names, table->cell->text, table->cell->bytes, error)
                     ? EP_OK
                     : EP_NO_MEMORY;
      next = table->rows.columns;
    }
    if (status == EP_OK) status = ep_json_cell_read(text, table->cell, error);
  } while (status == EP_OK && ep_scan_token(&text->left, ','));
  return status == EP_OK ? ep_json_token_read(text, '}', "a comma or a closing brace", error)
                         : status;
}

/* The columns of the first row; those of the others are counted by the walk for their kinds. */
static ep_status cells_count(const walker *walk, ep_json_text *text, ep_error *error) {
  ep_json_table *table = walk->table;
  ep_json_text row = *text;
  if (table->row == 1 && table->rows.columns == 0 && ep_scan_token(&row.left, '[')) do {
      ep_status status = ep_json_cell_read(&row, table->cell, error);
      table->cell->bytes = 0; /* it names nothing */
      if (status == EP_OK) status = column_add(table, error);
      if (status != EP_OK) return status;
    } while (ep_scan_token(&row.left, ','));
  return cells_read(walk, text, error);
}

static ep_status names_read(ep_json_table *table, ep_json_text text, ep_error *error) {
  ep_status status = ep_json_token_read(&text, '[', "an array of names", error);
  if (status != EP_OK || ep_scan_token(&text.left, ']')) return status;
  do {
    status = ep_json_cell_read(&text, table->cell, error);
    if (status == EP_OK && table->cell->nested)
      status = ep_fail(error, EP_INVALID, "JSON: the name of column %lld is an array or an object",
                       (long long)table->rows.columns + 1);
    if (status == EP_OK) status = column_add(table, error);
  } while (status == EP_OK && ep_scan_token(&text.left, ','));
  return status == EP_OK ? ep_json_token_read(&text, ']', "a comma or a closing bracket", error)
                         : status;
}

static ep_status columns_gather(ep_json_table *table, ep_json_text *text, ep_error *error) {
  ep_status status = ep_json_token_read(text, '{', "an object of columns", error);
  if (status != EP_OK) return status;
  do {
    status = ep_json_key_read(text, table->cell, error);
    if (status == EP_OK) status = column_add(table, error);
    table->objects = ep_scan_peek(&text->left) == '{';
    if (status == EP_OK && !ep_scan_skip_python(&text->left))
      status = ep_json_unexpected(text, "an array of cells", error);
  } while (status == EP_OK && ep_scan_token(&text->left, ','));
  return status == EP_OK ? ep_json_token_read(text, '}', "a comma or a closing brace", error)
                         : status;
}

static ep_status cell_ignore(void *context, const ep_table_cell *cell, ep_error *error) {
  (void)context, (void)cell, (void)error;
  return EP_OK;
}

static ep_status columns_find(ep_json_table *table, const ep_json_text *names, ep_scanner *behind,
                              ep_error *error) {
  ep_json_text text = table->text;
  walker walk = {.table = table, .read = cell_ignore};
  ep_status status = names ? names_read(table, *names, error) : EP_OK;
  if (status != EP_OK) return status;
  if (table->layout == EP_JSON_COLUMNS)
    status = columns_gather(table, &text, error);
  else
    status =
        rows_walk(&walk, &text, table->layout == EP_JSON_ROWS ? cells_count : keys_gather, error);
  if (status == EP_OK && table->rows.columns == 0)
    return ep_fail(error, EP_INVALID, "JSON: the rows have no cells");
  *behind = text.left;
  return status;
}

ep_status ep_json_table_open(ep_json_layout layout, ep_json_text text, const ep_json_text *names,
                             ep_json_table *out, ep_scanner *behind, ep_error *error) {
  *out = (ep_json_table){.rows = {.walk = table_walk},
                         .layout = layout,
                         .text = text,
                         .cell = malloc(sizeof *out->cell)};
  if (!out->cell) return ep_fail_memory(error);
  ep_status status = columns_find(out, names, behind, error);
  if (status != EP_OK) return status;
  out->seen = calloc((size_t)out->rows.columns, sizeof *out->seen);
  out->cursor = calloc((size_t)out->rows.columns, sizeof *out->cursor);
  out->nested = calloc((size_t)out->rows.columns, sizeof *out->nested);
  return out->seen && out->cursor && out->nested ? EP_OK : ep_fail_memory(error);
}

void ep_json_table_close(ep_json_table *table) {
  free(table->column);
  ep_word_set_deinit(&table->names);
  free(table->seen);
  free(table->nested);
  free(table->cursor);
  free(table->cell);
  *table = (ep_json_table){0};
}
