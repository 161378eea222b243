/* upload.h: a file to a data set. */
#ifndef EP_CLIENTS_EPOCHCTL_CLIENT_UPLOAD_H
#define EP_CLIENTS_EPOCHCTL_CLIENT_UPLOAD_H

#include "clients/epochctl/client/client.h"

/* PUTs a file, "-" is standard input, to `path`; on a terminal a line shows the progress of a large
 * one. *dataset: the response, as ep_client_send gives it. */
ep_status ep_file_upload(ep_client *client, const char *path, const char *file_name,
                         json_t **dataset, ep_error *error);

#endif
