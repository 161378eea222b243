#include "engine/data/datasets/meta_parse.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/memory.h"
#include "api/json/scanner.h"
#include "api/json/writer.h"
#include "api/reserve.h"
#include "engine/data/datasets/column_json.h"
#include "engine/files/verified.h"

enum { KEY_BYTES = 16, PARTS = EP_SPLIT_COUNT * EP_ROLE_COUNT };

/* A text without its columns: {"parts":{"train":{"table":{…,"column":[]}}}}, and where they are. */
typedef struct {
  ep_scanner text;
  const char *from; /* what comes next is not yet in `rest` */
  ep_writer rest;
  char key[2][KEY_BYTES]; /* of the split and the role that are being read */
  struct {
    char split[KEY_BYTES], role[KEY_BYTES];
    ep_scanner text;
  } columns[PARTS];
  int count;
} cutter;

/* How far it came, when it fails. */
typedef struct {
  bool columns, no_memory;
  ep_status refused; /* by ep_reserve */
  int64_t reserved_bytes;
  ep_error *error;
} parsing;

/* How deep an object lies. */
enum { ROOT, SPLITS, ROLES, PART };

/* Takes the columns out, which come next. */
static bool columns_cut(cutter *cut) {
  const char *begin = cut->text.at;
  if (cut->count == PARTS || ep_scan_peek(&cut->text) != '[' || !ep_scan_skip(&cut->text))
    return false;
  ep_writer_bytes(&cut->rest, cut->from, (size_t)(begin - cut->from));
  ep_writer_bytes(&cut->rest, "[]", 2);
  cut->from = cut->text.at;
  memcpy(cut->columns[cut->count].split, cut->key[0], KEY_BYTES);
  memcpy(cut->columns[cut->count].role, cut->key[1], KEY_BYTES);
  cut->columns[cut->count++].text = (ep_scanner){begin, cut->text.at};
  return true;
}

static bool object_cut(cutter *cut, int depth) {
  ep_scanner *text = &cut->text;
  char key[KEY_BYTES];
  if (!ep_scan_token(text, '{')) return false;
  if (ep_scan_token(text, '}')) return true;
  do {
    bool ok = ep_scan_string(text, key, sizeof key) && ep_scan_token(text, ':');
    bool object = ep_scan_peek(text) == '{';
    if (depth == SPLITS || depth == ROLES) memcpy(cut->key[depth - SPLITS], key, sizeof key);
    if (ok && depth == PART && strcmp(key, "column") == 0)
      ok = columns_cut(cut);
    else if (ok && object && depth < PART && (depth > ROOT || strcmp(key, "parts") == 0))
      ok = object_cut(cut, depth + 1);
    else
      ok = ok && ep_scan_skip(text);
    if (!ok) return false;
  } while (ep_scan_token(text, ','));
  return ep_scan_token(text, '}');
}

/* NULL: the part has none. */
static const ep_scanner *cut_find(const cutter *cut, int split, int role) {
  for (int i = 0; i < cut->count; i++)
    if (strcmp(cut->columns[i].split, ep_split_name((ep_split)split)) == 0 &&
        strcmp(cut->columns[i].role, ep_role_name((ep_role)role)) == 0)
      return &cut->columns[i].text;
  return NULL;
}

/* A description without a shape is from before rows had one: they are flat. */
static bool shape_parse(const json_t *array, ep_part *out) {
  int64_t product = 1;
  out->dimensions = 1;
  out->shape[0] = out->columns;
  if (!array) return true;
  size_t dimensions = json_array_size(array);
  if (!json_is_array(array) || dimensions > EP_LIMIT_ROW_DIMENSIONS) return false;
  out->dimensions = (int)dimensions;
  for (size_t i = 0; i < dimensions; i++) {
    out->shape[i] = json_integer_value(json_array_get(array, i));
    if (out->shape[i] < 1 || __builtin_mul_overflow(product, out->shape[i], &product)) return false;
  }
  return product == out->columns;
}

