/* Checkpoints: listed, downloaded. */
#include "server/jobs/checkpoints.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/handlers/handlers.h"
#include "server/process/data_dir.h"

ep_status ep_checkpoint_name_read(const char *name, int64_t *step, ep_error *error) {
  size_t digits = strspn(name, "0123456789");
  *step = EP_CHECKPOINT_LATEST;
  if (strcmp(name, "latest") == 0) return EP_OK;
  if (digits == 0 || digits > 18 || name[digits] != 0)
    return ep_fail(error, EP_MALFORMED, "a checkpoint must be a step such as 1200, or latest");
  *step = strtoll(name, NULL, 10);
  if (*step == 0) return ep_fail(error, EP_NOT_FOUND, "no checkpoint at step 0");
  return EP_OK;
}

ep_route_result ep_route_checkpoint_list(ep_exchange *exchange) {
  ep_error error = {0};
  char *text = NULL;
  if (ep_jobs_checkpoints(exchange->server->jobs, exchange->request.id, &text, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}

/* The weights of a checkpoint as a file of their own, which is open and has no name. */
static ep_status weights_extract(const ep_server *server, const char *checkpoint, int *file,
                                 int64_t *bytes, ep_error *error) {
  char folder[EP_PATH_BYTES], path[EP_PATH_BYTES];
  ep_status status = ep_data_dir_temporary(server->config->data_dir, folder, error);
  if (status != EP_OK) return status;
  status = ep_path_join(path, error, folder, EP_WEIGHTS_FILE, NULL);
  if (status == EP_OK) status = ep_checkpoint_extract(checkpoint, path, error);
  if (status == EP_OK) status = ep_file_open(path, file, bytes, error);
  ep_data_dir_remove(folder, NULL);
  return status;
}

ep_route_result ep_route_checkpoint_get(ep_exchange *exchange) {
  ep_server *server = exchange->server;
  const ep_request *request = &exchange->request;
  ep_error error = {0};
  ep_checkpoint checkpoint;
  char path[EP_PATH_BYTES], etag[EP_FILE_ETAG_BYTES];
  int64_t step, bytes = 0;
  int file = -1;
  if (ep_checkpoint_name_read(request->part, &step, &error) != EP_OK ||
      ep_jobs_checkpoint_find(server->jobs, request->id, step, &checkpoint, path, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  snprintf(etag, sizeof etag, "\"%s\"", checkpoint.weights_sha256);
  if (ep_request_matches(request, etag)) { /* what the client has need not be made */
    ep_response_header_add(&exchange->response, "ETag", "%s", etag);
    ep_response_empty(&exchange->response, 304);
    return EP_ROUTE_DONE;
  }
  if (weights_extract(server, path, &file, &bytes, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_file_serve(exchange, file, bytes, "application/octet-stream", EP_WEIGHTS_FILE, etag);
}
