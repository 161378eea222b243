#include "clients/epochctl/listing.h"

#include <stdio.h>

#include "clients/epochctl/fields.h"
#include "clients/epochctl/http.h"

enum { NAME_BYTES = 512 };

static void names_print(const json_t *items) {
  char name[NAME_BYTES];
  const json_t *item;
  size_t index;
  json_array_foreach(items, index, item) {
    ep_text_copy(name, sizeof name, ep_field_text(item, "name"));
    puts(name);
  }
}

static void table_print(const ep_session *session, const json_t *items, const ep_listing *listing) {
  const json_t *item;
  size_t index;
  ep_table table = {0};
  for (int i = 0; i < listing->columns_count; i++)
    ep_table_column(&table, listing->columns[i].title, listing->columns[i].right,
                    listing->columns[i].cuts);
  json_array_foreach(items, index, item) {
    ep_table_cell(&table, ep_field_text(item, "name"), EP_COLOUR_BOLD);
    listing->cells(&table, item);
  }
  if (table.cells_count == 0)
    puts(listing->none);
  else
    ep_table_print(&table, &session->terminal, true);
  ep_table_deinit(&table);
}

ep_status ep_listing_print(ep_session *session, const ep_arguments *arguments,
                           const ep_listing *listing, ep_error *error) {
  json_t *list = NULL;
  ep_status status = ep_get_ask(session, listing->path, &list, error);
  if (status || !list) return status;
  if (ep_arguments_has(arguments, "quiet"))
    names_print(ep_field(list, "data"));
  else
    table_print(session, ep_field(list, "data"), listing);
  json_decref(list);
  return EP_OK;
}

ep_status ep_listing_remove(ep_session *session, const ep_arguments *arguments, const char *path,
                            const char *done, ep_error *error) {
  char target[EP_PATH_MAX_BYTES], parent[EP_PATH_MAX_BYTES], name[NAME_BYTES];
  ep_status status = EP_OK;
  snprintf(parent, sizeof parent, "%s/", path);
  for (int i = 0; i < arguments->words_count && !status; i++) {
    json_t *answer = NULL;
    ep_path_make(target, parent, arguments->words[i], "");
    ep_call call = {.method = "DELETE", .path = target};
    status = ep_call_ask(session, &call, &answer, error);
    ep_text_copy(name, sizeof name, arguments->words[i]);
    if (!status && !session->json) printf("%s %s\n", name, done);
    json_decref(answer);
  }
  return status;
}
