/* validate.c: epochctl validate. */
#include <stdio.h>
#include <stdlib.h>

#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/input/spec_file.h"
#include "clients/epochctl/jobs/network.h"
#include "clients/epochctl/jobs/ranks.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"
#include "clients/epochctl/terminal/text_table.h"

enum { SHAPE_BYTES = 128, NAME_BYTES = 128 };

/* Images have a shape, rows a count of features. */
static void shape_cell(ep_text_table *table, const json_t *layer, const char *shape_key,
                       const char *features_key) {
  char text[SHAPE_BYTES];
  const json_t *shape = json_object_get(layer, shape_key);
  if (json_is_array(shape))
    ep_json_integers_join(shape, "x", text, sizeof text);
  else
    snprintf(text, sizeof text, "%lld", (long long)ep_json_integer_at(layer, features_key));
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
}

static void layers_print(const ep_terminal *terminal, const json_t *layers) {
  static const ep_text_column COLUMNS[] = {{"layer", false, false},
                                           {"in", true, false},
                                           {"out", true, false},
                                           {"parameters", true, false}};
  char text[EP_NETWORK_LINE_BYTES], count[EP_HUMAN_BYTES];
  const json_t *layer;
  size_t index;
  ep_text_table table = {0};
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  bool graph = ep_network_is_graph(layers);
  json_array_foreach(layers, index, layer) {
    ep_network_line(layers, index, graph, text);
    ep_text_table_cell(&table, text, EP_COLOUR_PLAIN);
    shape_cell(&table, layer, "in_shape", "in_features");
    shape_cell(&table, layer, "out_shape", "out_features");
    ep_human_count(ep_json_integer_at(layer, "parameters"), count);
    ep_text_table_cell(&table, count, EP_COLOUR_PLAIN);
  }
  ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
}

static void estimates_print(const json_t *root) {
  char a[EP_HUMAN_BYTES], b[EP_HUMAN_BYTES], c[EP_HUMAN_BYTES];
  const json_t *item;
  size_t index;
  printf("\n%s parameters, %s; rows: %s to train",
         ep_human_count(ep_json_integer_at(root, "parameters"), a),
         ep_human_bytes(ep_json_number_at(root, "bytes"), b),
         ep_human_count(ep_json_integer_at(root, "rows.train"), c));
  printf(", %s to validate, %s to test\n",
         ep_human_count(ep_json_integer_at(root, "rows.validation"), a),
         ep_human_count(ep_json_integer_at(root, "rows.test"), b));
  json_array_foreach(ep_json_at(root, "estimates"), index, item) {
    char device[NAME_BYTES], executor[NAME_BYTES];
    ep_text_copy(device, sizeof device, ep_json_text_at(item, "device"));
    ep_text_copy(executor, sizeof executor, ep_json_text_at(item, "executor"));
    printf("about %s on %s, %s\n", ep_human_seconds(ep_json_number_at(item, "seconds"), a), device,
           executor);
  }
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  char *body = NULL;
  size_t bytes = 0;
  json_t *root = NULL;
  ep_status status = ep_spec_file_read(arguments, &body, &bytes, error);
  if (status != EP_OK) return status;
  ep_http_request request = {.method = "POST",
                             .path = "/v1/jobs?validate=only",
                             .body = body,
                             .body_bytes = bytes,
                             .content_type = "application/json"};
  status = ep_client_send(client, &request, &root, error);
  free(body);
  if (status != EP_OK || !root) return status;
  layers_print(&client->terminal, ep_json_at(root, "layers"));
  ep_parallel_print(&client->terminal, ep_json_at(root, "parallel"));
  estimates_print(root);
  json_decref(root);
  return EP_OK;
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "set", .kind = EP_OPTION_TEXT, .value = "/POINTER=VALUE",
   .doc = "change a field first; repeatable"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_validate = {
  .name = "validate", .words = "FILE", .kind = EP_WORD_FILE, .least = 1, .most = 1,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "check a job without running it",
  .details =
    "Prints each layer's shape and parameters, of a network with branches also names and inputs, how the layers are split into ranks, the rows of each split, and the estimated time on each device. Exits with 2 if the job is invalid.",
  .examples = "epochctl validate job.json"};
/* clang-format on */
