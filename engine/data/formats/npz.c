/* npz.c: NumPy's archives: a zip of NPY files, stored or deflated, which are called x_train,
 * y_train and so on (array.h); and a zip of one text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "engine/data/archives/zip_archive.h"
#include "engine/data/arrays/npy_header.h"
#include "engine/data/formats/array.h"
#include "engine/files/durable_file.h"
#include "engine/files/mapping.h"
#include "engine/files/temporary_file.h"

static bool recognise(const uint8_t *bytes, size_t size) {
  return size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

/* One array of an archive. */
typedef struct {
  ep_zip_entry entry;
  char name[EP_LIMIT_NAME_BYTES + 1]; /* without ".npy" */
} array_entry;

static ep_status name_take(array_entry *array, ep_error *error) {
  size_t length = strlen(array->entry.name);
  if (strcmp(array->entry.name, "[Content_Types].xml") == 0 ||
      strcmp(array->entry.name, "mimetype") == 0)
    return ep_fail(error, EP_INVALID, "this is a spreadsheet workbook: save the sheet as CSV");
  if (length < 5 || strcmp(array->entry.name + length - 4, ".npy") != 0)
    return ep_fail(error, EP_INVALID,
                   "ZIP: \"%s\" is not supported: an archive can contain NPY arrays, PNG and JPEG "
                   "pictures, or "
                   "one CSV, TSV, TXT, JSON or NDJSON file",
                   array->entry.shown);
  length -= 4;
  if (length > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "NPZ: a name of %zu bytes: the limit is %d", length,
                   EP_LIMIT_NAME_BYTES);
  memcpy(array->name, array->entry.name, length);
  array->name[length] = 0;
  return EP_OK;
}

typedef struct {
  int file;
  int64_t *budget_bytes; /* lent */
} unpacked_file;

static ep_status piece_write(void *context, const uint8_t *bytes, size_t count, ep_error *error) {
  unpacked_file *out = context;
  *out->budget_bytes -= (int64_t)count;
  return ep_file_write_all(out->file, bytes, count, error);
}

/* *unpacked: of a file without a name. */
static ep_status entry_unpack(ep_ingest *ingest, zip_t *archive, const ep_zip_entry *entry,
                              ep_mapping *unpacked, ep_error *error) {
  unpacked_file out = {.file = -1, .budget_bytes = &ingest->budget_bytes};
  ep_status status = ep_temporary_file_create(ingest->folder, &out.file, error);
  if (status == EP_OK) status = ep_zip_entry_unpack(archive, entry, piece_write, &out, error);
  if (status == EP_OK) status = ep_mapping_of(out.file, entry->shown, unpacked, error);
  if (out.file >= 0) close(out.file);
  return status;
}

static ep_status entry_store(ep_ingest *ingest, zip_t *archive, const array_entry *array,
                             ep_split split, ep_role role, ep_error *error) {
  ep_array_header header;
  ep_mapping unpacked = {0};
  ep_status status = entry_unpack(ingest, archive, &array->entry, &unpacked, error);
  if (status == EP_OK) status = ep_npy_header_parse(unpacked.bytes, unpacked.size, &header, error);
  if (status == EP_OK)
    status =
        ep_array_store(ingest, &header, unpacked.bytes + header.values_offset, split, role, error);
  ep_mapping_close(&unpacked);
  return status;
}

static ep_status entry_read(ep_ingest *ingest, zip_t *archive, zip_uint64_t index,
                            ep_error *error) {
  array_entry array;
  char shown[EP_EXCERPT_BYTES];
  ep_split split = ingest->split;
  ep_role role = ingest->role;
  ep_status status = ep_zip_entry_find(archive, index, ingest->budget_bytes, &array.entry, error);
  if (status == EP_OK) status = name_take(&array, error);
  if (status != EP_OK) return status;
  if (role == EP_ROLE_TABLE && !ep_array_part_find(array.name, &split, &role))
    return ep_fail(error, EP_INVALID,
                   "NPZ: unknown array \"%s\": the names are x_train, y_train, x_test, y_test, "
                   "x_val, y_val, or x and y",
                   ep_excerpt(shown, array.name, strlen(array.name)));
  status = ep_array_part_check(ingest, "NPZ", array.name, split, role, error);
  return status == EP_OK ? entry_store(ingest, archive, &array, split, role, error) : status;
}

