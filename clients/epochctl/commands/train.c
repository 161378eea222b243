/* train.c: epochctl train. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/input/spec_file.h"
#include "clients/epochctl/jobs/submit.h"
#include "clients/epochctl/jobs/summary.h"
#include "clients/epochctl/jobs/table_job.h"

/* Whether a shell takes the name as it is. */
static bool is_word(const char *name) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/";
  return *name && *name != '-' && name[strspn(name, plain)] == 0;
}

/* file: that was trained on. */
static const char *file_word(const char *file) {
  return is_word(file) ? file : "FILE";
}

/* Whether the job's dataset has pictures. */
static bool has_pictures(ep_client *client, const json_t *job) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *dataset = NULL;
  ep_path_make(path, "/v1/datasets/", ep_json_text_at(job, "spec.data.dataset"), "");
  ep_http_get(&client->session, path, &dataset, NULL);
  bool found = dataset && strcmp(ep_json_text_at(dataset, "format"), "pictures") == 0;
  json_decref(dataset);
  return found;
}

/* What to do with the network next; the newest job of that name is this one. */
static ep_status next_print(ep_client *client, const char *id, const char *file, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *job = NULL;
  ep_submission_path(path, id, "");
  ep_status status = ep_http_get(&client->session, path, &job, error);
  if (status != EP_OK) return status;
  ep_confusion_print(client, job);
  const char *name = ep_json_text_at(job, "name"), *word = is_word(name) ? name : id;
  if (json_is_object(ep_json_at(job, "spec.data.window")))
    printf("\n  epochctl predict %s %s --steps 24    to forecast the 24 rows after a file's last "
           "one\n",
           word, file_word(file));
  else
    printf("\n  epochctl predict %s %s\n", word,
           has_pictures(client, job) ? "new.png    to predict a picture"
                                     : "new.csv -o out.csv    to predict the rows of a file");
  printf("  epochctl show %s    to see the chosen network and settings\n", word);
  json_decref(job);
  return EP_OK;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], *body = NULL;
  size_t bytes = 0;
  json_t *job = NULL;
  bool detach = ep_arguments_has(arguments, "detach");
  ep_status status = ep_table_job_make(client, arguments, &job, error);
  if (status == EP_OK) status = ep_spec_edit(job, arguments, error);
  if (status == EP_OK) status = ep_spec_format(job, &body, &bytes, error);
  if (status == EP_OK) status = ep_submit(client, "/v1/jobs", body, bytes, detach, id, error);
  free(body);
  json_decref(job);
  if (status != EP_OK || detach || client->json || client->outcome != EP_EXIT_GOOD) return status;
  return next_print(client, id, arguments->words[0], error);
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  EP_TABLE_JOB_OPTIONS,
  {.name = "set", .kind = EP_OPTION_TEXT, .value = "/POINTER=VALUE",
   .doc = "set a field of the job: --set /epochs=50; repeatable"},
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME",
   .doc = "the job's name (the dataset's)"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "add a tag; repeatable"},
  {.name = "detach", .letter = 'd', .kind = EP_OPTION_SWITCH, .doc = "print the job's id without following it"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_train = {
  .name = "train", .words = "FILE", .kind = EP_WORD_FILE, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "upload a file, train a network on it and test it",
  .details =
    "FILE is a table or any other file accepted by \"epochctl data put\"; - is standard input. The server chooses network, loss, optimizer and splits from the data and holds out a fifth of the rows for the test; fields given by --set are kept. If a different dataset has the name, this one is stored as NAME-2; --replace replaces it. The job is then followed as with \"epochctl run\".",
  .examples =
    "epochctl train titanic.csv --target survived\n"
    "epochctl train titanic.csv --target survived --column age=category --column sex=ignore\n"
    "epochctl train power.csv --target power --time hour --window 24 --name tomorrow\n"
    "epochctl train houses.csv --target price --set /data/test=0.5 --name houses"};
/* clang-format on */
