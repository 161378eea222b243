/* json.c: what a JSON text is: the flat form, a table in one of its layouts (json_table.h), or an
 * object of several of these, of which ?table= names one. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/dialect/sample.h"
#include "engine/data/dialect/text_encoding.h"
#include "engine/data/formats/flat_json.h"
#include "engine/data/tables/json_table.h"
#include "engine/data/tables/typed_table.h"

enum { MEMBERS = 64 }; /* of an object, that are known by name: more are columns, or cells */

typedef struct {
  char name[EP_LIMIT_NAME_BYTES + 1];
  ep_scanner value; /* from its first byte to behind its last */
  char first;       /* its first byte */
} member;

/* What stands at the start of a text that begins with '{'. */
typedef struct {
  member member[MEMBERS];
  int count;
  int64_t members, containers, lists; /* all; arrays or objects; those with no other in them, */
  int64_t objects;                    /* and objects alone */
  bool complete;                      /* the object is JSON; */
  ep_scanner behind;                  /* what follows it */
} outline;

/* UTF-16 is known by a mark or its zeros, and then a space may be any of the two bytes. */
static bool recognise(const uint8_t *bytes, size_t size) {
  const char *start = (const char *)bytes;
  ep_scanner scan = {start, start + size};
  if (ep_text_utf_16(bytes, size) != EP_TEXT_UTF_8)
    while (scan.at < scan.end && !isgraph((unsigned char)*scan.at)) scan.at++;
  ep_scan_mark(&scan);
  char first = ep_scan_peek(&scan);
  return first == '{' || first == '[';
}

static bool is_container(char first) {
  return first == '{' || first == '[';
}

/* An array or an object of plain values, one at least. */
static bool is_list(ep_scanner value) {
  char key[1];
  bool object = ep_scan_token(&value, '{');
  if (!object && !ep_scan_token(&value, '[')) return false;
  do {
    if (object && (!ep_scan_string(&value, key, sizeof key) || !ep_scan_token(&value, ':')))
      return false;
    if (is_container(ep_scan_peek(&value)) || !ep_scan_skip_python(&value)) return false;
  } while (ep_scan_token(&value, ','));
  return true;
}

static bool member_find(ep_scanner *scan, outline *out) {
  member unused, *found = out->count < MEMBERS ? &out->member[out->count] : &unused;
  if (!ep_scan_string(scan, found->name, sizeof found->name) || !ep_scan_token(scan, ':'))
    return false;
  found->first = ep_scan_peek(scan);
  found->value = *scan;
  if (!ep_scan_skip_python(scan)) return false;
  found->value.end = scan->at;
  out->members++;
  out->containers += is_container(found->first);
  bool list = is_list(found->value);
  out->lists += list;
  out->objects += list && found->first == '{';
  if (out->count < MEMBERS) out->count++;
  return true;
}

static void outline_find(ep_scanner scan, outline *out) {
  *out = (outline){.count = 0};
  bool more = ep_scan_token(&scan, '{');
  while (more && member_find(&scan, out)) more = ep_scan_token(&scan, ',');
  out->complete = out->members > 0 && ep_scan_token(&scan, '}');
  out->behind = scan;
}

static const member *member_named(const outline *found, const char *name) {
  for (int i = 0; i < found->count; i++)
    if (strcmp(found->member[i].name, name) == 0) return &found->member[i];
  return NULL;
}

static bool has_array(const outline *found, const char *name) {
  const member *it = member_named(found, name);
  return it && it->first == '[';
}

/* Marks of numbers in strings, where they are not plain. */
static ep_status dialect_keep(ep_ingest *ingest, const ep_dialect *dialect, ep_error *error) {
  bool plain = dialect->decimal == '.' && !dialect->thousands;
  if (plain && ingest->options.dialect.set == 0) return EP_OK;
  ingest->meta->dialect = calloc(1, sizeof *ingest->meta->dialect);
  if (!ingest->meta->dialect) return ep_fail_memory(error);
  ingest->meta->dialect->dialect = *dialect;
  return EP_OK;
}