/* The columns of a part, as text. Memory that they take is reserved first. */
static bool columns_parse(ep_scanner text, ep_part *out, parsing *parse) {
  const int64_t bytes = out->columns * (int64_t)sizeof *out->column + (text.end - text.at);
  parse->refused = ep_reserve(bytes, parse->error);
  if (parse->refused != EP_OK) return false;
  parse->reserved_bytes += bytes;
  out->column = calloc((size_t)out->columns, sizeof *out->column);
  parse->no_memory = !out->column;
  bool ok = out->column && ep_scan_token(&text, '[');
  for (int64_t i = 0; ok && i < out->columns; i++) {
    json_error_t fault;
    ok = i == 0 || ep_scan_token(&text, ',');
    ep_scan_peek(&text);
    const char *begin = text.at;
    ok = ok && ep_scan_skip(&text);
    json_t *column =
        ok ? ep_json_read(begin, (size_t)(text.at - begin), JSON_REJECT_DUPLICATES, &fault) : NULL;
    ok = column && ep_column_parse(column, &out->column[i], &parse->no_memory);
    json_decref(column);
  }
  return ok && ep_scan_token(&text, ']') && text.at == text.end;
}

/* columns: their text, found beside the object. */
static bool part_parse(const json_t *object, const ep_scanner *columns_text, ep_part *out,
                       parsing *parse) {
  json_int_t rows, columns, bytes = 0;
  const char *dtype, *sha256 = "";
  json_t *column, *shape = NULL;
  const char *checksum = "";
  int one_hot = 0;
  if (json_unpack((json_t *)object, "{s:I, s:I, s:s, s:o, s?o, s?b, s?s, s?I, s?s}", "rows", &rows,
                  "columns", &columns, "dtype", &dtype, "column", &column, "shape", &shape,
                  "one_hot", &one_hot, "sha256", &sha256, "bytes", &bytes, "checksum",
                  &checksum) != 0)
    return false;
  int type = ep_dtype_from_name(dtype);
  if (rows < 1 || rows > EP_LIMIT_ROWS || columns < 1 || columns > EP_LIMIT_COLUMNS || type < 0 ||
      !columns_text || strlen(sha256) >= sizeof out->sha256 ||
      strlen(checksum) >= sizeof out->checksum)
    return false;
  out->rows = rows;
  out->columns = columns;
  out->dtype = (ep_dtype)type;
  out->one_hot = one_hot;
  out->bytes = bytes;
  memcpy(out->sha256, sha256, strlen(sha256) + 1);
  memcpy(out->checksum, checksum, strlen(checksum) + 1);
  return shape_parse(shape, out) && (!parse->columns || columns_parse(*columns_text, out, parse));
}

static bool classes_parse(const json_t *array, ep_dataset_meta *out, bool *no_memory) {
  size_t count = json_array_size(array);
  if (!array) return true;
  if (!json_is_array(array) || count < 1 || count > EP_LIMIT_CLASSES) return false;
  out->class_name = calloc(count, sizeof *out->class_name);
  *no_memory = !out->class_name;
  if (!out->class_name) return false;
  out->classes = (int)count;
  for (size_t i = 0; i < count; i++) {
    const char *name = json_string_value(json_array_get(array, i));
    if (!name || strlen(name) > EP_LIMIT_NAME_BYTES) return false;
    memcpy(out->class_name[i].name, name, strlen(name) + 1);
  }
  return true;
}

static bool dialect_parse(const json_t *object, ep_dataset_meta *out, bool *no_memory) {
  if (!object) return true;
  out->dialect = malloc(sizeof *out->dialect);
  *no_memory = !out->dialect;
  return out->dialect && ep_dialect_record_parse(object, out->dialect);
}

/* It becomes the name of a folder. Files that are mapped where they lie have none. */
static bool hash_is_one(const char *format, const char *sha256) {
  const size_t digits = strspn(sha256, "0123456789abcdef");
  return sha256[digits] == 0 &&
         (digits == EP_SHA256_HEX_BYTES - 1 || (digits == 0 && strcmp(format, "path") == 0));
}

