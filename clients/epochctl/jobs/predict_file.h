/* predict_file.h: predictions behind the rows that they are of, in a file. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_PREDICT_FILE_H
#define EP_CLIENTS_EPOCHCTL_JOBS_PREDICT_FILE_H

#include "clients/epochctl/client/client.h"
#include "clients/epochctl/http/path.h"

/* POSTs the rows to `path`, of /predict with its query, which is written on, and writes the
 * response to the file `output`; "-": standard output. Rows of CSV and of JSON objects come back as
 * they are, with new cells; .json, .ndjson and .jsonl are names of JSON. EP_INVALID: the rows are
 * not of the kind that the name says. */
ep_status ep_predict_file(ep_client *client, char path[EP_REQUEST_PATH_BYTES], const char *text,
                          size_t bytes, const char *output, ep_error *error);

/* What the server says of rows in a response that has no place for it. */
void ep_predict_warnings_print(const ep_http_response *response);

#endif
