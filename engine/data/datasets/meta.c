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
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/hash/checksum.h"
#include "api/json/memory.h"
#include "api/json/writer.h"
#include "api/reserve.h"
#include "api/visibility.h"
#include "engine/data/arrays/npy_header.h"
#include "engine/data/datasets/cached_meta.h"
#include "engine/data/datasets/column_json.h"
#include "engine/data/datasets/meta_parse.h"
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

/* The members of `object`, each on its own: no text of the whole stands beside that of the writer.
 * Takes `object`; NULL: memory is short. */
static void members_write(ep_writer *out, json_t *object, size_t flags) {
  const char *key;
  json_t *value;
  if (!object) out->failed = true;
  json_object_foreach(object, key, value) {
    char *text = ep_json_write(value, flags | JSON_COMPACT | JSON_ENCODE_ANY);
    if (!text) out->failed = true;
    ep_writer_member_raw(out, key, text);
    free(text);
  }
  json_decref(object);
}

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
  if (ok) return object;
  json_decref(object);
  return NULL;
}

/* "parts": {"train": {"table": …}, …}, only what is there. `stored`: as meta.json has it, with
 * columns and checksum. */
static void parts_write(ep_writer *out, const ep_dataset_meta *meta, bool stored) {
  ep_writer_member_open(out, "parts", '{');
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    bool opened = false;
    for (int role = 0; role < EP_ROLE_COUNT; role++) {
      const ep_part *part = &meta->part[split][role];
      if (part->rows == 0) continue;
      if (!opened) ep_writer_member_open(out, ep_split_name((ep_split)split), '{');
      opened = true;
      ep_writer_member_open(out, ep_role_name((ep_role)role), '{');
      members_write(out, part_json(part, stored), 0);
      if (stored) ep_columns_json_write(out, "column", part, true);
      ep_writer_close(out, '}');
    }
    if (opened) ep_writer_close(out, '}');
  }
  ep_writer_close(out, '}');
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

/* What every description has beside its parts; NULL when memory is short. */
static json_t *meta_json(const ep_dataset_meta *meta, bool stored) {
  json_t *object = json_object();
  if (!object) return NULL;
  if (ep_json_set(object, "format", json_string(meta->format)) &&
      ep_json_set(object, "sha256", json_string(meta->sha256)) &&
      ep_json_set(object, "bytes", json_integer(meta->bytes)) &&
      (meta->tensors == 0 || ep_json_set(object, "tensors", json_integer(meta->tensors))) &&
      (!stored || !meta->file_sha256[0] ||
       ep_json_set(object, "file_sha256", json_string(meta->file_sha256))) &&
      (!stored || !meta->checksum[0] ||
       ep_json_set(object, "weights_checksum", json_string(meta->checksum))) &&
      (meta->faults == 0 || ep_json_set(object, "faults", ep_faults_json(meta))) &&
      (!stored || (dialect_set(object, meta) && note_set(object, meta->notes.text))) &&
      pictures_set(object, meta))
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
  ep_writer writer;
  ep_writer_init(&writer, EP_LIMIT_META_BYTES);
  ep_writer_open(&writer, '{');
  members_write(&writer, meta_json(meta, true), 0);
  parts_write(&writer, meta, true);
  ep_writer_close(&writer, '}');
  char *text = ep_writer_take(&writer);
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
  return status;
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

static ep_status text_read(const char *path, const ep_mapping *text, bool columns,
                           ep_dataset_meta *out, int64_t *reserved_bytes, ep_error *error) {
  if (!text_is_whole(text))
    return ep_fail(error, EP_DAMAGED, "%s is damaged: upload the same data again",
                   ep_stored_name(path));
  return ep_meta_parse((const char *)text->bytes, text->size, path, columns, out, reserved_bytes,
                       error);
}

/* Reads the file that is open, or takes what is cached of it. */
static ep_status file_read(const char *path, int file, const struct stat *about, bool columns,
                           ep_dataset_meta *out, ep_error *error) {
  ep_mapping mapping;
  int64_t reserved_bytes = 0;
  if (ep_cached_meta_find(path, about, out)) return EP_OK;
  ep_status status = ep_mapping_of(file, path, &mapping, error);
  if (status != EP_OK) return status;
  status = text_read(path, &mapping, columns, out, &reserved_bytes, error);
  ep_mapping_close(&mapping);
  /* the cache has bounds of its own */
  if (status == EP_OK && columns && ep_cached_meta_add(path, about, out))
    ep_reserve(-reserved_bytes, NULL);
  return status;
}

/* Wide descriptions are read one after the other: who comes next finds what was read before. */
static ep_status wide_read(const char *path, int file, const struct stat *about,
                           ep_dataset_meta *out, ep_error *error) {
  static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&reading);
  ep_status status = file_read(path, file, about, true, out, error);
  pthread_mutex_unlock(&reading);
  return status;
}

