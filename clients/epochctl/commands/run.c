/* run.c: epochctl run. */
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/jobs/submit.h"

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  return ep_submit_file(client, "/v1/jobs", arguments, error);
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "set", .kind = EP_OPTION_TEXT, .value = "/POINTER=VALUE",
   .doc = "change a field first: --set /optimizer/lr=0.1; may be given again"},
  {.name = "name", .letter = 'n', .kind = EP_OPTION_TEXT, .value = "NAME", .doc = "the job's name"},
  {.name = "tag", .letter = 't', .kind = EP_OPTION_TEXT, .value = "TAG",
   .doc = "add a tag; may be given again"},
  {.name = "webhook", .kind = EP_OPTION_TEXT, .value = "URL",
   .doc = "send a signed message of the end there; may be given again"},
  {.name = "detach", .letter = 'd', .kind = EP_OPTION_SWITCH, .doc = "print the job's id, and do not follow it"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_run = {
  .name = "run", .words = "FILE", .kind = EP_WORD_FILE, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "submit a job and follow it to its end",
  .details =
    "FILE holds the job as JSON; - is standard input. On a terminal one line shows the progress; a pipe "
    "gets a line at each tenth, and at least every ten seconds. A stream that is cut continues after "
    "its last event. The request carries an Idempotency-Key, so that a job whose response was lost is "
    "not submitted twice.\n\n"
    "Ctrl-C stops the watching, not the job: its id is printed, and the command ends with 130. With "
    "--json the job is printed first, then its events, each on a line as received.\n\n"
    "A value of --set is JSON, or else a string: 0.1, true, [1,2], relu. An absent part of the pointer "
    "is created; - appends to a list.",
  .examples =
    "epochctl run xor.json\n"
    "epochctl example xor | epochctl run - --set /epochs=5000 --set /optimizer/lr=0.1 --name fast"};
/* clang-format on */
