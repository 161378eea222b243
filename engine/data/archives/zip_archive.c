#include "engine/data/archives/zip_archive.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"

enum {
  CHUNK_BYTES = 1 << 16,
  RATIO_FREE_BYTES = 1 << 20 /* a ratio says nothing of small things */
};

static ep_status archive_fail(zip_error_t *fault, ep_error *error) {
  char why[EP_EXCERPT_BYTES];
  const char *text = zip_error_strerror(fault);
  bool memory = zip_error_code_zip(fault) == ZIP_ER_MEMORY;
  ep_status status =
      ep_fail(error, memory ? EP_NO_MEMORY : EP_INVALID, "ZIP: the archive cannot be read: %s",
              ep_excerpt(why, text, strlen(text)));
  zip_error_fini(fault);
  return status;
}

/* Records of a ZIP (PKWARE's APPNOTE.TXT, 4.3), little-endian. */
enum {
  END_BYTES = 22,     /* of the end-of-central-directory record, without its comment */
  LOCATOR_BYTES = 20, /* of the ZIP64 locator, which stands before it */
  END64_BYTES = 56,
  ENTRY_BYTES = 46, /* of an entry of the directory, without its name, its fields, its comment */
  COMMENT_BYTES = 65535,
  END_RECORDS = 16 /* a walk each: a comment full of them would take minutes */
};

static uint64_t number_read(const uint8_t *at, int bytes) {
  uint64_t number = 0;
  for (int i = bytes - 1; i >= 0; i--) number = number << 8 | at[i];
  return number;
}

static bool is_record(const uint8_t *bytes, size_t size, uint64_t offset, size_t record_bytes,
                      const char *signature) {
  return offset <= size && size - offset >= record_bytes &&
         memcmp(bytes + offset, signature, 4) == 0;
}

/* Entries from `offset` on, up to one more than the ceiling: without ZIP64 the end record has but
 * the lowest 16 bits of their number, and libzip reads on. */
static uint64_t entries_walk(const uint8_t *bytes, size_t size, uint64_t offset) {
  uint64_t count = 0;
  while (count <= EP_LIMIT_ZIP_ENTRIES && is_record(bytes, size, offset, ENTRY_BYTES, "PK\1\2")) {
    const uint8_t *entry = bytes + offset;
    offset += ENTRY_BYTES + number_read(entry + 28, 2) + number_read(entry + 30, 2) +
              number_read(entry + 32, 2);
    count++;
  }
  return count;
}

/* How many entries the end record at `end` leads to. */
static uint64_t entries_count(const uint8_t *bytes, size_t size, size_t end) {
  uint64_t said = number_read(bytes + end + 10, 2), offset = number_read(bytes + end + 16, 4);
  uint64_t walked = entries_walk(bytes, size, offset);
  if (walked > said) said = walked;
  if (end < LOCATOR_BYTES || !is_record(bytes, size, end - LOCATOR_BYTES, LOCATOR_BYTES, "PK\6\7"))
    return said;
  uint64_t end64 = number_read(bytes + end - LOCATOR_BYTES + 8, 8);
  if (!is_record(bytes, size, end64, END64_BYTES, "PK\6\6")) return said;
  uint64_t said64 = number_read(bytes + end64 + 32, 8);
  walked = entries_walk(bytes, size, number_read(bytes + end64 + 48, 8));
  if (said64 > said) said = said64;
  return walked > said ? walked : said;
}

/* Before libzip opens the archive, since it holds each entry in memory. A comment may look like a
 * second end record: every one of them counts. */
static ep_status directory_check(const uint8_t *bytes, size_t size, ep_error *error) {
  size_t last = size > END_BYTES + COMMENT_BYTES ? size - END_BYTES - COMMENT_BYTES : 0;
  int ends = 0;
  for (size_t end = size < END_BYTES ? 0 : size - END_BYTES + 1; end-- > last;) {
    if (!is_record(bytes, size, end, END_BYTES, "PK\5\6")) continue;
    uint64_t count = entries_count(bytes, size, end);
    if (count > EP_LIMIT_ZIP_ENTRIES || ++ends > END_RECORDS)
      return ep_fail(error, EP_TOO_LARGE, "ZIP: the archive has more than %d entries",
                     EP_LIMIT_ZIP_ENTRIES);
  }
  return EP_OK;
}