static ep_status meta_read(const char *folder, bool columns, ep_dataset_meta *out,
                           int64_t *text_bytes, ep_error *error) {
  char path[EP_PATH_BYTES];
  struct stat about = {0};
  *out = (ep_dataset_meta){0};
  ep_status status = ep_path_join(path, error, folder, META_FILE, NULL);
  if (status != EP_OK) return status;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &about) != 0)
    status =
        ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : EP_IO, "%s: %s", path, strerror(errno));
  else if (columns && about.st_size > EP_LIMIT_SMALL_CACHED_BYTES)
    status = wide_read(path, file, &about, out, error);
  else
    status = file_read(path, file, &about, columns, out, error);
  if (status == EP_OK) status = ep_path_join(out->folder, error, folder, NULL);
  if (file >= 0) close(file);
  if (text_bytes) *text_bytes = about.st_size;
  return status;
}

ep_status ep_dataset_meta_read(const char *folder, ep_dataset_meta *out, ep_error *error) {
  return meta_read(folder, true, out, NULL, error);
}

ep_status ep_dataset_summary_read(const char *folder, ep_dataset_meta *out, int64_t *text_bytes,
                                  ep_error *error) {
  *text_bytes = 0;
  return meta_read(folder, false, out, text_bytes, error);
}

static void time_write(ep_writer *out, const char *key, int64_t time_us) {
  if (time_us > 0)
    ep_writer_member_time(out, key, time_us);
  else
    ep_writer_member_raw(out, key, NULL);
}

/* How it was read, and what is to be known about that. */
static json_t *notes_json(const ep_dataset_meta *meta, const ep_part *table) {
  json_t *object = json_object();
  if (object && dialect_set(object, meta) && notes_shown(object, meta, table)) return object;
  json_decref(object);
  return NULL;
}

static char *meta_format(const ep_dataset_meta *meta, const char *name, const char *owner,
                         int64_t created_us, bool private, bool columns) {
  const ep_part *x = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_X];
  const ep_part *y = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_Y];
  const ep_part *table = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  const ep_part *main = table->rows > 0 ? table : x;
  const char *role = meta->tensors > 0 ? "weights" : "data";
  bool pixels = strcmp(meta->format, "pictures") == 0; /* a column each, and none tells anything */
  /* 15 digits are enough to look at, and 0.1 stays 0.1; meta.json has all 17. */
  const size_t digits = JSON_REAL_PRECISION(15);
  ep_writer out;
  ep_writer_init(&out, EP_LIMIT_META_BYTES);
  ep_writer_open(&out, '{');
  ep_writer_member_string(&out, "object", "dataset");
  ep_writer_member_string(&out, "name", name);
  ep_writer_member_string(&out, "owner", owner);
  ep_writer_member_string(&out, "visibility", ep_visibility_name(private));
  ep_writer_member_string(&out, "role", role);
  members_write(&out, meta_json(meta, false), digits);
  parts_write(&out, meta, false);
  ep_writer_member_integer(&out, "rows", main->rows);
  ep_writer_member_integer(&out, "columns_count", main->columns);
  if (columns) {
    ep_columns_json_write(&out, "columns", pixels ? &(ep_part){0} : main, false);
    members_write(&out, notes_json(meta, main), digits);
    if (y->rows > 0) ep_columns_json_write(&out, "target_columns", y, false);
  }
  time_write(&out, "created_at", created_us);
  ep_writer_close(&out, '}');
  return ep_writer_take(&out);
}

char *ep_dataset_meta_format(const ep_dataset_meta *meta, const char *name, const char *owner,
                             int64_t created_us, bool private) {
  return meta_format(meta, name, owner, created_us, private, true);
}

char *ep_dataset_summary_format(const ep_dataset_meta *meta, const char *name, const char *owner,
                                int64_t created_us, bool private) {
  return meta_format(meta, name, owner, created_us, private, false);
}

bool ep_dataset_same_file(const ep_dataset_meta *a, const ep_dataset_meta *b) {
  return strcmp(a->file_sha256[0] ? a->file_sha256 : a->sha256,
                b->file_sha256[0] ? b->file_sha256 : b->sha256) == 0;
}

bool ep_dataset_same_rows(const ep_dataset_meta *a, const ep_dataset_meta *b) {
  ep_writer first, second;
  ep_writer_init(&first, EP_LIMIT_META_BYTES);
  ep_writer_init(&second, EP_LIMIT_META_BYTES);
  parts_write(&first, a, true);
  parts_write(&second, b, true);
  bool same = !first.failed && !second.failed && first.count == second.count &&
              memcmp(first.text, second.text, first.count) == 0 && a->tensors == 0 &&
              b->tensors == 0;
  ep_writer_deinit(&first);
  ep_writer_deinit(&second);
  return same;
}
