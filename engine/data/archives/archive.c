#include "engine/data/archives/archive.h"

#include <stdlib.h>
#include <string.h>

bool ep_archive_recognise(const uint8_t *bytes, size_t size) {
  return (size >= 4 && memcmp(bytes, "PK\3\4", 4) == 0) || ep_tar_recognise(bytes, size);
}

/* Whether the entry was made where '\\' separates folders (APPNOTE.TXT, 4.4.2.2). */
static bool is_dos(zip_t *zip, int64_t index) {
  zip_uint8_t system = ZIP_OPSYS_UNIX;
  if (zip_file_get_external_attributes(zip, (zip_uint64_t)index, 0, &system, NULL) != 0)
    return false;
  return system == ZIP_OPSYS_DOS || system == ZIP_OPSYS_OS_2 || system == ZIP_OPSYS_WINDOWS_NTFS ||
         system == ZIP_OPSYS_VFAT;
}

static ep_status name_slash(ep_archive *archive, int64_t index, const char *name, ep_error *error) {
  if (!archive->slashed)
    archive->slashed = calloc((size_t)archive->count, sizeof *archive->slashed);
  char *copy = archive->slashed ? strdup(name) : NULL;
  if (!copy) return ep_fail_memory(error);
  archive->slashed[index] = copy;
  for (; *copy; copy++)
    if (*copy == '\\') *copy = '/';
  return EP_OK;
}

static ep_status names_slash(ep_archive *archive, ep_error *error) {
  bool slashes = false;
  for (int64_t i = 0; i < archive->count && !slashes; i++) {
    const char *name = ep_archive_name(archive, i);
    slashes = name && strchr(name, '/');
  }
  ep_status status = EP_OK;
  for (int64_t i = 0; i < archive->count && status == EP_OK; i++) {
    const char *name = ep_archive_name(archive, i);
    if (name && strchr(name, '\\') && (!slashes || is_dos(archive->zip, i)))
      status = name_slash(archive, i, name, error);
  }
  return status;
}

ep_status ep_archive_open(const uint8_t *bytes, size_t size, ep_archive *out, ep_error *error) {
  *out = (ep_archive){0};
  if (ep_tar_recognise(bytes, size)) {
    ep_status status = ep_tar_open(bytes, size, &out->tar, error);
    out->count = out->tar.count;
    if (status != EP_OK) ep_tar_deinit(&out->tar);
    return status;
  }
  ep_status status = ep_zip_open(bytes, size, &out->zip, error);
  if (status != EP_OK) return status;
  out->count = zip_get_num_entries(out->zip, 0);
  status = names_slash(out, error);
  if (status != EP_OK) ep_archive_close(out);
  return status;
}

void ep_archive_close(ep_archive *archive) {
  if (archive->zip) zip_discard(archive->zip);
  ep_tar_deinit(&archive->tar);
  for (int64_t i = 0; archive->slashed && i < archive->count; i++) free(archive->slashed[i]);
  free(archive->slashed);
}

const char *ep_archive_name(const ep_archive *archive, int64_t index) {
  if (archive->slashed && archive->slashed[index]) return archive->slashed[index];
  if (archive->zip) return zip_get_name(archive->zip, (zip_uint64_t)index, 0);
  return archive->tar.file[index].name;
}

static ep_status piece_take(void *context, const uint8_t *bytes, size_t count, ep_error *error) {
  ep_archive_file *file = context;
  (void)error; /* the archive promised no more than there is room for */
  memcpy(file->memory + file->count, bytes, count);
  file->count += count;
  return EP_OK;
}

static ep_status capacity_ensure(ep_archive_file *file, size_t bytes, ep_error *error) {
  if (bytes <= file->capacity) return EP_OK;
  free(file->memory);
  file->memory = malloc(bytes);
  file->capacity = file->memory ? bytes : 0;
  return file->memory ? EP_OK : ep_fail_memory(error);
}

static ep_status zip_read(const ep_archive *archive, int64_t index, int64_t most_bytes,
                          ep_archive_file *file, ep_error *error) {
  ep_zip_entry entry;
  ep_status status =
      ep_zip_entry_find(archive->zip, (zip_uint64_t)index, most_bytes, &entry, error);
  if (status == EP_OK) status = capacity_ensure(file, entry.bytes, error);
  if (status != EP_OK) return status;
  const char *name = ep_archive_name(archive, index);
  ep_excerpt_path(file->shown, name, strlen(name));
  file->count = 0;
  status = ep_zip_entry_unpack(archive->zip, &entry, piece_take, file, error);
  file->bytes = file->memory;
  return status;
}

ep_status ep_archive_read(const ep_archive *archive, int64_t index, int64_t most_bytes,
                          ep_archive_file *file, ep_error *error) {
  if (archive->zip) return zip_read(archive, index, most_bytes, file, error);
  const ep_tar_file *from = &archive->tar.file[index];
  ep_excerpt_path(file->shown, from->name, strlen(from->name));
  if (most_bytes < 0 || from->size > (size_t)most_bytes)
    return ep_fail(error, EP_TOO_LARGE, "TAR: \"%s\" is larger than the limit", file->shown);
  file->bytes = from->bytes;
  file->count = from->size;
  return EP_OK;
}
