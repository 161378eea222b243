#include "clients/epochctl/jobs/submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/secret.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/request.h"
#include "clients/epochctl/input/spec_file.h"
#include "clients/epochctl/jobs/follow.h"
#include "clients/epochctl/terminal/text.h"

enum { KEY_RANDOM_BYTES = 16, TRIES = 4, NAME_BYTES = 512, CHOICE_BYTES = 4096 };

/* A request whose response was lost is sent again with the same Idempotency-Key: the server returns
 * the same job or sweep. A connection that was never made is not tried again. */
static ep_status request_send(ep_session *session, const char *path, const char *body, size_t bytes,
                              ep_http_response *response, ep_error *error) {
  char key[2 * KEY_RANDOM_BYTES + 1];
  ep_status status = ep_secret_make(key, KEY_RANDOM_BYTES, error);
  if (status != EP_OK) return status;
  ep_http_request request = {.method = "POST",
                             .path = path,
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

/* What the server chose, in its own words. */
static void choice_print(const json_t *job) {
  char text[CHOICE_BYTES];
  static const char *const fields[] = {"auto.summary", "auto.hint"};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    ep_text_copy(text, sizeof text, ep_json_text_at(job, fields[i]));
    if (*text) puts(text);
  }
}

/* The id, or with --json the response as received. */
static void id_print(const ep_client *client, const ep_http_response *response, const char *id) {
  if (client->json)
    ep_client_print(response);
  else
    puts(id);
  fflush(stdout);
}

ep_status ep_submit(ep_client *client, const char *path, const char *body, size_t bytes,
                    bool detach, char id[EP_JOB_ID_BYTES], ep_error *error) {
  char name[NAME_BYTES];
  ep_http_response response = {0};
  json_t *job = NULL;
  ep_status status = request_send(&client->session, path, body, bytes, &response, error);
  if (status == EP_OK) status = ep_http_response_parse(&client->session, &response, &job, error);
  if (status == EP_OK) {
    const char *text = ep_json_text_at(job, "id");
    snprintf(id, EP_JOB_ID_BYTES, "%.*s",
             (int)strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789"), text);
    snprintf(name, sizeof name, "%s", ep_json_text_at(job, "name"));
    id_print(client, &response, id);
    if (!client->json) ep_client_warn(job);
    if (!detach && !client->json) choice_print(job);
  }
  json_decref(job);
  ep_http_response_deinit(&response);
  return status == EP_OK && !detach ? ep_job_follow(client, id, name, error) : status;
}

ep_status ep_submit_file(ep_client *client, const char *path, const ep_arguments *arguments,
                         ep_error *error) {
  char *body = NULL, id[EP_JOB_ID_BYTES];
  size_t bytes = 0;
  bool detach = ep_arguments_has(arguments, "detach");
  ep_status status = ep_spec_file_read(arguments, &body, &bytes, error);
  if (status == EP_OK) status = ep_submit(client, path, body, bytes, detach, id, error);
  free(body);
  return status;
}
