/* promote.c: epochctl sweeps promote. */
#include <stdio.h>
#include <string.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/terminal/text.h"

enum { NUMBER_BYTES = 32, TEXT_BYTES = 64 };

/* The number of the best trial. */
static ep_status best_find(ep_session *session, const char *id, char number[NUMBER_BYTES],
                           ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *sweep = NULL;
  ep_submission_path(path, id, "");
  ep_status status = ep_http_get(session, path, &sweep, error);
  if (status == EP_OK && !json_is_integer(ep_json_at(sweep, "best.trial")))
    status = ep_fail(error, EP_NOT_FOUND, "%s has no best trial yet", id);
  if (status == EP_OK)
    snprintf(number, NUMBER_BYTES, "%lld", (long long)ep_json_integer_at(sweep, "best.trial"));
  json_decref(sweep);
  return status;
}

static ep_status number_read(const char *word, char number[NUMBER_BYTES], ep_error *error) {
  if (!*word || strlen(word) >= NUMBER_BYTES || word[strspn(word, "0123456789")])
    return ep_fail(error, EP_INVALID, "\"%.64s\" is not a trial number", word);
  snprintf(number, NUMBER_BYTES, "%s", word);
  return EP_OK;
}

static ep_status promotion_send(ep_client *client, const char *id, const char *number,
                                ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], after[NUMBER_BYTES + 32], job_id[TEXT_BYTES];
  json_t *job = NULL;
  snprintf(after, sizeof after, "/trials/%s/promote", number);
  ep_submission_path(path, id, after);
  ep_http_request request = {.method = "POST", .path = path};
  ep_status status = ep_client_send(client, &request, &job, error);
  if (status == EP_OK && job) {
    ep_text_copy(job_id, sizeof job_id, ep_json_text_at(job, "id"));
    puts(job_id);
  }
  json_decref(job);
  return status;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], number[NUMBER_BYTES];
  bool has_number = arguments->words_count > 1;
  ep_status status = ep_sweep_id_find(&client->session, arguments->words[0], id, error);
  if (status == EP_OK)
    status = has_number ? number_read(arguments->words[1], number, error)
                        : best_find(&client->session, id, number, error);
  return status == EP_OK ? promotion_send(client, id, number, error) : status;
}

/* clang-format off */
const ep_subcommand ep_subcommand_sweeps_promote = {
  .name = "sweeps promote", .words = "SWEEP [TRIAL]", .kind = EP_WORD_SWEEP, .least = 1, .most = 2,
  .run = subcommand_run,
  .summary = "submit a trial as a job: the best, or the one with this number",
  .details =
    "Prints the job's id. The job trains on all training rows, without folds, and keeps its weights, which a trial does not. Promoting a trial again returns the same job.",
  .examples =
    "epochctl watch $(epochctl sweeps promote last)\n"
    "epochctl sweeps promote last 7"};
/* clang-format on */
