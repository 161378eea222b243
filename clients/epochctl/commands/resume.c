/* resume.c: epochctl resume. */
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/jobs/action.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  return ep_job_action(client, arguments, "POST", "/resume", NULL, error);
}

/* clang-format off */
const ep_subcommand ep_subcommand_resume = {
  .name = "resume", .words = "JOB|SWEEP…", .kind = EP_WORD_SUBMISSION, .least = 1, .most = -1,
  .run = subcommand_run,
  .summary = "resume paused jobs and sweeps; a job continues from its last checkpoint",
  .examples = "epochctl resume $(epochctl ls -q --state paused)"};
/* clang-format on */
