/* cancel.c: epochctl cancel. */
#include <string.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/jobs/action.h"

/* The server's response to a job that has ended is the job as it ended. */
static const char *cancel_words(const char *status) {
  if (strcmp(status, "succeeded") == 0) return "has already succeeded";
  if (strcmp(status, "failed") == 0) return "has already failed";
  return strcmp(status, "cancelled") == 0 ? "is cancelled" : "is being cancelled";
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  return ep_job_action(client, arguments, "POST", "/cancel", cancel_words, error);
}

/* clang-format off */
const ep_subcommand ep_subcommand_cancel = {
  .name = "cancel", .words = "JOB|SWEEP…", .kind = EP_WORD_SUBMISSION, .least = 1, .most = -1,
  .run = subcommand_run,
  .summary = "cancel jobs and sweeps; their results so far are stored",
  .details =
    "A queued job is cancelled at once, a running one after its current step. A job that has already succeeded or failed stays as it is, and its line says so; the exit status is still 0.",
  .examples = "epochctl cancel last"};
/* clang-format on */
