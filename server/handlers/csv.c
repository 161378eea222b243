/* Responses in CSV, as ?spreadsheet= has them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/json/spreadsheet.h"
#include "engine/files/durable_file.h"
#include "engine/files/temporary_file.h"
#include "server/handlers/handlers.h"

enum { CHUNK_BYTES = 64 << 10 };

bool ep_accepts_csv(const ep_request *request) {
  static const char *const TYPES[] = {"text/csv", "application/json", NULL};
  return ep_request_accepts(request, TYPES, 1) == 0;
}

ep_status ep_spreadsheet_read(const ep_request *request, int *out, ep_error *error) {
  static const char *const SWITCH[] = {"0", "1", "false", "true", NULL};
  ep_status status = ep_request_word(request, "spreadsheet", SWITCH, 0, out, error);
  *out &= 1;
  return status;
}

ep_route_result ep_csv_respond(ep_exchange *exchange, char *text) {
  ep_error error = {0};
  int spreadsheet;
  if (ep_spreadsheet_read(&exchange->request, &spreadsheet, &error) != EP_OK) {
    free(text);
    return ep_exchange_fail(exchange, &error);
  }
  ep_response_take_text(&exchange->response, 200, EP_CSV_TYPE,
                        spreadsheet ? ep_spreadsheet_text(text, ',') : text);
  return EP_ROUTE_DONE;
}

/* *bytes: so many are read, and then so many are written. */
static ep_status copy_write(int from, int to, int64_t *bytes, ep_error *error) {
  char chunk[CHUNK_BYTES];
  ep_spreadsheet sheet = {.delimiter = ','};
  ep_status status = EP_OK;
  int64_t written = 0;
  ep_writer out;
  ep_writer_init(&out, 2 * CHUNK_BYTES + EP_SPREADSHEET_NUMBER_BYTES);
  for (int64_t at = 0; status == EP_OK && at < *bytes; out.count = 0) {
    ssize_t count = pread(from, chunk, sizeof chunk, at);
    if (count <= 0) {
      status = ep_fail(error, EP_IO, "%s", count < 0 ? strerror(errno) : "it was cut");
      break;
    }
    at += count;
    ep_spreadsheet_add(&sheet, chunk, (size_t)count, &out);
    if (at == *bytes) ep_spreadsheet_end(&sheet, &out);
    status = out.failed ? ep_fail_memory(error) : ep_file_write_all(to, out.text, out.count, error);
    written += (int64_t)out.count;
  }
  ep_writer_deinit(&out);
  *bytes = written;
  return status;
}

ep_status ep_csv_copy(const ep_exchange *exchange, int *file, int64_t *bytes, ep_error *error) {
  int copy = -1;
  ep_status status = ep_temporary_file_create(exchange->server->config->data_dir, &copy, error);
  if (status == EP_OK) status = copy_write(*file, copy, bytes, error);
  close(*file);
  if (status != EP_OK && copy >= 0) close(copy);
  *file = copy;
  return status;
}
