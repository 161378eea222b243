/* meta.c: {"format":…,"sha256":…,"bytes":…,"faults":{…},"parts":{"train":{"table":{"rows":…,
 * "columns":…,"dtype":…,"shape":[…],"one_hot":…,"column":[…]}}}}; "shape" is a row's, columns and
 * faults are as in column_json.h; "note" (lines) and "dialect"
 * may be there. Of pictures: "classes":["cat",…] and
 * "left_out". A part has a "checksum" of its file; of weights: "tensors", and no parts. The last
 * member, "checksum", is that of the text before it. */
#include "engine/data/datasets/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/hash/checksum.h"
#include "api/json/memory.h"
#include "api/visibility.h"
#include "engine/data/arrays/npy_header.h"
#include "engine/data/datasets/cached_meta.h"
#include "engine/data/datasets/column_json.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/files/durable_file.h"
#include "engine/files/mapping.h"
#include "engine/files/path.h"
#include "engine/files/verified.h"

#define META_FILE "meta.json"

/* The end of the text: its checksum, and the brace that closes it. */
#define CHECKSUM_MEMBER ",\"checksum\":\""
enum { CHECKSUM_BYTES = sizeof CHECKSUM_MEMBER - 1 + EP_CHECKSUM_HEX_BYTES - 1 + 2 };

static json_t *shape_json(const ep_part *part) {
  json_t *array = json_array();
  for (int i = 0; i < part->dimensions; i++)
    json_array_append_new(array, json_integer(part->shape[i]));
  return ep_json_whole(array, part->dimensions);
}

/* `stored`: as meta.json has it, with columns and checksum. */
static json_t *part_json(const ep_part *part, bool stored) {
  json_t *object = json_object();
  if (!object) return NULL;
  bool ok = ep_json_set(object, "rows", json_integer(part->rows)) &&
            ep_json_set(object, "columns", json_integer(part->columns)) &&
            ep_json_set(object, "dtype", json_string(ep_dtype_name(part->dtype))) &&
            ep_json_set(object, "shape", shape_json(part));
  ok = ok && (!part->one_hot || ep_json_set(object, "one_hot", json_true()));
  if (part->sha256[0])
    ok = ok && ep_json_set(object, "sha256", json_string(part->sha256)) &&
         ep_json_set(object, "bytes", json_integer(part->bytes));
  if (stored && part->checksum[0])
    ok = ok && ep_json_set(object, "checksum", json_string(part->checksum));
  if (ok && (!stored || ep_json_set(object, "column", ep_columns_stored(part)))) return object;
  json_decref(object);
  return NULL;
}

/* {"train": {"table": …}, …}, only what is there. */
static json_t *parts_json(const ep_dataset_meta *meta, bool stored) {
  json_t *parts = json_object();
  for (int split = 0; parts && split < EP_SPLIT_COUNT; split++) {
    json_t *roles = json_object();
    bool ok = roles != NULL;
    for (int role = 0; ok && role < EP_ROLE_COUNT; role++)
      if (meta->part[split][role].rows > 0)
        ok = ep_json_set(roles, ep_role_name((ep_role)role),
                         part_json(&meta->part[split][role], stored));
    if (ok && json_object_size(roles) > 0)
      ok = ep_json_set(parts, ep_split_name((ep_split)split), json_incref(roles));
    json_decref(roles);
    if (ok) continue;
    json_decref(parts);
    return NULL;
  }
  return parts;
}

static json_t *classes_json(const ep_dataset_meta *meta) {
  json_t *array = json_array();
  for (int i = 0; i < meta->classes; i++)
    json_array_append_new(array, json_string(meta->class_name[i].name));
  return ep_json_whole(array, meta->classes);
}

/* What only a ZIP of pictures has. */
static bool pictures_set(json_t *object, const ep_dataset_meta *meta) {
  return (meta->classes == 0 || ep_json_set(object, "classes", classes_json(meta))) &&
         (meta->left_out == 0 || ep_json_set(object, "left_out", json_integer(meta->left_out)));
}

