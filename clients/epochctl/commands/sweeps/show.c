/* show.c: epochctl sweeps show. */
#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/jobs/sweep_summary.h"

enum { SHOWN_TRIALS = 20, PAGE_TRIALS = 10000, NUMBER_BYTES = 32 };

/* The path of a page of trials. */
static void page_path_write(const char *id, const char *sort, int64_t offset, int64_t limit,
                            char path[EP_REQUEST_PATH_BYTES]) {
  char number[NUMBER_BYTES];
  ep_submission_path(path, id, "/trials");
  if (sort) ep_path_query(path, "sort", sort);
  snprintf(number, sizeof number, "%lld", (long long)offset);
  ep_path_query(path, "offset", number);
  snprintf(number, sizeof number, "%lld", (long long)limit);
  ep_path_query(path, "limit", number);
}

static ep_status total_read(ep_session *session, const char *id, int64_t *total, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  json_t *page = NULL;
  page_path_write(id, NULL, 0, 1, path);
  ep_status status = ep_http_get(session, path, &page, error);
  *total = ep_json_integer_at(page, "total");
  json_decref(page);
  return status;
}

/* Of all pages but the first the header is left out. */
static ep_status csv_page_print(ep_session *session, const char *path, bool first,
                                ep_error *error) {
  ep_http_request request = {.method = "GET", .path = path, .accept = "text/csv"};
  ep_http_response response;
  ep_status status = ep_http_send(session, &request, &response, error);
  if (status == EP_OK && response.bytes > 0) {
    const char *line = memchr(response.text, '\n', response.bytes);
    const char *from = first || !line ? response.text : line + 1;
    fwrite(from, 1, response.bytes - (size_t)(from - response.text), stdout);
  }
  ep_http_response_deinit(&response);
  return status;
}

static ep_status csv_print(ep_session *session, const char *id, const char *sort, int64_t limit,
                           ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  int64_t total = limit, offset = 0;
  ep_status status = limit > 0 ? EP_OK : total_read(session, id, &total, error);
  do {
    if (status != EP_OK) return status;
    int64_t left = total - offset;
    page_path_write(id, sort, offset, left < 1 ? 1 : left < PAGE_TRIALS ? left : PAGE_TRIALS, path);
    ep_path_query(path, "format", "csv");
    status = csv_page_print(session, path, offset == 0, error);
    offset += PAGE_TRIALS;
  } while (offset < total);
  return status;
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char id[EP_JOB_ID_BYTES];
  const char *sort = ep_arguments_value(arguments, "sort");
  int64_t limit = ep_arguments_integer(arguments, "limit", 0);
  ep_status status = ep_sweep_id_find(&client->session, arguments->words[0], id, error);
  if (status != EP_OK) return status;
  if (ep_arguments_has(arguments, "csv"))
    return csv_print(&client->session, id, sort, limit, error);
  return ep_sweep_report_print(client, id, sort, limit > 0 ? limit : SHOWN_TRIALS, error);
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "sort", .kind = EP_OPTION_CHOICE, .value = "metric|trial",
   .doc = "the best first, or by number (metric)"},
  {.name = "limit", .letter = 'l', .kind = EP_OPTION_INTEGER, .value = "N", .min = 1, .max = PAGE_TRIALS,
   .doc = "at most so many trials (20; of --csv all)"},
  {.name = "csv", .kind = EP_OPTION_SWITCH, .doc = "the trials as CSV, as the server writes them"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_sweeps_show = {
  .name = "sweeps show", .words = "SWEEP", .kind = EP_WORD_SWEEP, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "print a sweep and its best trials",
  .examples =
    "epochctl sweeps show last --limit 50\n"
    "epochctl sweeps show last --csv >trials.csv"};
/* clang-format on */
