/* sweep.c: epochctl sweep. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/input/sweep_file.h"
#include "clients/epochctl/jobs/submit.h"
#include "clients/epochctl/jobs/table_job.h"
#include "clients/epochctl/terminal/human.h"

static void seconds_print(const json_t *root, const char *kind, const char *device) {
  char text[EP_HUMAN_BYTES];
  double seconds = ep_json_number_at(ep_json_at(root, "estimated_seconds"), kind);
  if (!isnan(seconds))
    printf("about %s on %s, one training after another\n", ep_human_seconds(seconds, text), device);
}

static void estimate_print(const json_t *root) {
  char a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES], c[EP_HUMAN_BYTES];
  printf("%s trials, %s trainings\n", ep_human_count(ep_json_integer_at(root, "trials"), a),
         ep_human_count(ep_json_integer_at(root, "trainings"), b));
  printf("rows: %s to train, %s to validate, %s to test\n",
         ep_human_count(ep_json_integer_at(root, "rows.train"), a),
         ep_human_count(ep_json_integer_at(root, "rows.validation"), b),
         ep_human_count(ep_json_integer_at(root, "rows.test"), c));
  seconds_print(root, "cpu", "a CPU");
  seconds_print(root, "cuda", "a GPU");
}

static ep_status validation_print(ep_client *client, const char *body, size_t bytes,
                                  ep_error *error) {
  json_t *root = NULL;
  ep_http_request request = {.method = "POST",
                             .path = "/v1/sweeps?validate=only",
                             .body = body,
                             .body_bytes = bytes,
                             .content_type = "application/json"};
  ep_status status = ep_client_send(client, &request, &root, error);
  if (status == EP_OK && root) estimate_print(root);
  json_decref(root);
  return status;
}

/* A spec begins with a brace, but lines of objects do, too: --target and its like say that FILE is
 * data. Of what cannot be read, what reads it says why. */
static bool is_spec(const ep_arguments *arguments) {
  static const char *const of_data[] = {"target", "task",    "dataset", "column", "replace",
                                        "window", "horizon", "group",   "time"};
  char start[64] = "";
  for (size_t i = 0; i < sizeof of_data / sizeof *of_data; i++)
    if (ep_arguments_has(arguments, of_data[i])) return false;
  if (strcmp(arguments->words[0], "-") == 0) return true;
  FILE *file = fopen(arguments->words[0], "re");
  if (!file) return true;
  start[fread(start, 1, sizeof start - 1, file)] = 0;
  fclose(file);
  return start[strspn(start, " \t\r\n")] == '{';
}

static ep_status request_read(ep_client *client, const ep_arguments *arguments, char **body,
                              size_t *bytes, ep_error *error) {
  json_t *job = NULL;
  if (is_spec(arguments)) return ep_sweep_file_read(arguments, body, bytes, error);
  ep_status status = ep_table_job_make(client, arguments, &job, error);
  if (status == EP_OK) status = ep_sweep_job_format(arguments, job, body, bytes, error);
  json_decref(job);
  return status;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char *body = NULL, id[EP_JOB_ID_BYTES];
  size_t bytes = 0;
  bool detach = ep_arguments_has(arguments, "detach");
  ep_status status = request_read(client, arguments, &body, &bytes, error);
  if (status == EP_OK)
    status = ep_arguments_has(arguments, "validate")
                 ? validation_print(client, body, bytes, error)
                 : ep_submit(client, "/v1/sweeps", body, bytes, detach, id, error);
  free(body);
  bool ended = !detach && !client->json && !ep_arguments_has(arguments, "validate");
  if (status == EP_OK && ended && client->outcome == EP_EXIT_GOOD)
    printf("\n  epochctl sweeps promote %s    to train the best trial as a job that keeps its "
           "weights\n",
           id);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  EP_TABLE_JOB_OPTIONS,
  {.name = "set", .kind = EP_OPTION_TEXT, .value = "/POINTER=VALUES",
   .doc = "the values to try for a field of the job, or its value; repeatable"},
  {.name = "search", .kind = EP_OPTION_CHOICE, .value = "grid|random|sobol|asha|tpe",
   .doc = "how the trials are chosen (random); grid requires lists of values"},
  {.name = "metric", .kind = EP_OPTION_TEXT, .value = "NAME",
   .doc = "the metric to compare the trials by, as validation.accuracy (validation.loss)"},
  {.name = "mode", .kind = EP_OPTION_CHOICE, .value = "min|max",
   .doc = "whether lower or higher is better (determined by the metric)"},
  {.name = "trials", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_TRIALS,
   .doc = "points of the space (100; for a grid all)"},
  {.name = "folds", .kind = EP_OPTION_INTEGER, .value = "N", .min = 2, .max = EP_LIMIT_FOLDS,
   .doc = "cross-validate: each trial trains once with each fold as its validation split"},
  {.name = "repeats", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_REPEATS,
   .doc = "trainings of each trial, with different seeds (1)"},
  {.name = "parallel", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_TRIALS,
   .doc = "trainings that run at once (as many as the device allows)"},
  {.name = "workers", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_SWEEP_WORKERS,
   .doc = "GPUs, or workers of a partition, that train it at once (as many as no other job waits for)"},
  {.name = "seconds", .kind = EP_OPTION_TEXT, .value = "SECONDS",
   .doc = "of training, time after which the sweep ends with the trials it has"},
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME", .doc = "the sweep's name"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "add a tag; repeatable"},
  {.name = "webhook", .kind = EP_OPTION_TEXT, .value = "URL",
   .doc = "send a signed message to this URL at the end; repeatable"},
  {.name = "validate", .kind = EP_OPTION_SWITCH, .doc = "print the number of trials and trainings without submitting"},
  {.name = "detach", .letter = 'd', .kind = EP_OPTION_SWITCH, .doc = "print the sweep's id without following it"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_sweep = {
  .name = "sweep", .words = "FILE", .kind = EP_WORD_FILE, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "train a job at many points of a space, and follow it to its end",
  .details =
    "FILE is a table or other data, as for train: the server chooses the job and the space (learning rate, weight decay, width, dropout), and runs 50 trials by tpe. Or FILE is a job, or a whole sweep with \"job\" and \"space\", as JSON; - is standard input, read as a job unless --target or another option for data is given. --set defines what varies: a,b,c are values, 1..10 is a range of real numbers, int:1..10 of integers, log:1e-4..1 and int_log:1..1000 are logarithmic ranges. Any other value sets a field of the job, as in run.\n\n"
    "The progress line shows the best trial so far; the best ten are printed at the end. Ctrl-C, --json, the Idempotency-Key and the exit status work as in run.",
  .examples =
    "epochctl sweep titanic.csv --target survived --trials 50\n"
    "epochctl sweep xor.json --set /optimizer/lr=log:0.001..1 --trials 50 --metric train.loss\n"
    "epochctl example disc | epochctl sweep - --set /optimizer/lr=0.1,0.01 --set /batch_size=int:10..100 --folds 5 --trials 10"};
/* clang-format on */
