/* show.c: epochctl show. */
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/jobs/summary.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *job = NULL;
  ep_path_make(path, "/v1/jobs/", arguments->words[0], "");
  ep_status status = ep_client_get(client, path, &job, error);
  if (status == EP_OK && job) ep_job_summary_print(client, job, true);
  json_decref(job);
  return status;
}

/* clang-format off */
const ep_subcommand ep_subcommand_show = {
  .name = "show", .words = "JOB", .kind = EP_WORD_JOB, .least = 1, .most = 1,
  .run = subcommand_run,
  .summary = "print a summary of a job and its results",
  .details =
    "State, data, network (a line a layer, with its inputs, where it has branches) and training, times, metrics of each split, a small confusion matrix, and the work of each rank. --json prints everything, including the submitted job with all defaults filled in.",
  .examples = "epochctl show last"};
/* clang-format on */
