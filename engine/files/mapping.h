/* mapping.h: a whole file's bytes, mapped read-only. */
#ifndef EP_ENGINE_FILES_MAPPING_H
#define EP_ENGINE_FILES_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

typedef struct {
  const uint8_t *bytes; /* NULL when the file is empty */
  size_t size;
} ep_mapping;

/* EP_NOT_FOUND when there is no such file, EP_INVALID when it is no regular file. */
ep_status ep_mapping_open(const char *path, ep_mapping *out, ep_error *error);
/* The same of an open file, which stays the caller's; `path` is for messages. */
ep_status ep_mapping_of(int file, const char *path, ep_mapping *out, ep_error *error);
/* Gives back the memory of a part of a mapping that was read: of the pages wholly within. They come
 * from the file again when they are read again. */
void ep_mapping_drop(const void *bytes, size_t size);
void ep_mapping_close(ep_mapping *mapping);

#endif
