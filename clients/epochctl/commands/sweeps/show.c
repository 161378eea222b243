/* show.c: epochctl sweeps show. */
#include <stdio.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/request.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/jobs/sweep_summary.h"

enum { SHOWN_TRIALS = 20, MOST_TRIALS = 10000, NUMBER_BYTES = 32 };

static bool bytes_print(void *context, const char *bytes, size_t count) {
  (void)context;
  return fwrite(bytes, 1, count, stdout) == count;
}

/* A million trials are more than a client may hold: they are printed as they come. */
static ep_status csv_print(ep_session *session, const char *id, const char *sort, int64_t limit,
                           bool spreadsheet, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES], number[NUMBER_BYTES];
  ep_http_response response;
  ep_submission_path(path, id, "/trials?format=csv");
  if (sort) ep_path_query(path, "sort", sort);
  snprintf(number, sizeof number, "%lld", (long long)limit);
  if (limit > 0) ep_path_query(path, "limit", number);
  if (spreadsheet) ep_path_query(path, "spreadsheet", "1");
  ep_http_request request = {.method = "GET",
                             .path = path,
                             .accept = "text/csv",
                             .take = bytes_print,
                             .long_lasting = true};
  ep_status status = ep_http_send(session, &request, &response, error);
  ep_http_response_deinit(&response);
  return status;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES];
  const char *sort = ep_arguments_value(arguments, "sort");
  int64_t limit = ep_arguments_integer(arguments, "limit", 0);
  ep_status status = ep_sweep_id_find(&client->session, arguments->words[0], id, error);
  if (status != EP_OK) return status;
  bool spreadsheet = ep_arguments_has(arguments, "spreadsheet");
  if (spreadsheet || ep_arguments_has(arguments, "csv"))
    return csv_print(&client->session, id, sort, limit, spreadsheet, error);
  return ep_sweep_report_print(client, id, sort, limit > 0 ? limit : SHOWN_TRIALS, error);
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "sort", .kind = EP_OPTION_CHOICE, .value = "metric|trial",
   .doc = "the best first, or by number (metric)"},
  {.name = "limit", .letter = 'l', .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = MOST_TRIALS,
   .doc = "at most this many trials (20; with --csv all)"},
  {.name = "csv", .kind = EP_OPTION_SWITCH, .doc = "print the trials as CSV, as received"},
  EP_SPREADSHEET_OPTION,
  {.name = NULL}};

const ep_subcommand ep_subcommand_sweeps_show = {
  .name = "sweeps show", .words = "SWEEP", .kind = EP_WORD_SWEEP, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "print a sweep and its best trials",
  .examples =
    "epochctl sweeps show last --limit 50\n"
    "epochctl sweeps show last --csv >trials.csv"};
/* clang-format on */
