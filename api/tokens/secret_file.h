/* secret_file.h: a file of secrets, tokens or a key, is its owner's alone. */
#ifndef EP_API_TOKENS_SECRET_FILE_H
#define EP_API_TOKENS_SECRET_FILE_H

#include "api/status.h"

/* `file`: a descriptor; `what`: "token file"; `path`: for messages. EP_FORBIDDEN: others may write
 * it, or read it: a file of root's may be readable, and so may one on a read-only mount, as
 * secrets of containers are. EP_INVALID: a folder. EP_IO. */
ep_status ep_secret_file_check(int file, const char *what, const char *path, ep_error *error);

#endif
