#include "clients/epochctl/commands/data/dataset.h"

#include <stdio.h>

#include "api/visibility.h"
#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/terminal/human.h"
#include "clients/epochctl/terminal/text.h"

void ep_dataset_print(const json_t *dataset) {
  char name[256], format[32], rows[EP_HUMAN_BYTES], bytes[EP_HUMAN_BYTES];
  ep_text_copy(name, sizeof name, ep_json_text_at(dataset, "name"));
  ep_text_copy(format, sizeof format, ep_json_text_at(dataset, "format"));
  bool private = ep_visibility_from_name(ep_json_text_at(dataset, "visibility")) == true;
  printf("%s  %s, %s rows, %s%s\n", name, format,
         ep_human_count(ep_json_integer_at(dataset, "rows"), rows),
         ep_human_bytes(ep_json_number_at(dataset, "bytes"), bytes), private ? ", private" : "");
}