/* Arrays and objects are words or text, which no one meant them to be. */
static ep_status nested_note(const ep_dataset_meta *meta, const ep_json_table *table,
                             ep_error *error) {
  char note[128];
  for (int64_t i = 0; i < table->rows.columns; i++) {
    ep_column *column = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].column[i];
    if (table->nested[i] == 0) continue;
    snprintf(note, sizeof note,
             "row %lld has an array or an object, which is read as a word: use a column for each "
             "of its values",
             (long long)table->nested[i]);
    ep_status status = ep_column_note_set(column, note, error);
    if (status != EP_OK) return status;
  }
  return EP_OK;
}

static ep_status table_store(ep_ingest *ingest, ep_json_table *table, ep_error *error) {
  ep_dialect dialect = ingest->options.dialect;
  table->rows.dialect = &dialect;
  ep_status status =
      ep_typed_table_read(&table->rows, table->column, ingest->folder, &ingest->budget_bytes,
                          &ingest->meta->notes, ingest->meta, error);
  if (status == EP_OK) status = nested_note(ingest->meta, table, error);
  return status == EP_OK ? dialect_keep(ingest, &dialect, error) : status;
}

/* The table becomes the part of the ingest. */
static ep_status table_read(ep_ingest *ingest, ep_json_layout layout, ep_json_text text,
                            const ep_json_text *names, ep_error *error) {
  ep_json_table table;
  ep_scanner behind;
  ep_status status = ep_json_table_open(layout, text, names, &table, &behind, error);
  if (status == EP_OK) text.left = behind;
  if (status == EP_OK && ep_scan_peek(&text.left) != 0)
    status = ep_json_unexpected(&text, "the end of the table", error);
  if (status == EP_OK) status = table_store(ingest, &table, error);
  ep_json_table_close(&table);
  return status;
}

/* [{…}, …] or [[…], …]; names: as ep_json_table_open has them. */
static ep_status list_read(ep_ingest *ingest, ep_json_text text, const ep_json_text *names,
                           ep_error *error) {
  ep_status status = ep_json_token_read(&text, '[', "an array of rows", error);
  if (status != EP_OK) return status;
  char first = ep_scan_peek(&text.left);
  if (first == '{') return table_read(ingest, EP_JSON_RECORDS, text, NULL, error);
  if (first == '[' || first == ']') return table_read(ingest, EP_JSON_ROWS, text, names, error);
  return ep_json_unexpected(&text, "a row (an object or an array)", error);
}

/* "linear", "logistic": those of the members that may be tables. */
static void names_list(const outline *found, char *out, size_t room) {
  char shown[EP_EXCERPT_BYTES];
  size_t used = 0;
  *out = 0;
  for (int i = 0; i < found->count; i++) {
    const char *name = found->member[i].name;
    if (!is_container(found->member[i].first)) continue;
    int bytes = snprintf(out + used, room - used, "%s\"%s\"", used ? ", " : "",
                         ep_excerpt(shown, name, strlen(name)));
    if (bytes < 0 || used + (size_t)bytes + 8 >= room) { /* an ellipsis still fits */
      snprintf(out + used, room - used, ", …");
      return;
    }
    used += (size_t)bytes;
  }
}

static ep_status text_read(ep_ingest *ingest, ep_json_text text, const char *table,
                           ep_error *error);

static ep_status several_read(ep_ingest *ingest, ep_json_text text, const outline *found,
                              const char *table, ep_error *error) {
  enum { NAMES_BYTES = EP_MESSAGE_BYTES / 2 };
  char names[NAMES_BYTES], shown[EP_EXCERPT_BYTES];
  names_list(found, names, sizeof names);
  if (!table || !table[0])
    return ep_fail(
        error, EP_INVALID,
        "JSON: an object of several tables: choose one with ?table=NAME; the tables are %s", names);
  const member *it = member_named(found, table);
  if (!it || !is_container(it->first))
    return ep_fail(error, EP_INVALID, "JSON: no table named \"%s\"; the tables are %s",
                   ep_excerpt(shown, table, strlen(table)), names);
  text.left = it->value;
  return text_read(ingest, text, NULL, error);
}

