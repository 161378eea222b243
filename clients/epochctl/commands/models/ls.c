/* ls.c: epochctl models ls. */
#include <stdio.h>

#include "clients/epochctl/client/collection.h"
#include "clients/epochctl/commands/table.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/terminal/human.h"

enum { SHAPE_BYTES = 256, TEXT_BYTES = 512 };

/* "FP32 [-1, 784]" of the first tensor. */
static void tensor_cell(ep_text_table *table, const json_t *tensors) {
  char shape[SHAPE_BYTES], text[TEXT_BYTES];
  const json_t *first = json_array_get(tensors, 0);
  ep_json_integers_join(ep_json_at(first, "shape"), ", ", shape, sizeof shape);
  snprintf(text, sizeof text, "%.64s [%s]", ep_json_text_at(first, "datatype"), shape);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
}

/* "0.3 of yes"; "" where the likelier class is taken. */
static void threshold_cell(ep_text_table *table, const json_t *item) {
  char text[TEXT_BYTES] = "";
  const json_t *threshold = json_object_get(item, "threshold");
  if (json_is_number(threshold))
    snprintf(text, sizeof text, "%.4g of %.200s", json_number_value(threshold),
             ep_json_text_at(item, "positive"));
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
}

static void cells_add(ep_text_table *table, const json_t *item) {
  char age[EP_HUMAN_BYTES];
  ep_text_table_cell(table, ep_json_text_at(item, "job"), EP_COLOUR_PLAIN);
  tensor_cell(table, ep_json_at(item, "inputs"));
  tensor_cell(table, ep_json_at(item, "outputs"));
  threshold_cell(table, item);
  ep_text_table_cell(table, ep_human_age(ep_json_text_at(item, "published_at"), age),
                     EP_COLOUR_DIM);
}

static ep_status subcommand_run(ep_client *client, const ep_arguments *arguments, ep_error *error) {
  static const ep_text_column COLUMNS[] = {{"model", false, true},     {"job", false, false},
                                           {"input", false, true},     {"output", false, true},
                                           {"threshold", false, true}, {"published", false, true}};
  static const ep_collection MODELS = {"/v1/models", COLUMNS, sizeof COLUMNS / sizeof *COLUMNS,
                                       cells_add,
                                       "no models; epochctl models publish NAME JOB publishes one"};
  return ep_collection_print(client, arguments, &MODELS, error);
}

/* clang-format off */
static const ep_option OPTIONS[] = {
  {.name = "quiet", .letter = 'q', .kind = EP_OPTION_SWITCH, .doc = "names alone"},
  {.name = NULL}};

const ep_subcommand ep_subcommand_models_ls = {
  .name = "models ls", .words = "", .kind = EP_WORD_TEXT, .least = 0, .most = 0,
  .options = OPTIONS, .run = subcommand_run,
  .summary = "list published models"};
/* clang-format on */
