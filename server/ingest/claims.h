/* claims.h: what the process that read an upload says of it, held against what epochd sees. The
 * hash names the content, which others with the same bytes share: a process that was taken over
 * could give its own values to all who upload these bytes later. */
#ifndef EP_SERVER_INGEST_CLAIMS_H
#define EP_SERVER_INGEST_CLAIMS_H

#include "server/ingest/ingest.h"

/* Of an upload that was read into the folder: whether its hash is that of the file, `sha256`, read
 * with the task's options, and its parts have the size that is said. A part that was uploaded alone
 * is all that is there. EP_INTERNAL: something is not so. */
ep_status ep_ingest_claims_check(const ep_ingest_task *task, const char *sha256, const char *folder,
                                 ep_error *error);

#endif
