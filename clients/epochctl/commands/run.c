/* run.c: epochctl run. */
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/jobs/submit.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  return ep_submit_file(client, "/v1/jobs", arguments, error);
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "set", .kind = EP_OPTION_TEXT, .value = "/POINTER=VALUE",
   .doc = "change a field first: --set /optimizer/lr=0.1; repeatable"},
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME", .doc = "the job's name"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "add a tag; repeatable"},
  {.name = "webhook", .kind = EP_OPTION_TEXT, .value = "URL",
   .doc = "send a signed message to this URL at the end; repeatable"},
  {.name = "detach", .letter = 'd', .kind = EP_OPTION_SWITCH, .doc = "print the job's id without following it"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_run = {
  .name = "run", .words = "FILE", .kind = EP_WORD_FILE, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "submit a job and follow it to its end",
  .details =
    "FILE holds the job as JSON; - is standard input. On a terminal one line shows the progress; a pipe "
    "gets a line at each tenth, and at least every ten seconds. An interrupted stream continues after its last event. The request carries an Idempotency-Key, so that a job is not submitted twice if the response is lost.\n\n"
    "Ctrl-C stops watching, not the job: its id is printed, and the command exits with 130. With --json the job is printed first, then its events, one per line as received.\n\n"
    "A value of --set is JSON, or else a string: 0.1, true, [1,2], relu. Missing parts of the pointer are created; - appends to a list.",
  .examples =
    "epochctl run xor.json\n"
    "epochctl example xor | epochctl run - --set /epochs=5000 --set /optimizer/lr=0.1 --name fast"};
/* clang-format on */