static bool dialect_set(json_t *object, const ep_dataset_meta *meta) {
  return !meta->dialect || ep_json_set(object, "dialect", ep_dialect_record_json(meta->dialect));
}

static bool note_set(json_t *object, const char *text) {
  return !text[0] || ep_json_set(object, "note", json_string(text));
}

/* Adds a line to the array, and to the text that has all of them. */
static bool line_add(json_t *array, ep_notes *joined, const char *line, size_t bytes) {
  size_t used = strlen(joined->text);
  if (used + bytes + 3 < sizeof joined->text)
    snprintf(joined->text + used, sizeof joined->text - used, "%s%.*s", used ? "; " : "",
             (int)bytes, line);
  return json_array_append_new(array, json_stringn(line, bytes)) == 0;
}

/* "notes": lines of the text, and those of columns behind their labels; "note": the same in one. */
static bool notes_shown(json_t *object, const ep_dataset_meta *meta, const ep_part *table) {
  enum { LINES = 100, LABEL_BYTES = 512 };
  ep_notes joined = {0};
  json_t *array = json_array();
  size_t bytes;
  bool ok = array != NULL;
  for (const char *at = meta->notes.text; ok && at && *at;) {
    const char *line = at;
    at = ep_notes_next(at, &bytes);
    ok = line_add(array, &joined, line, bytes);
  }
  for (int64_t i = 0; ok && i < table->columns && json_array_size(array) < LINES; i++) {
    char label[EP_COLUMN_LABEL_BYTES], line[LABEL_BYTES];
    if (!table->column[i].note) continue;
    int length = snprintf(line, sizeof line, "%s: %s", ep_column_label(table->column, i, label),
                          table->column[i].note);
    ok = line_add(array, &joined, line, length < LABEL_BYTES ? (size_t)length : LABEL_BYTES - 1);
  }
  ok = ok && note_set(object, joined.text) &&
       (json_array_size(array) == 0 || json_object_set(object, "notes", array) == 0);
  json_decref(array);
  return ok;
}

/* The object with what every description has; NULL when memory is short. */
static json_t *meta_json(const ep_dataset_meta *meta, bool stored) {
  json_t *object = json_object();
  if (!object) return NULL;
  if (ep_json_set(object, "format", json_string(meta->format)) &&
      ep_json_set(object, "sha256", json_string(meta->sha256)) &&
      ep_json_set(object, "bytes", json_integer(meta->bytes)) &&
      (meta->tensors == 0 || ep_json_set(object, "tensors", json_integer(meta->tensors))) &&
      (!stored || !meta->checksum[0] ||
       ep_json_set(object, "weights_checksum", json_string(meta->checksum))) &&
      (meta->faults == 0 || ep_json_set(object, "faults", ep_faults_json(meta))) &&
      (!stored || (dialect_set(object, meta) && note_set(object, meta->notes.text))) &&
      pictures_set(object, meta) && ep_json_set(object, "parts", parts_json(meta, stored)))
    return object;
  json_decref(object);
  return NULL;
}

static void checksum_format(const char *text, size_t bytes, char end[CHECKSUM_BYTES + 1]) {
  char checksum[EP_CHECKSUM_HEX_BYTES];
  ep_checksum_of(text, bytes, checksum);
  snprintf(end, CHECKSUM_BYTES + 1, CHECKSUM_MEMBER "%s\"}", checksum);
}

ep_status ep_dataset_meta_write(const char *folder, const ep_dataset_meta *meta, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, folder, META_FILE, NULL);
  if (status != EP_OK) return status;
  json_t *object = meta_json(meta, true);
  char *text = ep_json_write(object, JSON_COMPACT);
  ep_durable_file *file = NULL;
  if (!text) status = ep_fail_memory(error);
  if (status == EP_OK) status = ep_durable_file_create(path, &file, error);
  size_t bytes = text ? strlen(text) - 1 : 0; /* without the brace that closes it */
  char end[CHECKSUM_BYTES + 1];
  if (text) checksum_format(text, bytes, end);
  if (status == EP_OK) status = ep_durable_file_write(file, text, bytes, error);
  if (status == EP_OK) status = ep_durable_file_write(file, end, CHECKSUM_BYTES, error);
  if (status == EP_OK)
    status = ep_durable_file_commit(file, NULL, NULL, error);
  else
    ep_durable_file_abandon(file);
  free(text);
  json_decref(object);
  return status;
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

