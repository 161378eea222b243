/* temporary_file.h: a file without a name, which is gone once it is closed. */
#ifndef EP_ENGINE_FILES_TEMPORARY_FILE_H
#define EP_ENGINE_FILES_TEMPORARY_FILE_H

#include "api/status.h"

/* Creates one in `folder`; in memory where that is NULL. *file is the caller's to close. */
ep_status ep_temporary_file_create(const char *folder, int *file, ep_error *error);

#endif
