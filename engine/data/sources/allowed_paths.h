/* allowed_paths.h: the folders whose files a spec may name ({"path": …}), as the administrator said
 * with
 * --allow-path. A property of the process: set by main before there is a second thread, then only
 * read. */
#ifndef EP_ENGINE_DATA_SOURCES_ALLOWED_PATHS_H
#define EP_ENGINE_DATA_SOURCES_ALLOWED_PATHS_H

#include "api/limits.h"
#include "api/status.h"

/* Folders more, separated by ':'; each must be there. EP_TOO_LARGE beyond EP_LIMIT_ALLOWED_FOLDERS.
 */
ep_status ep_allowed_paths_add(const char *folders, ep_error *error);
/* Forgets all: for tests. */
void ep_allowed_paths_clear(void);

/* Opens a file or folder for reading. `path` is absolute and lies below an allowed folder, or is
 * relative to one. No symbolic link is followed below it, and ".." leads nowhere. EP_INVALID at
 * /data/path, with one message for everything that is not allowed and another for what would be
 * but is not there. *file is the caller's to close. */
ep_status ep_allowed_paths_open(const char *path, int *file, ep_error *error);

#endif
