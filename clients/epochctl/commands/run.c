/* run.c: epochctl run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/request.h"
#include "clients/epochctl/input/spec_file.h"
#include "clients/epochctl/jobs/follow.h"
#include "clients/epochctl/jobs/job_id.h"

enum { KEY_BYTES = 40, TRIES = 4, NAME_BYTES = 512 };

static ep_status key_make(char key[KEY_BYTES], ep_error *error) {
  unsigned char random[16];
  if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
    return ep_fail(error, EP_IO, "the system gives no random bytes: %s", strerror(errno));
  for (size_t i = 0; i < sizeof random; i++) snprintf(key + i * 2, 3, "%02x", random[i]);
  return EP_OK;
}

/* A request whose response was lost is sent again with the same Idempotency-Key: the server returns
 * the same job. A connection that was never made is not tried again. */
static ep_status job_submit(ep_session *session, const char *body, size_t bytes,
                            ep_http_response *response, ep_error *error) {
  char key[KEY_BYTES];
  ep_status status = key_make(key, error);
  if (status != EP_OK) return status;
  ep_http_request request = {.method = "POST",
                             .path = "/v1/jobs",
                             .body = body,
                             .body_bytes = bytes,
                             .content_type = "application/json",
                             .key = key};
  for (int i = 0; i < TRIES; i++) {
    ep_error fault = {0};
    ep_http_response_deinit(response);
    status = ep_http_send(session, &request, response, &fault);
    if (status == EP_OK) return EP_OK;
    ep_fail(error, status, "%s", fault.message);
    if (status != EP_IO) return status;
  }
  return status;
}

/* The id, or with --json the job as received. */
static void job_print(const ep_client *client, const ep_http_response *response, const char *id) {
  if (client->json)
    printf("%s%s", response->text, response->text[response->bytes - 1] == '\n' ? "" : "\n");
  else
    puts(id);
  fflush(stdout);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char *body = NULL, id[EP_JOB_ID_BYTES], name[NAME_BYTES];
  size_t bytes = 0;
  ep_http_response response = {0};
  json_t *job = NULL;
  ep_status status = ep_spec_file_read(arguments, &body, &bytes, error);
  if (status == EP_OK) status = job_submit(&client->session, body, bytes, &response, error);
  if (status == EP_OK) status = ep_http_response_parse(&client->session, &response, &job, error);
  if (status == EP_OK) {
    const char *text = ep_json_text_at(job, "id");
    snprintf(id, sizeof id, "%.*s", (int)strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789"),
             text);
    snprintf(name, sizeof name, "%s", ep_json_text_at(job, "name"));
    job_print(client, &response, id);
  }
  if (status == EP_OK && !ep_arguments_has(arguments, "detach"))
    status = ep_job_follow(client, id, name, error);
  json_decref(job);
  ep_http_response_deinit(&response);
  free(body);
  return status;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "set", .kind = EP_OPTION_TEXT, .value = "/POINTER=VALUE",
   .doc = "change a field first: --set /optimizer/lr=0.1; may be given again"},
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME", .doc = "the job's name"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "add a tag; may be given again"},
  {.name = "detach", .letter = 'd', .kind = EP_OPTION_SWITCH, .doc = "print the job's id, and do not follow it"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_run = {
  .name = "run", .words = "FILE", .kind = EP_WORD_FILE, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "submit a job and follow it to its end",
  .details =
    "FILE holds the job as JSON; - is standard input. On a terminal one line shows the progress; a pipe "
    "gets a line at each tenth, and at least every ten seconds. A stream that is cut continues after "
    "its last event. The request carries an Idempotency-Key, so that a job whose response was lost is "
    "not submitted twice.\n\n"
    "Ctrl-C stops the watching, not the job: its id is printed, and the command ends with 130. With "
    "--json the job is printed first, then its events, each on a line as received.\n\n"
    "A value of --set is JSON, or else a string: 0.1, true, [1,2], relu. An absent part of the pointer "
    "is created; - appends to a list.",
  .examples =
    "epochctl run xor.json\n"
    "epochctl example xor | epochctl run - --set /epochs=5000 --set /optimizer/lr=0.1 --name fast"};
/* clang-format on */
