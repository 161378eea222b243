#include "clients/epochctl/jobs/table_job.h"

#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "clients/epochctl/client/upload.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/terminal/text.h"

enum { DATASET_BYTES = EP_LIMIT_NAME_BYTES + 1, SHOWN_BYTES = 8 * DATASET_BYTES, MOST_NOTES = 5 };

/* Says which name the dataset has, where another one has that of the file. */
static void warnings_print(const json_t *dataset) {
  char line[SHOWN_BYTES];
  const json_t *warning;
  size_t index;
  const char *hint =
      json_is_string(json_object_get(dataset, "beside")) ? " (--replace replaces the other)" : "";
  json_array_foreach(json_object_get(dataset, "warnings"), index, warning) {
    ep_text_copy(line, sizeof line, json_is_string(warning) ? json_string_value(warning) : "");
    fprintf(stderr, "warning: %s%s\n", line, hint);
  }
}

/* How the file was read, where it may be otherwise than was meant. */
static void notes_print(const json_t *dataset) {
  char line[SHOWN_BYTES], name[SHOWN_BYTES];
  const json_t *notes = json_object_get(dataset, "notes"), *note;
  const size_t count = json_array_size(notes);
  size_t index;
  json_array_foreach(notes, index, note) {
    if (index == MOST_NOTES) break;
    ep_dialect_words(line, sizeof line, json_is_string(note) ? json_string_value(note) : "", NULL);
    fprintf(stderr, "note: %s\n", line);
  }
  ep_text_copy(name, sizeof name, ep_json_text_at(dataset, "name"));
  if (count > MOST_NOTES)
    fprintf(stderr, "and %zu more notes: epochctl data show %s\n", count - MOST_NOTES, name);
}

/* dataset: the name that is wanted, "": that of the file; then the one that the file has. */
static ep_status data_put(ep_client *client, const ep_arguments *arguments,
                          char dataset[DATASET_BYTES], ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *response = NULL;
  const char *file = arguments->words[0], *slash = strrchr(file, '/');
  if (dataset[0])
    ep_path_make(path, "/v1/datasets/", dataset, "");
  else
    snprintf(path, sizeof path, "/v1/datasets");
  if (!dataset[0]) ep_path_query(path, "file", slash ? slash + 1 : file);
  ep_dialect_query(arguments, path);
  ep_path_query(path, "replace", ep_arguments_has(arguments, "replace") ? "true" : "false");
  ep_status status =
      ep_file_upload(client, dataset[0] ? "PUT" : "POST", path, file, &response, error);
  const char *stored = ep_json_text_at(response, "name");
  if (status == EP_OK && !*stored)
    status = ep_fail(error, EP_INTERNAL, "the response to the upload has no name");
  if (status == EP_OK) {
    warnings_print(response);
    notes_print(response);
    snprintf(dataset, DATASET_BYTES, "%s", stored);
  }
  json_decref(response);
  return status;
}

/* "NAME=TYPE" into data.columns; a name may hold a "=". */
static ep_status column_add(json_t *columns, const char *text, ep_error *error) {
  const char *type = strrchr(text, '=');
  if (!type || type == text)
    return ep_fail(error, EP_INVALID, "--column must be NAME=TYPE, not \"%.200s\"", text);
  json_t *name = json_stringn(text, (size_t)(type - text));
  json_t *rule = json_pack("{s:s}", "type", type + 1);
  bool added = name && rule && json_object_set(columns, json_string_value(name), rule) == 0;
  json_decref(rule);
  json_decref(name);
  return added ? EP_OK : ep_fail(error, EP_INVALID, "--column: \"%.200s\" is not UTF-8", text);
}

static ep_status columns_add(json_t *data, const ep_arguments *arguments, ep_error *error) {
  ep_status status = EP_OK;
  json_t *columns = json_object();
  for (int i = 0; i < arguments->given_count && columns && status == EP_OK; i++)
    if (strcmp(arguments->given[i].option->name, "column") == 0)
      status = column_add(columns, arguments->given[i].value, error);
  if (status == EP_OK && json_object_size(columns) > 0 &&
      json_object_set(data, "columns", columns) != 0)
    status = ep_fail_memory(error);
  json_decref(columns);
  return status;
}

/* The server has the defaults. */
static ep_status window_add(json_t *data, const ep_arguments *arguments, ep_error *error) {
  const int64_t length = ep_arguments_integer(arguments, "window", 0);
  const int64_t horizon = ep_arguments_integer(arguments, "horizon", 0);
  const char *group = ep_arguments_value(arguments, "group");
  if (length == 0 && (horizon > 0 || group))
    return ep_fail(error, EP_INVALID, "--%s requires --window, the rows of an example",
                   group ? "group" : "horizon");
  if (length == 0) return EP_OK;
  json_t *window = json_pack("{s:I, s:s*}", "length", (json_int_t)length, "group", group);
  bool made = window &&
              (horizon == 0 || json_object_set_new(window, "horizon", json_integer(horizon)) == 0);
  made = json_object_set_new(data, "window", window) == 0 && made;
  return made ? EP_OK : ep_fail(error, EP_INVALID, "--group is not UTF-8");
}

/* All but the dataset and the names. */
static ep_status data_make(const ep_arguments *arguments, json_t **data, ep_error *error) {
  *data = json_pack("{s:s*, s:s*, s:s*}", "target", ep_arguments_value(arguments, "target"), "task",
                    ep_arguments_value(arguments, "task"), "time",
                    ep_arguments_value(arguments, "time"));
  if (!*data) return ep_fail(error, EP_INVALID, "--target or --time is not UTF-8");
  ep_status status = window_add(*data, arguments, error);
  return status == EP_OK ? columns_add(*data, arguments, error) : status;
}

ep_status ep_table_job_make(ep_client *client, const ep_arguments *arguments, json_t **job,
                            ep_error *error) {
  char dataset[DATASET_BYTES] = "";
  json_t *data = NULL;
  const char *name = ep_arguments_value(arguments, "dataset");
  *job = NULL;
  if (name) snprintf(dataset, sizeof dataset, "%s", name);
  ep_status status = data_make(arguments, &data, error);
  if (status == EP_OK) status = data_put(client, arguments, dataset, error);
  if (status == EP_OK && json_object_set_new(data, "dataset", json_string(dataset)) == 0)
    *job = json_pack("{s:O, s:s}", "data", data, "model", "auto");
  json_decref(data);
  if (status == EP_OK && !*job) status = ep_fail_memory(error);
  return status;
}
