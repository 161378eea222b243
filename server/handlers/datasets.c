/* Datasets by name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/dataset_name.h"
#include "api/visibility.h"
#include "server/datasets/datasets.h"
#include "server/handlers/handlers.h"
#include "server/process/data_dir.h"

/* A side of a picture, as digits alone: 0 where it is none. *end: what follows. */
static int side_read(const char *text, const char **end) {
  int side = 0;
  for (; *text >= '0' && *text <= '9' && side <= EP_LIMIT_COLUMNS; text++)
    side = side * 10 + (*text - '0');
  *end = text;
  return side <= EP_LIMIT_COLUMNS ? side : 0;
}

/* size=HEIGHTxWIDTH, channels and broken: how pictures are stored. */
static ep_status pictures_read(const ep_request *request, ep_ingest_options *options,
                               ep_error *error) {
  static const char *const CHANNELS[] = {"1", "3", NULL}, *const BROKEN[] = {"refuse", "skip",
                                                                             NULL};
  int channels, broken;
  const char *text = ep_request_query(request, "size");
  if (text) {
    options->height = side_read(text, &text);
    options->width = *text == 'x' ? side_read(text + 1, &text) : 0;
    if (options->height == 0 || options->width == 0 || *text)
      return ep_fail(error, EP_MALFORMED, "?size= must be HEIGHTxWIDTH, as 64x64: from 1 to %d",
                     EP_LIMIT_COLUMNS);
  }
  ep_status status = ep_request_word(request, "channels", CHANNELS, -1, &channels, error);
  if (status == EP_OK) status = ep_request_word(request, "broken", BROKEN, 0, &broken, error);
  if (status != EP_OK) return status;
  options->channels = channels < 0 ? 0 : 1 + 2 * channels;
  options->skip_broken = broken == 1;
  return EP_OK;
}

ep_status ep_request_dialect(const ep_request *request, ep_dialect *out, ep_error *error) {
  ep_status status = EP_OK;
  *out = (ep_dialect){0};
  for (ep_dialect_key key = 0; key < EP_DIALECT_KEYS && status == EP_OK; key++) {
    const char *text = ep_request_query(request, ep_dialect_key_name(key));
    if (text) status = ep_dialect_set(out, key, text, error);
  }
  if (status == EP_OK) status = ep_dialect_check(out, error);
  if (status == EP_OK) return EP_OK;
  if (error) error->status = EP_MALFORMED;
  return EP_MALFORMED;
}

static ep_status options_read(const ep_request *request, ep_ingest_options *options,
                              ep_error *error) {
  *options = (ep_ingest_options){.table = ep_request_query(request, "table")};
  ep_status status = ep_request_dialect(request, &options->dialect, error);
  return status == EP_OK ? pictures_read(request, options, error) : status;
}

/* The part that the route's path names in its last two segments. */
static void part_find(const ep_route *route, ep_split *split, ep_role *role) {
  const char *path = route->path;
  *role = path[strlen(path) - 1] == 'x' ? EP_ROLE_X : EP_ROLE_Y;
  *split = strstr(path, "/train/")  ? EP_SPLIT_TRAIN
           : strstr(path, "/test/") ? EP_SPLIT_TEST
                                    : EP_SPLIT_VALIDATION;
}