static bool part_parse(const json_t *object, ep_part *out, bool *no_memory) {
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
      json_array_size(column) != (size_t)columns || strlen(sha256) >= sizeof out->sha256 ||
      strlen(checksum) >= sizeof out->checksum)
    return false;
  out->column = calloc((size_t)columns, sizeof *out->column);
  *no_memory = !out->column;
  if (!out->column) return false;
  out->rows = rows;
  out->columns = columns;
  out->dtype = (ep_dtype)type;
  out->one_hot = one_hot;
  out->bytes = bytes;
  memcpy(out->sha256, sha256, strlen(sha256) + 1);
  memcpy(out->checksum, checksum, strlen(checksum) + 1);
  if (!shape_parse(shape, out)) return false;
  for (int64_t i = 0; i < columns; i++)
    if (!ep_column_parse(json_array_get(column, (size_t)i), &out->column[i], no_memory))
      return false;
  return true;
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

static bool meta_parse(json_t *root, ep_dataset_meta *out, bool *no_memory) {
  const char *format, *sha256, *checksum = "", *note = "";
  json_int_t bytes, tensors = 0, left_out = 0;
  json_t *parts, *classes = NULL, *dialect = NULL;
  if (json_unpack(root, "{s:s, s:s, s:I, s:o, s?I, s?s, s?o, s?I, s?s, s?o}", "format", &format,
                  "sha256", &sha256, "bytes", &bytes, "parts", &parts, "tensors", &tensors,
                  "weights_checksum", &checksum, "classes", &classes, "left_out", &left_out, "note",
                  &note, "dialect", &dialect) != 0)
    return false;
  if (strlen(format) >= sizeof out->format || !hash_is_one(format, sha256) ||
      !json_is_object(parts) || tensors < 0 || strlen(checksum) >= sizeof out->checksum ||
      strlen(note) >= sizeof out->notes.text)
    return false;
  memcpy(out->notes.text, note, strlen(note) + 1);
  memcpy(out->format, format, strlen(format) + 1);
  memcpy(out->sha256, sha256, strlen(sha256) + 1);
  out->bytes = bytes;
  out->tensors = tensors;
  out->left_out = left_out;
  memcpy(out->checksum, checksum, strlen(checksum) + 1);
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int role = 0; role < EP_ROLE_COUNT; role++) {
      json_t *part = json_object_get(json_object_get(parts, ep_split_name((ep_split)split)),
                                     ep_role_name((ep_role)role));
      if (part && !part_parse(part, &out->part[split][role], no_memory)) return false;
    }
  return ep_faults_parse(json_object_get(root, "faults"), out) &&
         dialect_parse(dialect, out, no_memory) && classes_parse(classes, out, no_memory);
}

/* A text without a checksum is from before there were some. */
static bool text_is_whole(const ep_mapping *text) {
  char end[CHECKSUM_BYTES + 1];
  const char *bytes = (const char *)text->bytes;
  if (text->size < CHECKSUM_BYTES) return true;
  size_t checked = text->size - CHECKSUM_BYTES;
  if (memcmp(bytes + checked, CHECKSUM_MEMBER, sizeof CHECKSUM_MEMBER - 1) != 0) return true;
  checksum_format(bytes, checked, end);
  return memcmp(bytes + checked, end, CHECKSUM_BYTES) == 0;
}

