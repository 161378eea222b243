#include "server/http/access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/json/writer.h"
#include "server/http/routes.h"
#include "server/process/clock.h"
#include "server/process/log.h"

enum { LINE_BYTES = EP_REQUEST_TARGET_BYTES * 6 + 1024 }; /* every byte of a path escaped */

ep_status ep_access_log_open(const char *path, int *file, ep_error *error) {
  bool out = strcmp(path, "-") == 0;
  if (out) {
    *file = STDOUT_FILENO;
    return EP_OK;
  }
  int opened = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (opened < 0)
    return ep_fail(error, EP_IO, "the access log %.300s cannot be opened: %s", path,
                   strerror(errno));
  if (*file > STDERR_FILENO) {
    dup3(opened, *file, O_CLOEXEC);
    close(opened);
  } else {
    *file = opened;
  }
  return EP_OK;
}

static void line_write(const ep_exchange *exchange, double milliseconds) {
  ep_writer writer;
  ep_writer_init(&writer, LINE_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_time(&writer, "time", ep_clock_utc_us());
  ep_writer_member_string(&writer, "request", exchange->request_id);
  ep_writer_member_string(&writer, "address", exchange->address);
  ep_writer_member_string(&writer, "token", exchange->caller.token);
  ep_writer_member_string(&writer, "owner", exchange->caller.owner);
  ep_writer_member_string(&writer, "method", exchange->request.method);
  ep_writer_member_string(&writer, "path", exchange->request.path);
  ep_writer_member_integer(&writer, "status", exchange->sent_status);
  ep_writer_member_number(&writer, "milliseconds", milliseconds);
  ep_writer_close(&writer, '}');
  ep_writer_bytes(&writer, "\n", 1);
  /* one write a line: those of several threads do not mix; there is no other place to complain */
  if (!writer.failed) (void)!write(exchange->server->access_log, writer.text, writer.count);
  ep_writer_deinit(&writer);
}

void ep_access_log_write(const ep_exchange *exchange) {
  const ep_request *request = &exchange->request;
  if (exchange->sent_status == 0) return; /* nothing was answered */
  double milliseconds = (double)((ep_clock_steady_us() - exchange->begun_us) / 10) / 100;
  if (exchange->server->access_log > 0) line_write(exchange, milliseconds);
  ep_log(EP_LOG_DEBUG, "%s %.300s %d, %.2f ms, %s%s%s (%s)", request->method,
         request->path ? request->path : "", exchange->sent_status, milliseconds,
         exchange->caller.token, exchange->caller.token[0] ? " from " : "", exchange->address,
         exchange->request_id);
}

void ep_request_id_find(ep_exchange *exchange) {
  static const char ALLOWED[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const char *given = ep_request_header(&exchange->request, "X-Request-Id");
  size_t bytes = given ? strlen(given) : 0;
  if (bytes > 0 && bytes < sizeof exchange->request_id && strspn(given, ALLOWED) == bytes)
    memcpy(exchange->request_id, given, bytes + 1);
  else
    snprintf(exchange->request_id, sizeof exchange->request_id, "%s-%llx", exchange->server->boot,
             (unsigned long long)atomic_fetch_add(&exchange->server->requests, 1) + 1);
}

static const char *location_of(const ep_response *response) {
  for (int i = 0; i < response->headers_count; i++)
    if (strcmp(response->headers[i].name, "Location") == 0) return response->headers[i].value;
  return NULL;
}

void ep_exchange_audit(const ep_exchange *exchange) {
  ep_error error = {0};
  const ep_request *request = &exchange->request;
  int status = exchange->response.status;
  bool unknown = exchange->response.unknown, done = status >= 200 && status < 300;
  bool changes = exchange->route->scope > EP_SCOPE_READ && (done || unknown) &&
                 !ep_request_query(request, "validate");
  if (!exchange->server->audit || !changes) return;
  const ep_audit_entry entry = {.token = exchange->caller.token,
                                .owner = exchange->caller.owner,
                                .address = exchange->address,
                                .request_id = exchange->request_id,
                                .method = request->method,
                                .path = request->path,
                                .location = location_of(&exchange->response),
                                .status = status,
                                .unknown = unknown};
  if (ep_audit_append(exchange->server->audit, &entry, &error) != EP_OK)
    ep_log(EP_LOG_ERROR, "%s %.300s by %s is not in the audit log: %s", request->method,
           request->path, exchange->caller.token, error.message);
}
