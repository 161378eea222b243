/* layers.c: epochctl layers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/json.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/line_buffer.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/http/request.h"
#include "clients/epochctl/jobs/job_id.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/strip.h"
#include "clients/epochctl/terminal/text_table.h"

enum { STRIP = 16 };

/* The lines of a stream. */
typedef struct {
  ep_line_buffer line;
  json_t *list; /* those of the type layers; owned */
  bool printed; /* they are printed as they are, instead */
} reading;

static bool line_take(void *context, const char *line, size_t bytes) {
  reading *now = context;
  json_t *root = NULL;
  if (ep_json_load(line, bytes, EP_LIMIT_EVENT_BYTES, &root, NULL) != EP_OK) return true;
  bool layers = strcmp(ep_json_text_at(root, "type"), "layers") == 0;
  bool good = true;
  if (layers && now->printed) good = printf("%.*s\n", (int)bytes, line) > 0;
  if (layers && !now->printed) good = json_array_append(now->list, root) == 0;
  json_decref(root);
  return good;
}

static bool bytes_take(void *context, const char *bytes, size_t count) {
  reading *now = context;
  return ep_line_buffer_add(&now->line, bytes, count, line_take, now);
}

/* A figure of a layer over the lines, as far apart as fit the strip. Its logarithm: norms go over
 * powers of ten. */
static void course_write(const ep_terminal *terminal, const json_t *list, size_t layer,
                         const char *key, char text[EP_STRIP_BYTES]) {
  double values[STRIP];
  size_t lines = json_array_size(list);
  int count = lines < STRIP ? (int)lines : STRIP;
  for (int i = 0; i < count; i++) {
    size_t at = count > 1 ? (size_t)i * (lines - 1) / (size_t)(count - 1) : 0;
    const json_t *line = json_array_get(list, at);
    const json_t *figures = json_array_get(ep_json_at(line, "layers"), layer);
    values[i] = log10(ep_json_number_at(figures, key));
  }
  ep_strip_write(terminal, values, count, text);
}

static void histogram_write(const ep_terminal *terminal, const json_t *layer,
                            char text[EP_STRIP_BYTES]) {
  double values[STRIP];
  const json_t *counts = ep_json_at(layer, "counts");
  int count = (int)json_array_size(counts);
  if (count > STRIP) count = STRIP;
  for (int i = 0; i < count; i++) values[i] = ep_json_number(json_array_get(counts, (size_t)i));
  ep_strip_write(terminal, values, count, text);
}

static void number_cell(ep_text_table *table, double value) {
  char text[EP_HUMAN_BYTES];
  ep_text_table_cell(table, isnan(value) ? "" : ep_human_number(value, text), EP_COLOUR_PLAIN);
}

static void row_add(ep_text_table *table, const ep_terminal *terminal, const json_t *list,
                    size_t number, const json_t *layer) {
  char text[EP_HUMAN_BYTES], strip[EP_STRIP_BYTES];
  double dead = ep_json_number_at(layer, "dead");
  ep_text_table_cell(table, ep_json_text_at(layer, "layer"), EP_COLOUR_BOLD);
  ep_text_table_cell(table, ep_json_text_at(layer, "type"), EP_COLOUR_PLAIN);
  number_cell(table, ep_json_number_at(layer, "gradient_norm"));
  course_write(terminal, list, number, "gradient_norm", strip);
  ep_text_table_cell(table, strip, EP_COLOUR_BLUE);
  number_cell(table, ep_json_number_at(layer, "weight_norm"));
  course_write(terminal, list, number, "weight_norm", strip);
  ep_text_table_cell(table, strip, EP_COLOUR_BLUE);
  ep_text_table_cell(table, isnan(dead) ? "" : ep_human_percent(dead, text),
                     dead > 0.5 ? EP_COLOUR_YELLOW : EP_COLOUR_PLAIN);
  number_cell(table, ep_json_number_at(layer, "low"));
  histogram_write(terminal, layer, strip);
  ep_text_table_cell(table, strip, EP_COLOUR_GREEN);
  number_cell(table, ep_json_number_at(layer, "high"));
}

static void layers_print(const ep_terminal *terminal, const json_t *list) {
  static const ep_text_column COLUMNS[] = {
      {"layer", false, false},     {"type", false, true},
      {"gradient", true, false},   {"over epochs", false, false},
      {"weights", true, false},    {"over epochs", false, false},
      {"dead", true, false},       {"outputs from", true, false},
      {"histogram", false, false}, {"to", true, false}};
  const json_t *last = json_array_get(list, json_array_size(list) - 1), *layer;
  char a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES];
  size_t i;
  ep_text_table table = {0};
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  json_array_foreach(ep_json_at(last, "layers"), i, layer)
      row_add(&table, terminal, list, i, layer);
  printf("epoch %s of %s\n", ep_human_count(ep_json_integer_at(last, "epoch"), a),
         ep_human_count(ep_json_integer_at(last, "epochs"), b));
  ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char path[EP_REQUEST_PATH_BYTES];
  ep_http_response response = {0};
  ep_path_make(path, "/v1/jobs/", arguments->words[0], "/events");
  reading now = {.list = json_array(), .printed = client->json};
  ep_path_query(path, "follow", "0");
  ep_path_query(path, "every", "1000000000"); /* the epochs' own lines are not wanted */
  ep_http_request request = {.method = "GET",
                             .path = path,
                             .accept = "application/x-ndjson",
                             .take = bytes_take,
                             .context = &now,
                             .long_lasting = true};
  ep_status status = ep_http_send(&client->session, &request, &response, error);
  ep_http_response_deinit(&response);
  if (status == EP_OK && !client->json) {
    if (json_array_size(now.list) > 0)
      layers_print(&client->terminal, now.list);
    else
      puts("no layers reported yet: a job reports them with \"report\": {\"layers\": true}");
  }
  ep_line_buffer_deinit(&now.line);
  json_decref(now.list);
  return status;
}

/* clang-format off */
const ep_subcommand ep_subcommand_layers = {
  .name = "layers", .words = "JOB", .kind = EP_WORD_JOB, .least = 1, .most = 1,
  .run = subcommand_run,
  .summary = "show statistics of a job's layers over its epochs",
  .details =
    "For a job with \"report\": {\"layers\": true}: the norms of each layer's gradient and weights, its share of dead units, and a histogram of its outputs, after the last reported epoch. The strips cover the epochs so far, in powers of ten. --json prints the events.",
  .examples =
    "epochctl layers last\n"
    "epochctl layers last --json | jq '.layers[0].gradient_norm'"};
/* clang-format on */
