#include "clients/epochctl/client/collection.h"

#include <stdio.h>
#include <string.h>

#include "clients/epochctl/http/json_at.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/terminal/text.h"

enum { NAME_BYTES = 512 };

static void names_print(const json_t *items) {
  char name[NAME_BYTES];
  const json_t *item;
  size_t index;
  json_array_foreach(items, index, item) {
    ep_text_copy(name, sizeof name, ep_json_text_at(item, "name"));
    puts(name);
  }
}

static void table_print(const ep_terminal *terminal, const json_t *items,
                        const ep_collection *collection) {
  const json_t *item;
  size_t index;
  ep_text_table table = {0};
  ep_text_table_columns(&table, collection->columns, collection->columns_count);
  json_array_foreach(items, index, item) {
    ep_text_table_cell(&table, ep_json_text_at(item, "name"), EP_COLOUR_BOLD);
    collection->cells(&table, item);
  }
  if (table.cells_count == 0)
    puts(collection->none);
  else
    ep_text_table_print(&table, terminal, true);
  ep_text_table_deinit(&table);
}

/* Reads the pages after the first into `list`. */
static ep_status pages_read(ep_client *client, const char *path, json_t *list, ep_error *error) {
  char target[512], next[256];
  bool more = json_is_true(ep_json_at(list, "has_more"));
  snprintf(next, sizeof next, "%s", ep_json_text_at(list, "next"));
  while (more) {
    json_t *page = NULL;
    snprintf(target, sizeof target, "%s?after=%s", path, next);
    ep_status status = ep_client_get(client, target, &page, error);
    if (status != EP_OK) return status;
    bool taken = json_array_extend((json_t *)ep_json_at(list, "data"),
                                   (json_t *)ep_json_at(page, "data")) == 0;
    more = json_is_true(ep_json_at(page, "has_more"));
    snprintf(next, sizeof next, "%s", ep_json_text_at(page, "next"));
    json_decref(page);
    if (!taken) return ep_fail_memory(error);
  }
  return EP_OK;
}

ep_status ep_collection_print(ep_client *client, const ep_arguments *arguments,
                              const ep_collection *collection, ep_error *error) {
  json_t *list = NULL;
  ep_status status = ep_client_get(client, collection->path, &list, error);
  if (status != EP_OK || !list) return status;
  status = pages_read(client, collection->path, list, error);
  if (status != EP_OK) {
    json_decref(list);
    return status;
  }
  if (ep_arguments_has(arguments, "quiet"))
    names_print(ep_json_at(list, "data"));
  else
    table_print(&client->terminal, ep_json_at(list, "data"), collection);
  json_decref(list);
  return EP_OK;
}

/* Sends a request such as this to PATH/WORD for each word. */
static ep_status each_send(ep_client *client, const ep_arguments *arguments, const char *path,
                           const ep_http_request *like, const char *done, ep_error *error) {
  char target[EP_REQUEST_PATH_BYTES], parent[EP_REQUEST_PATH_BYTES], name[NAME_BYTES];
  ep_status status = EP_OK;
  snprintf(parent, sizeof parent, "%s/", path);
  ep_http_request request = *like;
  request.path = target;
  for (int i = 0; i < arguments->words_count && status == EP_OK; i++) {
    json_t *response = NULL;
    ep_path_make(target, parent, arguments->words[i], "");
    status = ep_client_send(client, &request, &response, error);
    ep_text_copy(name, sizeof name, arguments->words[i]);
    if (status == EP_OK && !client->json) printf("%s %s\n", name, done);
    json_decref(response);
  }
  return status;
}

ep_status ep_collection_delete(ep_client *client, const ep_arguments *arguments, const char *path,
                               const char *done, ep_error *error) {
  const ep_http_request request = {.method = "DELETE"};
  return each_send(client, arguments, path, &request, done, error);
}

ep_status ep_collection_show(ep_client *client, const ep_arguments *arguments, const char *path,
                             ep_error *error) {
  char body[64], done[32];
  const char *visibility = ep_arguments_value(arguments, "visibility");
  if (!visibility) return ep_fail(error, EP_INVALID, "nothing to change: give --visibility");
  snprintf(body, sizeof body, "{\"visibility\":\"%s\"}", visibility);
  snprintf(done, sizeof done, "is %s", visibility);
  const ep_http_request request = {.method = "PATCH",
                                   .body = body,
                                   .body_bytes = strlen(body),
                                   .content_type = "application/merge-patch+json"};
  return each_send(client, arguments, path, &request, done, error);
}
