#include "clients/epochctl/jobs/network.h"

#include <stdio.h>
#include <string.h>

#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/terminal/human.h"

enum { NUMBER_BYTES = 24 };

/* Its own name, or its number. */
static const char *name_of(const json_t *layers, size_t index, char number[NUMBER_BYTES]) {
  const char *name = ep_json_text_at(json_array_get(layers, index), "name");
  snprintf(number, NUMBER_BYTES, "%zu", index);
  return *name ? name : number;
}

/* Input k; "": there is none, as where a spec names none. */
static const char *input_of(const json_t *layer, size_t k) {
  const json_t *input = json_object_get(layer, "input");
  if (json_is_array(input))
    input = json_array_get(input, k);
  else if (k > 0)
    input = NULL;
  const char *name = json_string_value(input);
  return name ? name : "";
}

/* Whether it reads what stands above it, and nothing else. */
static bool is_next(const json_t *layers, size_t index) {
  char number[NUMBER_BYTES], before[NUMBER_BYTES];
  const json_t *layer = json_array_get(layers, index);
  const char *above = index > 0 ? name_of(layers, index - 1, number) : "x";
  const char *first = input_of(layer, 0);
  snprintf(before, sizeof before, "%zu", index - 1);
  return !*input_of(layer, 1) &&
         (!*first || strcmp(first, above) == 0 || (index > 0 && strcmp(first, before) == 0));
}

bool ep_network_is_graph(const json_t *layers) {
  char number[NUMBER_BYTES], own[NUMBER_BYTES];
  for (size_t i = 0; i < json_array_size(layers); i++) {
    snprintf(own, sizeof own, "%zu", i);
    if (!is_next(layers, i) || strcmp(name_of(layers, i, number), own) != 0) return true;
  }
  return false;
}

void ep_network_line(const json_t *layers, size_t index, bool graph,
                     char text[EP_NETWORK_LINE_BYTES]) {
  static const char *const SIZES[] = {"out_features", "out_channels", "p", "kernel_size"};
  char number[NUMBER_BYTES], size_text[EP_HUMAN_BYTES];
  const json_t *layer = json_array_get(layers, index), *size = NULL;
  bool shaped = json_object_get(layer, "out_shape"); /* the table has the sizes */
  for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES && !size && !shaped; i++)
    size = json_object_get(layer, SIZES[i]);
  size_t used = (size_t)snprintf(text, EP_NETWORK_LINE_BYTES, "%.64s%s%.40s",
                                 graph ? name_of(layers, index, number) : "", graph ? ": " : "",
                                 ep_json_text_at(layer, "type"));
  if (json_is_number(size))
    used += (size_t)snprintf(text + used, EP_NETWORK_LINE_BYTES - used, " %s",
                             ep_human_number(json_number_value(size), size_text));
  if (!graph || is_next(layers, index)) return;
  for (size_t k = 0; *input_of(layer, k) && used < EP_NETWORK_LINE_BYTES; k++)
    used += (size_t)snprintf(text + used, EP_NETWORK_LINE_BYTES - used, "%s%.64s",
                             k > 0 ? ", " : " <- ", input_of(layer, k));
}