/* {"columns": ["a", "b"], "data": [[1, 2], …]}, and "rows" for "data"; other members say nothing.
 */
static ep_status split_read(ep_ingest *ingest, ep_json_text text, const outline *found,
                            ep_error *error) {
  ep_json_text names = {text.start, member_named(found, "columns")->value};
  text.left = member_named(found, has_array(found, "data") ? "data" : "rows")->value;
  return list_read(ingest, text, &names, error);
}

/* What an object of objects may be: columns that have the keys of rows, or rows that have those of
 * columns. */
typedef struct {
  bool outer_counted, inner_counted; /* the keys are 0, 1, 2, … */
  bool outer_figures, inner_figures; /* they are numbers or dates */
  bool alike;                        /* all members have the same keys */
  bool columns, rows;                /* the cells of a member are of one type; those of a key are */
} direction;

typedef enum { COLUMNS, ROWS, EITHER } objects_layout;

/* Takes a value; 0 where it is missing. */
static int type_take(ep_scanner *scan) {
  enum { TEXT_BYTES = 64, BOOLEAN = EP_SHAPE_ODD + 1 };
  char text[TEXT_BYTES], first = ep_scan_peek(scan);
  if (first == '"') {
    ep_scan_string(scan, text, sizeof text);
    ep_cell_shape shape = ep_cell_shape_of(text, strlen(text));
    return (int)(shape == EP_SHAPE_ODD ? EP_SHAPE_WORD : shape);
  }
  ep_scan_skip_python(scan);
  if (first == 'n' || first == 'N') return EP_SHAPE_EMPTY;
  return first == 't' || first == 'f' ? BOOLEAN : EP_SHAPE_NUMBER;
}

static void key_look(const char *key, int64_t place, bool *counted, bool *figures) {
  char number[24];
  snprintf(number, sizeof number, "%lld", (long long)place);
  ep_cell_shape shape = *figures ? ep_cell_shape_of(key, strlen(key)) : EP_SHAPE_WORD;
  *counted = *counted && strcmp(key, number) == 0;
  *figures = *figures && (shape == EP_SHAPE_NUMBER || shape == EP_SHAPE_DATE);
}

/* Takes a member, and compares it with the first one. */
static void member_look(ep_scanner *scan, ep_scanner first, direction *out) {
  char key[EP_LIMIT_NAME_BYTES + 1], other_key[EP_LIMIT_NAME_BYTES + 1];
  int own = EP_SHAPE_EMPTY;
  int64_t place = 0;
  ep_scan_token(scan, '{');
  ep_scan_token(&first, '{');
  do {
    bool other = ep_scan_string(&first, other_key, sizeof other_key) && ep_scan_token(&first, ':');
    if (!ep_scan_string(scan, key, sizeof key) || !ep_scan_token(scan, ':')) return;
    key_look(key, place++, &out->inner_counted, &out->inner_figures);
    out->alike = out->alike && other && strcmp(key, other_key) == 0;
    int type = type_take(scan), first_type = other ? type_take(&first) : EP_SHAPE_EMPTY;
    out->columns = out->columns && (!type || !own || type == own);
    out->rows = out->rows && (!type || !first_type || type == first_type);
    own = type ? type : own;
    ep_scan_token(&first, ',');
  } while (ep_scan_token(scan, ','));
  ep_scan_token(scan, '}');
  out->alike = out->alike && ep_scan_peek(&first) == '}';
}

static direction direction_find(ep_scanner scan) {
  direction out = {true, true, true, true, true, true, true};
  ep_scanner first = {NULL, NULL};
  char key[EP_LIMIT_NAME_BYTES + 1];
  int64_t place = 0;
  ep_scan_token(&scan, '{');
  do {
    if (!ep_scan_string(&scan, key, sizeof key) || !ep_scan_token(&scan, ':')) break;
    key_look(key, place, &out.outer_counted, &out.outer_figures);
    if (place++ == 0) first = scan;
    member_look(&scan, first, &out);
  } while (ep_scan_token(&scan, ','));
  return out;
}

