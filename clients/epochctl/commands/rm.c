/* rm.c: epochctl rm. */
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/jobs/action.h"

static const char *deleted(const char *status) {
  (void)status;
  return "deleted";
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  return ep_job_action(client, arguments, "DELETE", "", deleted, error);
}

/* clang-format off */
const ep_subcommand ep_subcommand_rm = {
  .name = "rm", .words = "JOB|SWEEP…", .kind = EP_WORD_SUBMISSION, .least = 1, .most = -1,
  .run = subcommand_run,
  .summary = "delete ended jobs and sweeps with their files",
  .details = "If any of them is not found, none is deleted."};
/* clang-format on */
