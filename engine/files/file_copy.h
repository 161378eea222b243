/* file_copy.h: a copy of a file, which is there whole or not at all (durable_file.h). */
#ifndef EP_ENGINE_FILES_FILE_COPY_H
#define EP_ENGINE_FILES_FILE_COPY_H

#include <sys/stat.h>

#include "api/names.h"
#include "api/status.h"

/* Reads, and maps nothing: a file that others cut meanwhile is no signal. sha256:
 * [EP_SHA256_HEX_BYTES], of what was copied; NULL = not wanted. */
ep_status ep_file_copy(const char *from, const char *to, mode_t mode,
                       char sha256[EP_SHA256_HEX_BYTES], ep_error *error);

#endif
