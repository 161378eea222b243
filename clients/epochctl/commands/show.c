/* show.c: epochctl show. */
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/jobs/summary.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *job = NULL;
  ep_status status = ep_job_path_find(&client->session, arguments->words[0], "", path, error);
  if (status == EP_OK) status = ep_client_get(client, path, &job, error);
  if (status == EP_OK && job) ep_job_summary_print(client, job, true);
  json_decref(job);
  return status;
}

/* clang-format off */
const ep_subcommand ep_subcommand_show = {
  .name = "show", .words = "JOB", .kind = EP_WORD_JOB, .least = 1, .most = 1,
  .run = subcommand_run,
  .summary = "print a job in full",
  .details =
    "State, times, metrics of each split, a small confusion matrix, what each of several ranks did, "
    "and the job as it was submitted with all defaults filled in.",
  .examples = "epochctl show last"};
/* clang-format on */
