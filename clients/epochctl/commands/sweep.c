/* sweep.c: epochctl sweep. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/limits.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/input/sweep_file.h"
#include "clients/epochctl/jobs/submit.h"
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

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char *body = NULL, id[EP_JOB_ID_BYTES];
  size_t bytes = 0;
  bool detach = ep_arguments_has(arguments, "detach");
  ep_status status = ep_sweep_file_read(arguments, &body, &bytes, error);
  if (status == EP_OK)
    status = ep_arguments_has(arguments, "validate")
                 ? validation_print(client, body, bytes, error)
                 : ep_submit(client, "/v1/sweeps", body, bytes, detach, id, error);
  free(body);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "set", .kind = EP_OPTION_TEXT, .value = "/POINTER=VALUES",
   .doc = "what is tried for a field of the job, or its value; may be given again"},
  {.name = "search", .kind = EP_OPTION_CHOICE, .value = "grid|random|sobol|asha|tpe",
   .doc = "how the trials are chosen (random); grid takes lists of values alone"},
  {.name = "metric", .kind = EP_OPTION_TEXT, .value = "NAME",
   .doc = "what the trials are compared by, as validation.accuracy (validation.loss)"},
  {.name = "mode", .kind = EP_OPTION_CHOICE, .value = "min|max",
   .doc = "whether less or more of the metric is better; else as the metric says"},
  {.name = "trials", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_TRIALS,
   .doc = "points of the space (100; of a grid all)"},
  {.name = "folds", .kind = EP_OPTION_INTEGER, .value = "N", .min = 2, .max = EP_LIMIT_FOLDS,
   .doc = "cross-validate: each trial trains once with each fold as its validation split"},
  {.name = "repeats", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_REPEATS,
   .doc = "trainings of each trial, with seeds of their own (1)"},
  {.name = "parallel", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_TRIALS,
   .doc = "trainings under way together; else as many as the device takes"},
  {.name = "workers", .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = EP_LIMIT_SWEEP_WORKERS,
   .doc = "GPUs, or workers of a partition, that train it at once; else as many as no other job waits for"},
  {.name = "seconds", .kind = EP_OPTION_TEXT, .value = "SECONDS",
   .doc = "of training, after which the sweep ends with what it has"},
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME", .doc = "the sweep's name"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "add a tag; may be given again"},
  {.name = "webhook", .kind = EP_OPTION_TEXT, .value = "URL",
   .doc = "send a signed message of the end there; may be given again"},
  {.name = "validate", .kind = EP_OPTION_SWITCH, .doc = "print how many trials and trainings there would be, and submit nothing"},
  {.name = "detach", .letter = 'd', .kind = EP_OPTION_SWITCH, .doc = "print the sweep's id, and do not follow it"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_sweep = {
  .name = "sweep", .words = "FILE", .kind = EP_WORD_FILE, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "train a job at many points of a space, and follow it to its end",
  .details =
    "FILE holds a job, or a whole sweep with \"job\" and \"space\", as JSON; - is standard input. What varies "
    "is said by --set: a,b,c are values, 1..10 is a range of real numbers, int:1..10 of whole ones, "
    "log:1e-4..1 and int_log:1..1000 are even in the logarithm. Any other value is the job's, as in run.\n\n"
    "The progress shows the best trial so far, the end the best ten. Ctrl-C, --json, the Idempotency-Key and "
    "the exit status are those of run.",
  .examples =
    "epochctl sweep xor.json --set /optimizer/lr=log:0.001..1 --trials 50 --metric train.loss\n"
    "epochctl example disc | epochctl sweep - --set /optimizer/lr=0.1,0.01 --set /batch_size=int:10..100 --folds 5 --trials 10"};
/* clang-format on */