static ep_status archive_read(ep_ingest *ingest, zip_t *archive, ep_error *error) {
  zip_int64_t count = zip_get_num_entries(archive, 0);
  bool part = ingest->role != EP_ROLE_TABLE;
  if (count < 1) return ep_fail(error, EP_INVALID, "NPZ: the archive is empty");
  if (count > EP_LIMIT_ARRAYS)
    return ep_fail(error, EP_TOO_LARGE, "NPZ: %lld arrays: the limit is %d", (long long)count,
                   EP_LIMIT_ARRAYS);
  if (part && count != 1)
    return ep_fail(error, EP_INVALID, "NPZ: a part must be one array, this archive has %lld",
                   (long long)count);
  ep_status status = EP_OK;
  for (zip_int64_t i = 0; i < count && status == EP_OK; i++)
    status = entry_read(ingest, archive, (zip_uint64_t)i, error);
  return status != EP_OK || part ? status : ep_array_parts_check(ingest, "NPZ", error);
}

static bool ends_in(const char *name, const char *ending) {
  size_t length = strlen(name), bytes = strlen(ending);
  return length > bytes && strcasecmp(name + length - bytes, ending) == 0;
}

/* The only text of an archive without arrays; -1: there is none. What macOS adds is passed over. */
static zip_int64_t text_find(zip_t *archive) {
  static const char *const endings[] = {".csv", ".tsv", ".txt", ".json", ".ndjson", ".jsonl"};
  static const char added[] = "__MACOSX/";
  zip_int64_t count = zip_get_num_entries(archive, 0), found = -1;
  for (zip_int64_t i = 0; i < count; i++) {
    const char *name = zip_get_name(archive, (zip_uint64_t)i, 0);
    if (!name || ends_in(name, ".npy")) return -1;
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
      if (!ends_in(name, endings[k]) || strncmp(name, added, sizeof added - 1) == 0) continue;
      if (found >= 0) return -1;
      found = i;
    }
  }
  return found;
}

/* Left to be read next. */
static ep_status text_unpack(ep_ingest *ingest, zip_t *archive, zip_uint64_t index,
                             ep_error *error) {
  ep_zip_entry entry;
  ep_status status = ep_zip_entry_find(archive, index, ingest->budget_bytes, &entry, error);
  if (status == EP_OK) status = entry_unpack(ingest, archive, &entry, &ingest->inside, error);
  if (status == EP_OK && recognise(ingest->inside.bytes, ingest->inside.size))
    status = ep_fail(error, EP_MEDIA_TYPE, "nested ZIP archives are not supported");
  if (status == EP_OK && !ingest->inside.bytes)
    status = ep_fail(error, EP_INVALID, "the content is empty");
  if (status == EP_OK && zip_get_num_entries(archive, 0) > 1)
    snprintf(ingest->inside_name, sizeof ingest->inside_name, "%s", entry.shown);
  return status;
}

static ep_status read_npz(ep_ingest *ingest, ep_error *error) {
  zip_t *archive;
  ep_status status = ep_zip_open(ingest->bytes, ingest->size, &archive, error);
  if (status != EP_OK) return status;
  zip_int64_t text = text_find(archive);
  status = text < 0 ? archive_read(ingest, archive, error)
                    : text_unpack(ingest, archive, (zip_uint64_t)text, error);
  zip_discard(archive);
  return status;
}

const ep_format ep_format_npz = {"npz", recognise, read_npz};
