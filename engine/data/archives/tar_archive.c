#include "engine/data/archives/tar_archive.h"

#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "engine/files/excerpt.h"

enum { BLOCK_BYTES = 512 };

/* A header's fields: the offset of each, and its bytes. */
enum {
  NAME = 0,
  NAME_BYTES = 100,
  SIZE = 124,
  SIZE_BYTES = 12,
  CHECKSUM = 148,
  CHECKSUM_BYTES = 8,
  TYPE = 156,
  MAGIC = 257,
  PREFIX = 345,
  PREFIX_BYTES = 155
};

/* Octal digits behind spaces, or GNU's base 256 with the first bit set. False where it is neither,
 * or beyond 2^63. */
static bool number_read(const uint8_t *field, size_t bytes, uint64_t *out) {
  size_t i = 0;
  *out = 0;
  if (field[0] == 0x80) {
    for (i = 1; i < bytes; i++) {
      if (*out >> 55) return false;
      *out = *out << 8 | field[i];
    }
    return true;
  }
  while (i < bytes && field[i] == ' ') i++;
  size_t first = i;
  for (; i < bytes && field[i] >= '0' && field[i] <= '7'; i++) *out = *out << 3 | (field[i] - '0');
  return i > first && (i == bytes || field[i] == 0 || field[i] == ' ');
}

static bool is_header(const uint8_t *block) {
  uint64_t wanted, sum = 0;
  for (int i = 0; i < BLOCK_BYTES; i++)
    sum += i >= CHECKSUM && i < CHECKSUM + CHECKSUM_BYTES ? ' ' : block[i];
  return number_read(block + CHECKSUM, CHECKSUM_BYTES, &wanted) && wanted == sum;
}

static bool is_end(const uint8_t *block) {
  for (int i = 0; i < BLOCK_BYTES; i++)
    if (block[i] != 0) return false;
  return true;
}

bool ep_tar_recognise(const uint8_t *bytes, size_t size) {
  return size >= BLOCK_BYTES && !is_end(bytes) && is_header(bytes);
}

/* What is read of the archive so far. */
typedef struct {
  const uint8_t *bytes;
  size_t size, at;
  ep_tar *tar;
  int64_t capacity;
  char *name;    /* owned: of the next file, where an entry before it says so */
  bool has_size; /* and */
  uint64_t next_size;
} reader;

static char *text_copy(const uint8_t *text, size_t most) {
  size_t bytes = strnlen((const char *)text, most);
  char *copy = malloc(bytes + 1);
  if (copy) memcpy(copy, text, bytes);
  if (copy) copy[bytes] = 0;
  return copy;
}

/* "prefix/name" of a header. */
static char *header_name(const uint8_t *block) {
  bool prefix = memcmp(block + MAGIC, "ustar\0", 6) == 0 && block[PREFIX] != 0;
  if (!prefix) return text_copy(block + NAME, NAME_BYTES);
  size_t before = strnlen((const char *)block + PREFIX, PREFIX_BYTES);
  size_t after = strnlen((const char *)block + NAME, NAME_BYTES);
  char *name = malloc(before + after + 2);
  if (!name) return NULL;
  memcpy(name, block + PREFIX, before);
  name[before] = '/';
  memcpy(name + before + 1, block + NAME, after);
  name[before + 1 + after] = 0;
  return name;
}

/* One record of a pax header, "27 path=a/b.png\n", of `bytes`. */
static ep_status record_take(reader *in, const char *text, size_t bytes, ep_error *error) {
  const char *equals = memchr(text, '=', bytes);
  size_t key = equals ? (size_t)(equals - text) : 0, value = equals ? bytes - key - 2 : 0;
  if (key == 4 && memcmp(text, "path", 4) == 0) {
    free(in->name);
    in->name = text_copy((const uint8_t *)equals + 1, value);
    if (!in->name) return ep_fail_memory(error);
  }
  if (key == 4 && memcmp(text, "size", 4) == 0) {
    in->next_size = 0;
    in->has_size = value > 0 && value < 19;
    for (size_t i = 1; i <= value && in->has_size; i++) {
      in->has_size = equals[i] >= '0' && equals[i] <= '9';
      in->next_size = in->next_size * 10 + (uint64_t)(equals[i] - '0');
    }
    if (!in->has_size) return ep_fail(error, EP_INVALID, "TAR: a size is not a number");
  }
  return EP_OK;
}