ep_status ep_zip_open(const uint8_t *bytes, size_t size, zip_t **archive, ep_error *error) {
  zip_error_t fault;
  ep_status status = directory_check(bytes, size, error);
  if (status != EP_OK) return status;
  zip_error_init(&fault);
  zip_source_t *source = zip_source_buffer_create(bytes, size, 0, &fault);
  if (!source) return archive_fail(&fault, error);
  *archive = zip_open_from_source(source, ZIP_RDONLY, &fault);
  if (!*archive) {
    zip_source_free(source);
    return archive_fail(&fault, error);
  }
  zip_error_fini(&fault);
  return EP_OK;
}

ep_status ep_zip_entry_find(zip_t *archive, zip_uint64_t index, int64_t most_bytes,
                            ep_zip_entry *out, ep_error *error) {
  const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                              ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0 || (stat.valid & needed) != needed)
    return ep_fail(error, EP_INVALID, "ZIP: entry %llu of the archive is damaged",
                   (unsigned long long)index + 1);
  *out = (ep_zip_entry){.index = index, .name = stat.name, .bytes = stat.size};
  ep_excerpt_path(out->shown, stat.name, strlen(stat.name));
  if (stat.encryption_method != ZIP_EM_NONE)
    return ep_fail(error, EP_INVALID, "ZIP: \"%s\" is encrypted", out->shown);
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    return ep_fail(
        error, EP_INVALID,
        "ZIP: \"%s\" is compressed by method %d: only stored (0) and deflated (8) are supported",
        out->shown, stat.comp_method);
  if (most_bytes < 0 || stat.size > (zip_uint64_t)most_bytes)
    return ep_fail(error, EP_TOO_LARGE, "ZIP: unpacked, \"%s\" is larger than the limit",
                   out->shown);
  if (stat.size > RATIO_FREE_BYTES && stat.size / EP_LIMIT_GZ_RATIO > stat.comp_size)
    return ep_fail(error, EP_TOO_LARGE, "ZIP: \"%s\" unpacks to more than %d times its size",
                   out->shown, EP_LIMIT_GZ_RATIO);
  return EP_OK;
}

static ep_status damage_fail(zip_file_t *packed, const ep_zip_entry *entry, ep_error *error) {
  char why[EP_EXCERPT_BYTES];
  const char *text = zip_file_strerror(packed);
  return ep_fail(error, EP_INVALID, "ZIP: \"%s\" is damaged: %s", entry->shown,
                 ep_excerpt(why, text, strlen(text)));
}

static ep_status pieces_take(zip_file_t *packed, const ep_zip_entry *entry, uint8_t *chunk,
                             ep_zip_take take, void *context, ep_error *error) {
  uint64_t taken = 0;
  for (;;) {
    zip_int64_t count = zip_fread(packed, chunk, CHUNK_BYTES);
    if (count < 0) return damage_fail(packed, entry, error);
    if (count == 0) break;
    if ((uint64_t)count > entry->bytes - taken)
      return ep_fail(error, EP_INVALID, "ZIP: \"%s\" is larger than declared in the archive",
                     entry->shown);
    taken += (uint64_t)count;
    ep_status status = take(context, chunk, (size_t)count, error);
    if (status != EP_OK) return status;
  }
  if (taken == entry->bytes) return EP_OK;
  return ep_fail(error, EP_INVALID, "ZIP: \"%s\" is smaller than declared in the archive",
                 entry->shown);
}

ep_status ep_zip_entry_unpack(zip_t *archive, const ep_zip_entry *entry, ep_zip_take take,
                              void *context, ep_error *error) {
  zip_file_t *packed = zip_fopen_index(archive, entry->index, 0);
  if (!packed) return ep_fail(error, EP_INVALID, "ZIP: \"%s\" cannot be opened", entry->shown);
  uint8_t *chunk = malloc(CHUNK_BYTES);
  ep_status status =
      chunk ? pieces_take(packed, entry, chunk, take, context, error) : ep_fail_memory(error);
  free(chunk);
  zip_fclose(packed);
  return status;
}