static objects_layout layout_of(const direction *found) {
  if (found->inner_counted)
    return found->outer_counted && found->rows && !found->columns ? ROWS : COLUMNS;
  if (found->outer_counted) return ROWS;
  bool figures = found->inner_figures && !found->outer_figures;
  if (!found->alike) return figures ? COLUMNS : ROWS;
  if (found->rows != found->columns) return found->rows ? ROWS : COLUMNS;
  return figures ? COLUMNS : EITHER;
}

/* pandas' orient="columns" and orient="index", and records by an identifier. */
static ep_status objects_read(ep_ingest *ingest, ep_json_text text, ep_error *error) {
  const direction found = direction_find(text.left);
  objects_layout layout = layout_of(&found);
  if (layout == EITHER)
    return ep_fail(error, EP_INVALID,
                   "JSON: an object of objects, which may be its rows or its columns: use an array "
                   "of records, [{\"a\": 1}, …] (pandas: orient=\"records\")");
  if (layout == ROWS)
    ep_notes_add(&ingest->meta->notes,
                 "the members of the object are read as rows, as pandas' orient=\"index\" has "
                 "them; their keys, which name the rows, are left out");
  else if (!found.inner_counted)
    ep_notes_add(&ingest->meta->notes,
                 "the members of the object are read as columns, as pandas' orient=\"columns\" has "
                 "them; the keys within them, which name the rows, are left out");
  if (layout == ROWS) ep_scan_token(&text.left, '{');
  return table_read(ingest, layout == ROWS ? EP_JSON_MEMBERS : EP_JSON_COLUMNS, text, NULL, error);
}

/* more: another object follows. A file that begins as the flat form does is told what that lacks.
 */
static bool is_flat(const outline *found, bool more) {
  const char *first = found->member[0].name;
  return has_array(found, "x") || has_array(found, "y") || found->members == 0 ||
         (!more && ep_flat_json_has_key(first, strlen(first)));
}

static ep_status object_read(ep_ingest *ingest, ep_json_text text, const char *table,
                             ep_error *error) {
  outline found;
  outline_find(text.left, &found);
  bool alone = found.complete && ep_scan_peek(&found.behind) == 0;
  if (table && table[0] && alone) return several_read(ingest, text, &found, table, error);
  if (has_array(&found, "columns") && (has_array(&found, "data") || has_array(&found, "rows")))
    return split_read(ingest, text, &found, error);
  if (alone && found.objects == found.members) return objects_read(ingest, text, error);
  if (is_flat(&found, found.complete && !alone)) return ep_flat_json_read(ingest, text, error);
  if (alone && found.lists == found.members)
    return table_read(ingest, EP_JSON_COLUMNS, text, NULL, error);
  if (alone && found.containers > 0) return several_read(ingest, text, &found, table, error);
  if (!alone) snprintf(ingest->meta->format, sizeof ingest->meta->format, "ndjson");
  return table_read(ingest, EP_JSON_LINES, text, NULL, error);
}

static ep_status text_read(ep_ingest *ingest, ep_json_text text, const char *table,
                           ep_error *error) {
  if (ep_scan_peek(&text.left) == '{') return object_read(ingest, text, table, error);
  if (table && table[0])
    return ep_fail(error, EP_INVALID,
                   "JSON: ?table= selects a member of an object: this is a single table");
  return list_read(ingest, text, NULL, error);
}

static ep_status read_json(ep_ingest *ingest, ep_error *error) {
  ep_text in;
  if (ingest->role != EP_ROLE_TABLE)
    return ep_fail(error, EP_INVALID,
                   "JSON: the file has all columns: upload it as the whole dataset, not as a part");
  ep_status status = ep_text_open(ep_text_utf_16(ingest->bytes, ingest->size), ingest->bytes,
                                  ingest->size, ingest->folder, &ingest->budget_bytes, &in, error);
  ep_json_text text = {in.start, {in.start, in.start + in.size}};
  if (status == EP_OK) status = text_read(ingest, text, ingest->options.table, error);
  ep_mapping_close(&in.decoded);
  return status;
}

const ep_format ep_format_json = {"json", recognise, read_json};
