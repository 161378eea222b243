/* upload.h: a file to a data set. */
#ifndef EP_CLIENTS_EPOCHCTL_CLIENT_UPLOAD_H
#define EP_CLIENTS_EPOCHCTL_CLIENT_UPLOAD_H

#include "clients/epochctl/client/client.h"

/* PUTs or POSTs a file, "-" is standard input, to `path`; on a terminal a line shows the progress
 * of a large one. *dataset: the response, the caller's (json_decref); with --json it is printed,
 * too. */
ep_status ep_file_upload(ep_client *client, const char *method, const char *path,
                         const char *file_name, json_t **dataset, ep_error *error);

#endif
