/* find_lr.c: epochctl find-lr. */
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/jobs/submit.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  return ep_submit_file(client, "/v1/jobs?find=lr", arguments, error);
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "set", .kind = EP_OPTION_TEXT, .value = "/POINTER=VALUE",
   .doc = "change a field first: --set /batch_size=64; repeatable"},
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME", .doc = "the job's name"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "add a tag; repeatable"},
  {.name = "detach", .letter = 'd', .kind = EP_OPTION_SWITCH, .doc = "print the job's id without following it"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_find_lr = {
  .name = "find-lr", .words = "FILE", .kind = EP_WORD_FILE, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "find a learning rate for a job",
  .details =
    "Trains the job in FILE for at most 181 steps while its learning rate grows from 1e-8 to 10, and stops when the loss explodes. Prints the rate to train with, the rate at which the loss falls fastest, the rate with the lowest loss, and the loss over the rates (as a strip). epochctl plot JOB lr writes the curve as a picture. No weights are kept.",
  .examples =
    "epochctl find-lr xor.json\n"
    "epochctl example xor | epochctl find-lr - --set /batch_size=2"};
/* clang-format on */
