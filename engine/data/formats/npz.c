/* npz.c: NumPy's archives: a zip of NPY files, stored or deflated, which are called x_train,
 * y_train and so on (array.h). What an archive says of its sizes is believed for nothing but
 * refusing it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "engine/data/arrays/npy_header.h"
#include "engine/data/formats/array.h"
#include "engine/files/durable_file.h"
#include "engine/files/excerpt.h"
#include "engine/files/mapping.h"
#include "engine/files/temporary_file.h"

enum {
  CHUNK_BYTES = 1 << 16,
  RATIO_FREE_BYTES = 1 << 20 /* a ratio says nothing of small things */
};

static bool recognise(const uint8_t *bytes, size_t size) {
  return size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

/* One array of an archive. */
typedef struct {
  zip_uint64_t index;
  char name[EP_LIMIT_NAME_BYTES + 1]; /* without ".npy" */
  char shown[EP_EXCERPT_BYTES];
  uint64_t bytes; /* as promised, within the budget */
} entry;

static ep_status entry_name(const char *name, entry *out, ep_error *error) {
  size_t length = strlen(name);
  ep_excerpt(out->shown, name, length);
  if (length < 5 || strcmp(name + length - 4, ".npy") != 0)
    return ep_fail(error, EP_INVALID, "NPZ: \"%s\" is no NPY file", out->shown);
  length -= 4;
  if (length > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_TOO_LARGE, "NPZ: a name of %zu bytes, at most %d are taken", length,
                   EP_LIMIT_NAME_BYTES);
  memcpy(out->name, name, length);
  out->name[length] = 0;
  ep_excerpt(out->shown, name, length);
  return EP_OK;
}

/* What the directory says of entry `index`, and whether that can be read at all. */
static ep_status entry_find(zip_t *archive, zip_uint64_t index, int64_t budget_bytes, entry *out,
                            ep_error *error) {
  const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                              ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  zip_stat_t stat;
  *out = (entry){.index = index};
  if (zip_stat_index(archive, index, 0, &stat) != 0 || (stat.valid & needed) != needed)
    return ep_fail(error, EP_INVALID, "NPZ: entry %llu of the archive is damaged",
                   (unsigned long long)index + 1);
  ep_status status = entry_name(stat.name, out, error);
  if (status != EP_OK) return status;
  if (stat.encryption_method != ZIP_EM_NONE)
    return ep_fail(error, EP_INVALID, "NPZ: \"%s\" is encrypted", out->shown);
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    return ep_fail(error, EP_INVALID,
                   "NPZ: \"%s\" is packed by method %d, only stored (0) and deflated (8) are taken",
                   out->shown, stat.comp_method);
  if (stat.size > (zip_uint64_t)budget_bytes)
    return ep_fail(error, EP_TOO_LARGE, "NPZ: unpacked, \"%s\" is larger than the limit",
                   out->shown);
  if (stat.size > RATIO_FREE_BYTES && stat.size / EP_LIMIT_GZ_RATIO > stat.comp_size)
    return ep_fail(error, EP_TOO_LARGE, "NPZ: \"%s\" unpacks to more than %d times its size",
                   out->shown, EP_LIMIT_GZ_RATIO);
  out->bytes = stat.size;
  return EP_OK;
}

static ep_status entry_unpack(zip_file_t *packed, const entry *array, int file, int64_t *budget,
                              ep_error *error) {
  uint8_t *chunk = malloc(CHUNK_BYTES);
  if (!chunk) return ep_fail_memory(error);
  ep_status status = EP_OK;
  uint64_t written = 0;
  for (zip_int64_t count = 1; status == EP_OK && count > 0;) {
    count = zip_fread(packed, chunk, CHUNK_BYTES);
    if (count < 0) {
      char why[EP_EXCERPT_BYTES];
      const char *text = zip_file_strerror(packed);
      status = ep_fail(error, EP_INVALID, "NPZ: \"%s\" is damaged: %s", array->shown,
                       ep_excerpt(why, text, strlen(text)));
    } else if ((uint64_t)count > array->bytes - written) {
      status =
          ep_fail(error, EP_INVALID, "NPZ: \"%s\" is larger than the archive says", array->shown);
    } else {
      written += (uint64_t)count;
      *budget -= (int64_t)count;
      status = ep_file_write_all(file, chunk, (size_t)count, error);
    }
  }
  free(chunk);
  if (status == EP_OK && written != array->bytes)
    status =
        ep_fail(error, EP_INVALID, "NPZ: \"%s\" is smaller than the archive says", array->shown);
  return status;
}

/* Unpacks one array and stores it; the unpacked bytes are gone afterwards. */
static ep_status entry_store(ep_ingest *ingest, zip_t *archive, const entry *array, ep_split split,
                             ep_role role, ep_error *error) {
  int file = -1;
  ep_array_header header;
  ep_mapping unpacked = {0};
  zip_file_t *packed = zip_fopen_index(archive, array->index, 0);
  if (!packed) return ep_fail(error, EP_INVALID, "NPZ: \"%s\" cannot be opened", array->shown);
  ep_status status = ep_temporary_file_create(ingest->folder, &file, error);
  if (status == EP_OK) status = entry_unpack(packed, array, file, &ingest->budget_bytes, error);
  zip_fclose(packed);
  if (status == EP_OK) status = ep_mapping_of(file, array->shown, &unpacked, error);
  if (status == EP_OK) status = ep_npy_header_parse(unpacked.bytes, unpacked.size, &header, error);
  if (status == EP_OK)
    status =
        ep_array_store(ingest, &header, unpacked.bytes + header.values_offset, split, role, error);
  ep_mapping_close(&unpacked);
  if (file >= 0) close(file);
  return status;
}

static ep_status entry_read(ep_ingest *ingest, zip_t *archive, zip_uint64_t index,
                            ep_error *error) {
  entry array;
  ep_split split = ingest->split;
  ep_role role = ingest->role;
  ep_status status = entry_find(archive, index, ingest->budget_bytes, &array, error);
  if (status != EP_OK) return status;
  if (role == EP_ROLE_TABLE && !ep_array_part_find(array.name, &split, &role))
    return ep_fail(error, EP_INVALID,
                   "NPZ: \"%s\" is not known: arrays are called x_train, y_train, x_test, y_test, "
                   "x_val, y_val, or x and y",
                   array.shown);
  status = ep_array_part_check(ingest, "NPZ", array.name, split, role, error);
  return status == EP_OK ? entry_store(ingest, archive, &array, split, role, error) : status;
}

static ep_status archive_read(ep_ingest *ingest, zip_t *archive, ep_error *error) {
  zip_int64_t count = zip_get_num_entries(archive, 0);
  bool part = ingest->role != EP_ROLE_TABLE;
  if (count < 1) return ep_fail(error, EP_INVALID, "NPZ: the archive is empty");
  if (count > EP_LIMIT_ARRAYS)
    return ep_fail(error, EP_TOO_LARGE, "NPZ: %lld arrays, at most %d are taken", (long long)count,
                   EP_LIMIT_ARRAYS);
  if (part && count != 1)
    return ep_fail(error, EP_INVALID, "NPZ: a part is one array, this archive has %lld",
                   (long long)count);
  ep_status status = EP_OK;
  for (zip_int64_t i = 0; i < count && status == EP_OK; i++)
    status = entry_read(ingest, archive, (zip_uint64_t)i, error);
  return status != EP_OK || part ? status : ep_array_parts_check(ingest, "NPZ", error);
}

static ep_status archive_fail(zip_error_t *fault, ep_error *error) {
  char why[EP_EXCERPT_BYTES];
  const char *text = zip_error_strerror(fault);
  bool memory = zip_error_code_zip(fault) == ZIP_ER_MEMORY;
  ep_status status =
      ep_fail(error, memory ? EP_NO_MEMORY : EP_INVALID, "NPZ: the archive cannot be read: %s",
              ep_excerpt(why, text, strlen(text)));
  zip_error_fini(fault);
  return status;
}

static ep_status read_npz(ep_ingest *ingest, ep_error *error) {
  zip_error_t fault;
  zip_error_init(&fault);
  zip_source_t *source = zip_source_buffer_create(ingest->bytes, ingest->size, 0, &fault);
  if (!source) return archive_fail(&fault, error);
  zip_t *archive = zip_open_from_source(source, ZIP_RDONLY, &fault);
  if (!archive) {
    zip_source_free(source);
    return archive_fail(&fault, error);
  }
  zip_error_fini(&fault);
  ep_status status = archive_read(ingest, archive, error);
  zip_discard(archive);
  return status;
}

const ep_format ep_format_npz = {"npz", recognise, read_npz};