static bool meta_parse(json_t *root, const cutter *cut, ep_dataset_meta *out, parsing *parse) {
  const char *format, *sha256, *file_sha256 = "", *checksum = "", *note = "";
  json_int_t bytes, tensors = 0, left_out = 0;
  json_t *parts, *classes = NULL, *dialect = NULL;
  if (json_unpack(root, "{s:s, s:s, s:I, s:o, s?I, s?s, s?o, s?I, s?s, s?o, s?s}", "format",
                  &format, "sha256", &sha256, "bytes", &bytes, "parts", &parts, "tensors", &tensors,
                  "weights_checksum", &checksum, "classes", &classes, "left_out", &left_out, "note",
                  &note, "dialect", &dialect, "file_sha256", &file_sha256) != 0)
    return false;
  if (strlen(format) >= sizeof out->format || !hash_is_one(format, sha256) ||
      !json_is_object(parts) || tensors < 0 || strlen(checksum) >= sizeof out->checksum ||
      strlen(file_sha256) >= sizeof out->file_sha256 || strlen(note) >= sizeof out->notes.text)
    return false;
  memcpy(out->notes.text, note, strlen(note) + 1);
  memcpy(out->format, format, strlen(format) + 1);
  memcpy(out->sha256, sha256, strlen(sha256) + 1);
  memcpy(out->file_sha256, file_sha256, strlen(file_sha256) + 1);
  out->bytes = bytes;
  out->tensors = tensors;
  out->left_out = left_out;
  memcpy(out->checksum, checksum, strlen(checksum) + 1);
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int role = 0; role < EP_ROLE_COUNT; role++) {
      json_t *part = json_object_get(json_object_get(parts, ep_split_name((ep_split)split)),
                                     ep_role_name((ep_role)role));
      if (part && !part_parse(part, cut_find(cut, split, role), &out->part[split][role], parse))
        return false;
    }
  return ep_faults_parse(json_object_get(root, "faults"), out) &&
         dialect_parse(dialect, out, &parse->no_memory) &&
         classes_parse(classes, out, &parse->no_memory);
}

/* The tree of the text without its columns; NULL with an empty fault->text: memory is short. */
static json_t *rest_read(cutter *cut, const char *text, size_t bytes, json_error_t *fault) {
  ep_writer_init(&cut->rest, bytes + 1);
  cut->text = (ep_scanner){text, text + bytes};
  cut->from = text;
  if (!object_cut(cut, ROOT)) { /* jansson says why */
    ep_writer_deinit(&cut->rest);
    return ep_json_read(text, bytes, JSON_REJECT_DUPLICATES, fault);
  }
  ep_writer_bytes(&cut->rest, cut->from, (size_t)(text + bytes - cut->from));
  json_t *root = NULL;
  fault->text[0] = 0;
  if (!cut->rest.failed)
    root = ep_json_read(cut->rest.text, cut->rest.count, JSON_REJECT_DUPLICATES, fault);
  ep_writer_deinit(&cut->rest);
  return root;
}

ep_status ep_meta_parse(const char *text, size_t bytes, const char *path, bool columns,
                        ep_dataset_meta *out, int64_t *reserved_bytes, ep_error *error) {
  json_error_t fault;
  cutter cut = {.count = 0};
  parsing parse = {.columns = columns, .error = error};
  ep_status status = EP_OK;
  json_t *root = rest_read(&cut, text, bytes, &fault);
  if (!root && !fault.text[0])
    status = ep_fail_memory(error);
  else if (!root)
    status = ep_fail(error, EP_DAMAGED, "%s is damaged (%s): upload the same data again",
                     ep_stored_name(path), fault.text);
  else if (!meta_parse(root, &cut, out, &parse))
    status = parse.refused != EP_OK ? parse.refused
             : parse.no_memory || ep_json_memory_short()
                 ? ep_fail_memory(error)
                 : ep_fail(error, EP_DAMAGED,
                           "%s is damaged (it describes no dataset): upload the same data "
                           "again",
                           ep_stored_name(path));
  json_decref(root);
  *reserved_bytes = parse.reserved_bytes;
  if (status != EP_OK) ep_dataset_meta_deinit(out);
  return status;
}
