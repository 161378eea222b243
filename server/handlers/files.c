/* files.c: files as responses. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/handlers/handlers.h"
#include "server/http/messages/range.h"

ep_status ep_file_open(const char *path, int *file, int64_t *bytes, ep_error *error) {
  struct stat about;
  *file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (*file < 0 || fstat(*file, &about) != 0 || !S_ISREG(about.st_mode)) {
    int reason = errno;
    if (*file >= 0) close(*file);
    if (*file < 0 && reason == ENOENT)
      return ep_fail(error, EP_NOT_FOUND, "no such file in this job");
    return ep_fail(error, EP_IO, "the file cannot be opened: %s", strerror(reason));
  }
  *bytes = about.st_size;
  return EP_OK;
}

ep_route_result ep_file_serve(ep_exchange *exchange, int file, int64_t bytes, const char *type,
                              const char *name, const char *etag) {
  ep_request *request = &exchange->request;
  ep_response *response = &exchange->response;
  response->file = file;
  response->type = type;
  if (*etag) ep_response_header_add(response, "ETag", "%s", etag);
  if (*etag && ep_request_matches(request, etag)) {
    close(file);
    response->file = -1;
    ep_response_empty(response, 304);
    return EP_ROUTE_DONE;
  }
  const char *condition = ep_request_header(request, "If-Range");
  const char *range = ep_request_header(request, "Range");
  if (condition && strcmp(condition, etag) != 0) range = NULL;
  if (strcmp(request->method, "HEAD") == 0) range = NULL; /* for GET alone (RFC 9110, 14.2) */
  ep_range_kind kind = ep_range_read(range, bytes, &response->file_offset, &response->file_bytes);
  if (kind == EP_RANGE_OUTSIDE) {
    ep_exchange_fail_with(exchange, EP_RANGE, "the content has %lld bytes", (long long)bytes);
    ep_response_header_add(response, "Content-Range", "bytes */%lld", (long long)bytes);
    return EP_ROUTE_DONE;
  }
  response->status = kind == EP_RANGE_PART ? 206 : 200;
  if (kind == EP_RANGE_PART)
    ep_response_header_add(
        response, "Content-Range", "bytes %lld-%lld/%lld", (long long)response->file_offset,
        (long long)(response->file_offset + response->file_bytes - 1), (long long)bytes);
  ep_response_header_add(response, "Accept-Ranges", "bytes");
  ep_response_header_add(response, "Content-Disposition", "attachment; filename=\"%s-%s\"",
                         request->id, name);
  return EP_ROUTE_DONE;
}
