/* path.h: paths of files, with a check on their size. */
#ifndef EP_ENGINE_FILES_PATH_H
#define EP_ENGINE_FILES_PATH_H

#include <dirent.h>

#include "api/status.h"

enum { EP_PATH_BYTES = 4096 }; /* PATH_MAX: the kernel takes no longer ones */

/* Writes "base/name/name…" (the names end with NULL) to path: [EP_PATH_BYTES]. EP_TOO_LARGE when it
 * does not fit. */
ep_status ep_path_join(char *path, ep_error *error, const char *base, ...)
    __attribute__((sentinel));

/* The next entry of the folder; NULL, and EP_OK: there are no more. Not "." nor "..". path: for
 * messages. EP_IO: it cannot be read, which readdir reports as if there were no more. */
ep_status ep_path_next(DIR *folder, const char *path, struct dirent **entry, ep_error *error);

#endif
