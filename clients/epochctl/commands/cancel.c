/* cancel.c: epochctl cancel. */
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/jobs/action.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  return ep_job_action(client, arguments, "POST", "/cancel", "is being cancelled", error);
}

/* clang-format off */
const ep_subcommand ep_subcommand_cancel = {
  .name = "cancel", .words = "JOB|SWEEP…", .kind = EP_WORD_SUBMISSION, .least = 1, .most = -1,
  .run = subcommand_run,
  .summary = "cancel jobs and sweeps; what they have so far is stored",
  .examples = "epochctl cancel last"};
/* clang-format on */