static ep_status upload_read(ep_exchange *exchange, const char *folder,
                             const ep_ingest_options *options, bool part, ep_error *error) {
  ep_path_source source;
  ep_split split = EP_SPLIT_TRAIN;
  ep_role role = EP_ROLE_TABLE;
  ep_datasets *datasets = ep_jobs_datasets(exchange->server->jobs);
  const ep_ingest_task task = {.source = &source,
                               .options = options,
                               .max_output_bytes =
                                   ep_contents_limit(exchange->server->config->max_upload_bytes)};
  if (part) part_find(exchange->route, &split, &role);
  ep_path_source_init(&source);
  source.whole = !part;
  int file = open(exchange->request.upload.path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return ep_fail(error, EP_IO, "the upload cannot be opened: %s", strerror(errno));
  source.file[split][role] = file;
  ep_status status =
      ep_datasets_ingest(datasets, &task, folder, ep_exchange_is_abandoned, exchange, error);
  ep_path_source_close(&source);
  return status;
}

static ep_uploader uploader_of(const ep_exchange *exchange) {
  const ep_config *config = exchange->server->config;
  return (ep_uploader){.owner = exchange->caller.owner,
                       .admin = ep_exchange_is_admin(exchange),
                       .quota_bytes = config->quota_bytes,
                       .private = config->private_default};
}

static ep_status visibility_read(const ep_request *request, ep_uploader *by, ep_error *error) {
  int word;
  ep_status status =
      ep_request_word(request, "visibility", EP_VISIBILITY_WORDS, by->private, &word, error);
  by->private = word == true;
  by->visibility_given = ep_request_query(request, "visibility") != NULL;
  return status;
}

/* Reads the uploaded file into a folder of its own, which becomes a content; the request's id is
 * its name then. */
static ep_status upload_ingest(ep_exchange *exchange, const ep_ingest_options *options, bool part,
                               ep_dataset_told *told, bool *created, ep_error *error) {
  static const char *const REPLACE[] = {"false", "true", NULL};
  ep_server *server = exchange->server;
  ep_datasets *datasets = ep_jobs_datasets(server->jobs);
  ep_request *request = &exchange->request;
  char folder[EP_PATH_BYTES];
  int replaces;
  ep_uploader by = uploader_of(exchange);
  ep_status status = visibility_read(request, &by, error);
  if (status == EP_OK)
    status = ep_request_word(request, "replace", REPLACE, strcmp(request->method, "PUT") == 0,
                             &replaces, error);
  if (status == EP_OK) status = ep_data_dir_temporary(server->config->data_dir, folder, error);
  if (status != EP_OK) return status;
  status = upload_read(exchange, folder, options, part, error);
  if (status == EP_OK && part)
    status = ep_datasets_put_part(datasets, request->id, &by, folder, told, created, error);
  else if (status == EP_OK)
    status = replaces
                 ? ep_datasets_put(datasets, request->id, &by, folder, told, created, error)
                 : ep_datasets_put_beside(datasets, request->id, &by, folder, told, created, error);
  ep_data_dir_remove(folder, NULL); /* gone already if it became a content */
  return status;
}

/* Takes `text`: what is told of a content; tag: of that version of it. */
static ep_route_result content_respond(ep_exchange *exchange, int status, char *text,
                                       const char *tag) {
  char etag[EP_DATASET_ETAG_BYTES + 2];
  snprintf(etag, sizeof etag, "\"%s\"", tag);
  ep_response_header_add(&exchange->response, "ETag", "%s", etag);
  if (status == 200 && strcmp(exchange->route->method, "GET") == 0 &&
      ep_request_matches(&exchange->request, etag)) {
    free(text);
    ep_response_empty(&exchange->response, 304);
    return EP_ROUTE_DONE;
  }
  ep_response_take_text(&exchange->response, status, "application/json", text);
  return EP_ROUTE_DONE;
}

/* told: NULL: it was not stored just now. */
static ep_route_result dataset_respond(ep_exchange *exchange, int status,
                                       const ep_dataset_told *told) {
  ep_error error = {0};
  char *text = NULL;
  char etag[EP_DATASET_ETAG_BYTES] = "";
  const ep_viewer viewer = ep_exchange_viewer(exchange);
  if (ep_datasets_get(ep_jobs_datasets(exchange->server->jobs), exchange->request.id, &viewer, told,
                      &text, etag, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return content_respond(exchange, status, text, etag);
}

static ep_route_result dataset_put(ep_exchange *exchange, bool part) {
  ep_error error = {0};
  ep_problem problem = {0};
  ep_ingest_options options;
  bool created = false;
  ep_dataset_told told;
  ep_status status = options_read(&exchange->request, &options, &error);
  options.faults = &problem;
  if (status == EP_OK) status = upload_ingest(exchange, &options, part, &told, &created, &error);
  ep_upload_discard(&exchange->request.upload);
  if (status != EP_OK && problem.errors_count > 0) {
    ep_problem_set(&problem, status, "%s", error.message);
    return ep_exchange_problem(exchange, &problem);
  }
  if (status != EP_OK) return ep_exchange_fail(exchange, &error);
  if (created) ep_exchange_locate(exchange, "/v1/datasets/%s", exchange->request.id);
  dataset_respond(exchange, created ? 201 : 200, &told);
  if (exchange->response.status < 300) return EP_ROUTE_DONE;
  ep_response_deinit(&exchange->response);
  return ep_exchange_fail_with(exchange, EP_UNKNOWN,
                               "dataset %s is stored but cannot be shown: request it again",
                               exchange->request.id);
}

/* Of a dataset that is called as its file, and takes no other's name unless it is told to. */
ep_route_result ep_route_dataset_create(ep_exchange *exchange) {
  char name[EP_LIMIT_NAME_BYTES + 1];
  const char *file = ep_request_query(&exchange->request, "file");
  ep_dataset_name_of_file(file ? file : "", name);
  snprintf(exchange->request.id, sizeof exchange->request.id, "%s", name);
  return dataset_put(exchange, false);
}

ep_route_result ep_route_dataset_put(ep_exchange *exchange) {
  return dataset_put(exchange, false);
}

ep_route_result ep_route_part_put(ep_exchange *exchange) {
  return dataset_put(exchange, true);
}

ep_route_result ep_route_dataset_label(ep_exchange *exchange) {
  ep_request *request = &exchange->request;
  ep_problem problem = {0};
  ep_error error = {0};
  ep_labels labels;
  ep_uploader by = uploader_of(exchange);
  if (ep_visibility_patch_parse(request->body, request->body_bytes, &labels, &problem) != EP_OK)
    return ep_exchange_problem(exchange, &problem);
  by.private = labels.private;
  if (labels.has_visibility &&
      ep_datasets_show(ep_jobs_datasets(exchange->server->jobs), request->id, &by, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return dataset_respond(exchange, 200, NULL);
}

ep_route_result ep_route_dataset_get(ep_exchange *exchange) {
  return dataset_respond(exchange, 200, NULL);
}

ep_route_result ep_route_dataset_rows(ep_exchange *exchange) {
  enum { ROWS = 20 }; /* unless it says how many */
#define SPLIT_NAME(code, name) name,
  static const char *const SPLITS[] = {EP_SPLIT_TABLE(SPLIT_NAME) NULL};
#undef SPLIT_NAME
  ep_request *request = &exchange->request;
  ep_error error = {0};
  ep_rows_page page = {0};
  int split;
  char *text = NULL;
  char etag[EP_DATASET_ETAG_BYTES] = "";
  if (ep_request_word(request, "split", SPLITS, EP_SPLIT_TRAIN, &split, &error) != EP_OK ||
      ep_request_integer(request, "limit", 1, EP_LIMIT_SHOWN_ROWS, ROWS, &page.limit, &error) !=
          EP_OK ||
      ep_request_integer(request, "offset", 0, EP_LIMIT_ROWS, 0, &page.offset, &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  page.split = (ep_split)split;
  if (ep_datasets_rows(ep_jobs_datasets(exchange->server->jobs), request->id, &page, &text, etag,
                       &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return content_respond(exchange, 200, text, etag);
}

ep_route_result ep_route_dataset_list(ep_exchange *exchange) {
  enum { LISTED = 100 }; /* unless it says how many */
  ep_error error = {0};
  char *text = NULL;
  int64_t limit;
  const ep_viewer viewer = ep_exchange_viewer(exchange);
  if (ep_request_integer(&exchange->request, "limit", 1, EP_LIMIT_LIST_JOBS, LISTED, &limit,
                         &error) != EP_OK ||
      ep_datasets_list(ep_jobs_datasets(exchange->server->jobs), &viewer,
                       ep_request_query(&exchange->request, "after"), limit, &text,
                       &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  return ep_exchange_json(exchange, text);
}

ep_route_result ep_route_dataset_delete(ep_exchange *exchange) {
  ep_error error = {0};
  ep_dataset_told told;
  const ep_uploader by = uploader_of(exchange);
  if (ep_datasets_delete(ep_jobs_datasets(exchange->server->jobs), exchange->request.id, &by, &told,
                         &error) != EP_OK)
    return ep_exchange_fail(exchange, &error);
  for (int i = 0; i < told.count; i++)
    ep_response_header_add(&exchange->response, "Epochd-Warnings", "%s", told.line[i]);
  ep_response_empty(&exchange->response, 204);
  return EP_ROUTE_DONE;
}
