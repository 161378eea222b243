#include "clients/epochctl/jobs/predict_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/client/dialect.h"
#include "clients/epochctl/client/output_file.h"
#include "clients/epochctl/input/body_type.h"
#include "clients/epochctl/input/rows.h"
#include "clients/epochctl/terminal/text.h"

/* What is sent, and what comes back. */
typedef struct {
  const char *body, *type;
  size_t bytes;
  char *own;    /* of `body`; NULL: it is the file's text */
  bool objects; /* lines of JSON come back */
  bool array;   /* which the file has in one array */
} exchange;

static bool ends_in(const char *name, const char *end) {
  size_t bytes = strlen(name), length = strlen(end);
  return bytes >= length && strcmp(name + bytes - length, end) == 0;
}

static ep_status kind_refuse(const char *rows, const char *output, const char *wanted,
                             ep_error *error) {
  return ep_fail(
      error, EP_INVALID,
      "the output format is that of the input, %s: name the file %.200s with the ending %s", rows,
      output, wanted);
}

static ep_status json_read(const char *text, size_t bytes, exchange *out, ep_error *error) {
  ep_status status = ep_json_lines_format(text, bytes, &out->own, &out->bytes, error);
  out->objects = out->own != NULL;
  out->type = out->objects ? "application/x-ndjson" : "application/json";
  if (status == EP_OK && !out->own) /* numbers */
    status = ep_rows_format(text, bytes, &out->own, &out->bytes, error);
  out->body = out->own;
  return status;
}

static ep_status file_read(const char *text, size_t bytes, const char *output, exchange *out,
                           ep_error *error) {
  const char *pictures = ep_pictures_type(text, bytes);
  bool json_name =
      ends_in(output, ".json") || ends_in(output, ".ndjson") || ends_in(output, ".jsonl");
  bool csv_name = ends_in(output, ".csv") || ends_in(output, ".tsv") || ends_in(output, ".txt");
  *out = (exchange){.body = text, .bytes = bytes, .type = pictures ? pictures : "text/csv"};
  ep_status status = EP_OK;
  if (!pictures && ep_text_is_json(text)) status = json_read(text, bytes, out, error);
  if (status != EP_OK) return status;
  out->array = ends_in(output, ".json");
  if (out->objects && csv_name)
    return kind_refuse("objects of JSON", output, ".json or .ndjson", error);
  if (!out->objects && json_name)
    return kind_refuse(pictures ? "names of pictures" : "rows of a table", output, ".csv", error);
  return EP_OK;
}

/* Lines of objects as one array of them. */
static bool array_write(FILE *file, const char *text, size_t bytes) {
  const char *end = text + bytes;
  const char *between = "[\n";
  while (text < end) {
    size_t line = strcspn(text, "\n");
    if (line > 0) {
      fprintf(file, "%s%.*s", between, (int)line, text);
      between = ",\n";
    }
    text += line + (text[line] != 0);
  }
  return fputs("\n]\n", file) >= 0;
}

static ep_status response_write(const exchange *now, const ep_http_response *response,
                                const char *output, ep_error *error) {
  ep_output_file file;
  if (response->bytes == 0) return ep_fail(error, EP_INTERNAL, "the response is empty");
  ep_status status = ep_output_file_open(output, &file, error);
  if (status != EP_OK) return status;
  bool written = now->objects && now->array
                     ? array_write(file.file, response->text, response->bytes)
                     : fwrite(response->text, 1, response->bytes, file.file) == response->bytes;
  if (!written)
    status = ep_fail(error, EP_IO, "%.300s cannot be written: %s", output, strerror(errno));
  status = ep_output_file_close(&file, status, error);
  if (status == EP_OK) ep_output_file_print(output, (int64_t)response->bytes, "");
  return status;
}

/* Whether the job knows no names of columns, by which rows are read that come back. */
static bool has_no_names(const ep_problem *problem) {
  return problem->errors_count == 1 && strcmp(problem->errors[0].pointer, "/rows") == 0;
}

void ep_predict_warnings_print(const ep_http_response *response) {
  char warnings[2 * EP_WARNINGS_BYTES];
  if (!response->warnings[0]) return;
  ep_dialect_words(warnings, sizeof warnings, response->warnings, NULL);
  fprintf(stderr, "warning: %s\n", warnings);
}

ep_status ep_predict_file(ep_client *client, char path[EP_REQUEST_PATH_BYTES], const char *text,
                          size_t bytes, const char *output, ep_error *error) {
  exchange now;
  ep_http_response response = {0};
  ep_status status = file_read(text, bytes, output, &now, error);
  if (status == EP_OK) {
    const ep_http_request request = {.method = "POST",
                                     .path = path,
                                     .accept = "*/*",
                                     .body = now.body,
                                     .body_bytes = now.bytes,
                                     .content_type = now.type};
    ep_path_query(path, "format", now.objects ? "ndjson" : "csv");
    status = ep_http_send(&client->session, &request, &response, error);
  }
  if (status == EP_CONFLICT && has_no_names(&client->session.problem))
    status = ep_fail(error, status, "without --output, cells are matched to columns by position");
  if (status == EP_OK) status = response_write(&now, &response, output, error);
  if (status == EP_OK) ep_predict_warnings_print(&response);
  ep_http_response_deinit(&response);
  free(now.own);
  return status;
}
