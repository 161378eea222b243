/* watch.c: epochctl watch. */
#include <stdio.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/request.h"
#include "clients/epochctl/jobs/follow.h"
#include "clients/epochctl/jobs/job_id.h"

enum { NAME_BYTES = 512 };

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES], path[EP_REQUEST_PATH_BYTES], name[NAME_BYTES];
  json_t *job = NULL;
  ep_status status = ep_submission_id_find(&client->session, arguments->words[0], id, error);
  if (status != EP_OK) return status;
  ep_submission_path(path, id, "");
  status = ep_http_get(&client->session, path, &job, error);
  if (status != EP_OK) return status;
  snprintf(name, sizeof name, "%s", ep_json_text_at(job, "name"));
  json_decref(job);
  return ep_job_follow(client, id, name, error);
}

/* clang-format off */
const ep_subcommand ep_subcommand_watch = {
  .name = "watch", .words = "JOB|SWEEP", .kind = EP_WORD_SUBMISSION, .least = 1, .most = 1,
  .run = subcommand_run,
  .summary = "follow a job or a sweep to its end",
  .details = "Shows all events, as run and sweep do, and exits with the same status.",
  .examples = "epochctl watch last"};
/* clang-format on */
