/* pause.c: epochctl pause. */
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/jobs/action.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  return ep_job_action(client, arguments, "POST", "/pause", NULL, error);
}

/* clang-format off */
const ep_subcommand ep_subcommand_pause = {
  .name = "pause", .words = "JOB|SWEEP…", .kind = EP_WORD_SUBMISSION, .least = 1, .most = -1,
  .run = subcommand_run,
  .summary = "pause jobs and sweeps; a checkpoint stores the state of a running job",
  .details =
    "A running job is in state pausing until its checkpoint is on disk; then its device is free for other jobs. A paused job waits until it is resumed or cancelled, even if epochd restarts.\n\n"
    "No checkpoint is written in the first 5 seconds of training, unless checkpoint.every_seconds is less: a job paused before that restarts from epoch 0.",
  .examples = "epochctl pause last"};
/* clang-format on */
