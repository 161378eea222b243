/* file_copy.h: a copy of a file, which is there whole or not at all (durable_file.h). */
#ifndef EP_ENGINE_FILES_FILE_COPY_H
#define EP_ENGINE_FILES_FILE_COPY_H

#include <sys/stat.h>

#include "api/names.h"
#include "api/status.h"

/* Whoever is told that a copy goes on, after each megabyte. */
typedef struct {
  void (*moved)(void *context);
  void *context;
} ep_file_moves;

/* Reads, and maps nothing: a file that others cut meanwhile is no signal. sha256:
 * [EP_SHA256_HEX_BYTES], of what was copied; NULL = not wanted. moves: NULL = nobody; else what is
 * written goes to the disk on the way, so that the end is no long wait of which nothing is told. */
ep_status ep_file_copy(const char *from, const char *to, mode_t mode,
                       char sha256[EP_SHA256_HEX_BYTES], const ep_file_moves *moves,
                       ep_error *error);

#endif
