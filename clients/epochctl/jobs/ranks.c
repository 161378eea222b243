#include "clients/epochctl/jobs/ranks.h"

#include <stdio.h>

#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"
#include "clients/epochctl/terminal/text_table.h"

enum { LAYERS_BYTES = 64, NOTE_BYTES = 512 };

static void integer_cell(ep_text_table *table, int64_t value) {
  char text[EP_HUMAN_BYTES];
  ep_text_table_cell(table, ep_human_count(value, text), EP_COLOUR_PLAIN);
}

static void layers_cell(ep_text_table *table, const json_t *stage) {
  char text[LAYERS_BYTES];
  ep_json_integers_join(ep_json_at(stage, "layers"), " to ", text, sizeof text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
}

static char *share_text(double share, char text[EP_HUMAN_BYTES]) {
  snprintf(text, EP_HUMAN_BYTES, "%.1f %%", 100 * share);
  return text;
}

static void share_cell(ep_text_table *table, double share) {
  char text[EP_HUMAN_BYTES];
  ep_text_table_cell(table, share_text(share, text), EP_COLOUR_PLAIN);
}

static void microseconds_cell(ep_text_table *table, const json_t *rank, const char *key) {
  char text[EP_HUMAN_BYTES];
  ep_human_seconds(ep_json_number_at(rank, key) * 1e-6, text);
  ep_text_table_cell(table, text, EP_COLOUR_PLAIN);
}

static void stages_print(const ep_terminal *terminal, const json_t *stages) {
  static const ep_text_column COLUMNS[] = {{"stage", true, false},
                                           {"layers", true, false},
                                           {"parameters", true, false},
                                           {"cost", true, false}};
  const json_t *stage;
  size_t index;
  ep_text_table table = {0};
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  json_array_foreach(stages, index, stage) {
    integer_cell(&table, (int64_t)index);
    layers_cell(&table, stage);
    integer_cell(&table, ep_json_integer_at(stage, "parameters"));
    share_cell(&table, ep_json_number_at(stage, "cost_share"));
  }
  ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
}

void ep_parallel_print(const ep_terminal *terminal, const json_t *parallel) {
  char note[NOTE_BYTES], share[EP_HUMAN_BYTES];
  int64_t data = ep_json_integer_at(parallel, "data"),
          model = ep_json_integer_at(parallel, "model");
  int64_t pieces = ep_json_integer_at(parallel, "micro_batches");
  if (!json_is_object(parallel)) return;
  printf("\n%lld replica%s of %lld stage%s", (long long)data, data == 1 ? "" : "s",
         (long long)model, model == 1 ? "" : "s");
  if (model > 1)
    printf(" in %lld micro-batch%s: a stage waits %s of the time at best", (long long)pieces,
           pieces == 1 ? "" : "es", share_text(ep_json_number_at(parallel, "bubble"), share));
  ep_text_copy(note, sizeof note, ep_json_text_at(parallel, "note"));
  printf("%s%s\n", *note ? "; " : "", note);
  if (model > 1) stages_print(terminal, ep_json_at(parallel, "stages"));
}

static void rank_cells(ep_text_table *table, const json_t *parallel, const json_t *rank) {
  int64_t model = ep_json_integer_at(rank, "model");
  char text[EP_HUMAN_BYTES];
  integer_cell(table, ep_json_integer_at(rank, "rank"));
  integer_cell(table, ep_json_integer_at(rank, "data"));
  integer_cell(table, model);
  integer_cell(table, ep_json_integer_at(rank, "node"));
  layers_cell(table, json_array_get(ep_json_at(parallel, "stages"), (size_t)model));
  ep_text_table_cell(table, ep_human_bytes(ep_json_number_at(rank, "bytes"), text),
                     EP_COLOUR_PLAIN);
  microseconds_cell(table, rank, "compute_microseconds");
  microseconds_cell(table, rank, "communication_microseconds");
  share_cell(table, ep_json_number_at(rank, "idle_share"));
}

void ep_ranks_print(const ep_terminal *terminal, const json_t *parallel, const json_t *ranks) {
  static const ep_text_column COLUMNS[] = {
      {"rank", true, false},      {"replica", true, false},       {"stage", true, false},
      {"node", true, false},      {"layers", true, false},        {"memory", true, false},
      {"computing", true, false}, {"communication", true, false}, {"waiting", true, false}};
  const json_t *rank;
  size_t index;
  ep_text_table table = {0};
  if (json_array_size(ranks) == 0) return;
  ep_text_table_columns(&table, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
  json_array_foreach(ranks, index, rank) rank_cells(&table, parallel, rank);
  printf("\neach rank, a step\n");
  ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
}