static ep_status pax_read(reader *in, const uint8_t *bytes, size_t size, ep_error *error) {
  const char *at = (const char *)bytes, *end = at + size;
  ep_status status = EP_OK;
  while (at < end && *at && status == EP_OK) {
    size_t record = 0;
    const char *start = at;
    while (at < end && *at >= '0' && *at <= '9' && record < size)
      record = record * 10 + (size_t)(*at++ - '0');
    if (at == end || *at != ' ' || record > (size_t)(end - start) ||
        record < (size_t)(at - start) + 2 || start[record - 1] != '\n')
      return ep_fail(error, EP_INVALID, "TAR: an extended header is damaged");
    status = record_take(in, at + 1, record - (size_t)(at + 1 - start), error);
    at = start + record;
  }
  return status;
}

static ep_status file_add(reader *in, const uint8_t *bytes, size_t size, ep_error *error) {
  ep_tar *tar = in->tar;
  size_t skip = 0;
  while (in->name[skip] == '.' && in->name[skip + 1] == '/') skip += 2;
  memmove(in->name, in->name + skip, strlen(in->name + skip) + 1);
  if (tar->count == EP_LIMIT_ZIP_ENTRIES)
    return ep_fail(error, EP_INVALID, "TAR: more than %d files", EP_LIMIT_ZIP_ENTRIES);
  if (tar->count == in->capacity) {
    in->capacity = in->capacity ? 2 * in->capacity : 16;
    ep_tar_file *file = realloc(tar->file, (size_t)in->capacity * sizeof *file);
    if (!file) return ep_fail_memory(error);
    tar->file = file;
  }
  tar->file[tar->count++] = (ep_tar_file){in->name, bytes, size};
  in->name = NULL;
  return EP_OK;
}

/* One entry, from its header to behind its last block. */
static ep_status entry_read(reader *in, ep_error *error) {
  const uint8_t *block = in->bytes + in->at, *content = block + BLOCK_BYTES;
  uint64_t size;
  if (!is_header(block) || !number_read(block + SIZE, SIZE_BYTES, &size))
    return ep_fail(error, EP_INVALID, "TAR: the header at byte %zu is damaged", in->at + 1);
  char type = (char)block[TYPE];
  bool plain = type == '0' || type == 0, extended = type == 'x' || type == 'g' || type == 'L';
  bool sized = !extended && type != 'K';
  if (sized && in->has_size) size = in->next_size;
  if (!in->name && plain) in->name = header_name(block);
  if (plain && !in->name) return ep_fail_memory(error);
  if (size > in->size - in->at - BLOCK_BYTES) {
    char shown[EP_EXCERPT_PATH_BYTES];
    const char *name = plain ? in->name : "a header";
    return ep_fail(error, EP_INVALID, "TAR: the archive ends within \"%s\"",
                   ep_excerpt_path(shown, name, strlen(name)));
  }
  in->at += BLOCK_BYTES + (size_t)size;
  in->at += (BLOCK_BYTES - size % BLOCK_BYTES) % BLOCK_BYTES;
  if (type == 'x') return pax_read(in, content, (size_t)size, error);
  if (type == 'L') {
    free(in->name);
    in->name = text_copy(content, (size_t)size);
    return in->name ? EP_OK : ep_fail_memory(error);
  }
  if (!sized || extended) return EP_OK; /* nothing about names and sizes */
  ep_status status = plain ? file_add(in, content, (size_t)size, error) : EP_OK;
  free(in->name);
  in->name = NULL;
  in->has_size = false;
  return status;
}

ep_status ep_tar_open(const uint8_t *bytes, size_t size, ep_tar *out, ep_error *error) {
  reader in = {.bytes = bytes, .size = size, .tar = out};
  ep_status status = EP_OK;
  *out = (ep_tar){0};
  while (status == EP_OK && in.at < size && size - in.at >= BLOCK_BYTES && !is_end(bytes + in.at))
    status = entry_read(&in, error);
  free(in.name);
  return status;
}

void ep_tar_deinit(ep_tar *tar) {
  for (int64_t i = 0; i < tar->count; i++) free(tar->file[i].name);
  free(tar->file);
  *tar = (ep_tar){0};
}
