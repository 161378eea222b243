/* train.c: epochctl train. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "clients/epochctl/client/dialect.h"
#include "clients/epochctl/client/upload.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/input/spec_file.h"
#include "clients/epochctl/jobs/submit.h"
#include "clients/epochctl/jobs/summary.h"

enum { DATASET_BYTES = EP_LIMIT_NAME_BYTES + 1 };

/* The name of the data set: that of the file, without its folder and its endings, of the characters
 * that such a name may have. */
static void dataset_name(const char *file, char out[DATASET_BYTES]) {
  const char *slash = strrchr(file, '/');
  const char *name = slash ? slash + 1 : file;
  size_t used = 0;
  while (*name && !isalnum((unsigned char)*name)) name++;
  for (; *name && *name != '.' && used < DATASET_BYTES - 1; name++)
    out[used++] = isalnum((unsigned char)*name) || strchr("_-", *name) ? *name : '-';
  out[used] = 0;
  if (used == 0) snprintf(out, DATASET_BYTES, "table");
}

static ep_status data_put(ep_client *client, const ep_arguments *arguments, const char *dataset,
                          ep_error *error) {
  static const char *const queries[] = {"size", "channels", "broken"};
  char path[EP_REQUEST_PATH_BYTES];
  json_t *response = NULL;
  ep_path_make(path, "/v1/datasets/", dataset, "");
  ep_dialect_query(arguments, path);
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
    const char *value = ep_arguments_value(arguments, queries[i]);
    if (value) ep_path_query(path, queries[i], value);
  }
  ep_status status = ep_file_upload(client, path, arguments->words[0], &response, error);
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

static ep_status columns_add(json_t *job, const ep_arguments *arguments, ep_error *error) {
  ep_status status = EP_OK;
  json_t *columns = json_object();
  for (int i = 0; i < arguments->given_count && columns && status == EP_OK; i++)
    if (strcmp(arguments->given[i].option->name, "column") == 0)
      status = column_add(columns, arguments->given[i].value, error);
  if (status == EP_OK && json_object_size(columns) > 0 &&
      json_object_set(json_object_get(job, "data"), "columns", columns) != 0)
    status = ep_fail_memory(error);
  json_decref(columns);
  return status;
}

/* The job: all but the data is left to the server, and to the edits. */
static ep_status body_make(const ep_arguments *arguments, const char *dataset, char **body,
                           size_t *bytes, ep_error *error) {
  const char *target = ep_arguments_value(arguments, "target");
  json_t *job = json_pack("{s:s, s:{s:s, s:s*}, s:s}", "name", dataset, "data", "dataset", dataset,
                          "target", target, "model", "auto");
  if (!job) return ep_fail(error, EP_INVALID, "--target: this is no UTF-8");
  ep_status status = columns_add(job, arguments, error);
  if (status == EP_OK) status = ep_spec_edit(job, arguments, error);
  if (status == EP_OK) status = ep_spec_format(job, body, bytes, error);
  json_decref(job);
  return status;
}

/* What to do with the network next. */
static ep_status next_print(ep_client *client, const ep_arguments *arguments, const char *id,
                            ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *job = NULL;
  const char *file = arguments->words[0];
  ep_submission_path(path, id, "");
  ep_status status = ep_http_get(&client->session, path, &job, error);
  if (status != EP_OK) return status;
  ep_confusion_print(client, job);
  /* rows of a table are in the file as they are asked for; pixels of a picture are not */
  if (json_object_size(ep_json_at(job, "spec.data.columns")) == 0 || strcmp(file, "-") == 0)
    file = "FILE";
  json_decref(job);
  printf("\n  epochctl predict %s %s    to predict the rows of a file\n"
         "  epochctl show %s    to see what was chosen, and change it\n",
         id, file, id);
  return EP_OK;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char dataset[DATASET_BYTES], id[EP_JOB_ID_BYTES], *body = NULL;
  size_t bytes = 0;
  const char *name = ep_arguments_value(arguments, "dataset");
  bool detach = ep_arguments_has(arguments, "detach");
  dataset_name(name ? name : arguments->words[0], dataset);
  if (name) snprintf(dataset, sizeof dataset, "%s", name);
  ep_status status = body_make(arguments, dataset, &body, &bytes, error);
  if (status == EP_OK) status = data_put(client, arguments, dataset, error);
  if (status == EP_OK) status = ep_submit(client, "/v1/jobs", body, bytes, detach, id, error);
  free(body);
  if (status != EP_OK || detach || client->json || client->outcome != EP_EXIT_GOOD) return status;
  return next_print(client, arguments, id, error);
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "target", .kind = EP_OPTION_TEXT, .value = "COLUMN",
   .doc = "the name of the column to predict (the last one); by its index: --set /data/target=3"},
  {.name = "column", .kind = EP_OPTION_TEXT, .value = "NAME=TYPE",
   .doc = "what a column is taken for: number, category, date or ignore; may be given again"},
  {.name = "dataset", .kind = EP_OPTION_TEXT, .value = "NAME",
   .doc = "the name of the data set on the server (that of the file)"},
  {.name = "set", .kind = EP_OPTION_TEXT, .value = "/POINTER=VALUE",
   .doc = "give a field of the job: --set /epochs=50; may be given again"},
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME", .doc = "the job's name"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "add a tag; may be given again"},
  EP_DIALECT_OPTIONS,
  {.name = "size", .kind = EP_OPTION_TEXT, .value = "HxW",
   .doc = "of pictures: height and width, as 64x64 (the commonest, or 128 the longer side)"},
  {.name = "channels", .kind = EP_OPTION_CHOICE, .value = "1|3",
   .doc = "of pictures: grey or RGB (1 if all are grey)"},
  {.name = "broken", .kind = EP_OPTION_CHOICE, .value = "refuse|skip",
   .doc = "of pictures that cannot be read: refuse all, or leave these out (refuse)"},
  {.name = "detach", .letter = 'd', .kind = EP_OPTION_SWITCH, .doc = "print the job's id, and do not follow it"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_train = {
  .name = "train", .words = "FILE", .kind = EP_WORD_FILE, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "upload a file, train a first network on it and test it",
  .details =
    "FILE is a table, or another file of data as \"epochctl data put\" takes; - is standard input. The server "
    "chooses network, loss, optimizer and splits by the data and holds a fifth of the rows back for the test; "
    "whatever --set gives stays. A data set of that name is replaced. Afterwards it is as with \"epochctl run\".",
  .examples =
    "epochctl train titanic.csv --target survived\n"
    "epochctl train titanic.csv --target survived --column age=category --column sex=ignore\n"
    "epochctl train houses.csv --target price --set /data/test=0.5 --name houses"};
/* clang-format on */
