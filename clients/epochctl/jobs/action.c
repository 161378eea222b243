#include "clients/epochctl/jobs/action.h"

#include <stdio.h>
#include <stdlib.h>

#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/terminal/text.h"

enum { STATUS_BYTES = 64 };

/* *out is the caller's (free). */
static ep_status ids_find(ep_session *session, const ep_arguments *arguments,
                          char (**out)[EP_JOB_ID_BYTES], ep_error *error) {
  char(*ids)[EP_JOB_ID_BYTES] = calloc((size_t)arguments->words_count, sizeof *ids);
  if (!ids) return ep_fail_memory(error);
  for (int i = 0; i < arguments->words_count; i++) {
    ep_status status = ep_submission_id_find(session, arguments->words[i], ids[i], error);
    if (status == EP_OK) continue;
    free(ids);
    return status;
  }
  *out = ids;
  return EP_OK;
}

static void done_print(const char *id, ep_action_words words, const json_t *job) {
  char status[STATUS_BYTES];
  ep_text_copy(status, sizeof status, ep_json_text_at(job, "status"));
  if (words)
    printf("%s %s\n", id, words(status));
  else
    printf("%s is %s\n", id, status);
}

ep_status ep_job_action(ep_client *client, const ep_arguments *arguments, const char *method,
                        const char *after, ep_action_words words, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  char(*ids)[EP_JOB_ID_BYTES] = NULL;
  ep_status status = ids_find(&client->session, arguments, &ids, error);
  for (int i = 0; i < arguments->words_count && status == EP_OK; i++) {
    json_t *job = NULL;
    ep_submission_path(path, ids[i], after);
    ep_http_request request = {.method = method, .path = path};
    status = ep_client_send(client, &request, &job, error);
    if (status == EP_OK && !client->json) done_print(ids[i], words, job);
    json_decref(job);
  }
  free(ids);
  return status;
}