static ep_status text_read(const char *path, const ep_mapping *text, ep_dataset_meta *out,
                           ep_error *error) {
  json_error_t fault;
  bool no_memory = false;
  ep_status status = EP_OK;
  if (!text_is_whole(text))
    return ep_fail(error, EP_DAMAGED, "%s is damaged: upload the same data again",
                   ep_stored_name(path));
  json_t *root =
      ep_json_read((const char *)text->bytes, text->size, JSON_REJECT_DUPLICATES, &fault);
  if (!root && !fault.text[0])
    status = ep_fail_memory(error);
  else if (!root)
    status = ep_fail(error, EP_DAMAGED, "%s is damaged (%s): upload the same data again",
                     ep_stored_name(path), fault.text);
  else if (!meta_parse(root, out, &no_memory))
    status = no_memory || ep_json_memory_short()
                 ? ep_fail_memory(error)
                 : ep_fail(error, EP_DAMAGED,
                           "%s is damaged (it describes no dataset): upload the same data "
                           "again",
                           ep_stored_name(path));
  json_decref(root);
  if (status != EP_OK) ep_dataset_meta_deinit(out);
  return status;
}

ep_status ep_dataset_meta_read(const char *folder, ep_dataset_meta *out, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_mapping mapping;
  struct stat about;
  *out = (ep_dataset_meta){0};
  ep_status status = ep_path_join(path, error, folder, META_FILE, NULL);
  if (status != EP_OK) return status;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &about) != 0) {
    status =
        ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : EP_IO, "%s: %s", path, strerror(errno));
  } else if (!ep_cached_meta_find(path, &about, out)) {
    status = ep_mapping_of(file, path, &mapping, error);
    if (status == EP_OK) {
      status = text_read(path, &mapping, out, error);
      ep_mapping_close(&mapping);
    }
    if (status == EP_OK) ep_cached_meta_add(path, &about, out);
  }
  if (status == EP_OK) status = ep_path_join(out->folder, error, folder, NULL);
  if (file >= 0) close(file);
  return status;
}

static json_t *time_json(int64_t time_us) {
  char text[64];
  struct tm tm;
  time_t seconds = (time_t)(time_us / 1000000);
  if (time_us <= 0 || !gmtime_r(&seconds, &tm)) return json_null();
  size_t used = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
  snprintf(text + used, sizeof text - used, ".%03dZ", (int)(time_us / 1000 % 1000));
  return json_string(text);
}

static char *meta_format(const ep_dataset_meta *meta, const char *name, const char *owner,
                         int64_t created_us, bool private, bool columns) {
  const ep_part *x = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_X];
  const ep_part *y = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_Y];
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  const ep_part *main = table->rows > 0 ? table : x;
  const char *role = meta->tensors > 0 ? "weights" : "data";
  bool pixels = strcmp(meta->format, "pictures") == 0; /* a column each, and none tells anything */
  char *text = NULL;
  json_t *object = json_object(), *rest = meta_json(meta, false);
  bool ok =
      object && rest && ep_json_set(object, "object", json_string("dataset")) &&
      ep_json_set(object, "name", json_string(name)) &&
      ep_json_set(object, "owner", json_string(owner)) &&
      ep_json_set(object, "visibility", json_string(ep_visibility_name(private))) &&
      ep_json_set(object, "role", json_string(role)) && json_object_update(object, rest) == 0 &&
      ep_json_set(object, "rows", json_integer(main->rows)) &&
      ep_json_set(object, "columns_count", json_integer(main->columns)) &&
      (!columns ||
       ep_json_set(object, "columns", pixels ? json_array() : ep_columns_shown(main))) &&
      (!columns || (dialect_set(object, meta) && notes_shown(object, meta, main))) &&
      (!columns || y->rows == 0 || ep_json_set(object, "target_columns", ep_columns_shown(y))) &&
      ep_json_set(object, "created_at", time_json(created_us));
  /* 15 digits are enough to look at, and 0.1 stays 0.1; meta.json has all 17. */
  if (ok) text = ep_json_write(object, JSON_COMPACT | JSON_REAL_PRECISION(15));
  json_decref(object);
  json_decref(rest);
  return text;
}

char *ep_dataset_meta_format(const ep_dataset_meta *meta, const char *name, const char *owner,
                             int64_t created_us, bool private) {
  return meta_format(meta, name, owner, created_us, private, true);
}

char *ep_dataset_summary_format(const ep_dataset_meta *meta, const char *name, const char *owner,
                                int64_t created_us, bool private) {
  return meta_format(meta, name, owner, created_us, private, false);
}
