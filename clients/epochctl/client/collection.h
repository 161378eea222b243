/* collection.h: what data sets and models have in common: a list, deletion by name, and who sees
 * them. */
#ifndef EP_CLIENTS_EPOCHCTL_CLIENT_COLLECTION_H
#define EP_CLIENTS_EPOCHCTL_CLIENT_COLLECTION_H

#include <jansson.h>

#include "api/arguments/arguments.h"
#include "clients/epochctl/client/client.h"
#include "clients/epochctl/terminal/text_table.h"

typedef struct {
  const char *path;              /* of the list: "/v1/models" */
  const ep_text_column *columns; /* [columns_count]; the first is the name */
  int columns_count;
  void (*cells)(ep_text_table *table, const json_t *item); /* adds the cells behind the name */
  const char *none;                                        /* the line for an empty list */
} ep_collection;

/* Prints a table of all items, or with --quiet their names alone. */
ep_status ep_collection_print(ep_client *client, const ep_arguments *arguments,
                              const ep_collection *collection, ep_error *error);

/* DELETEs PATH/WORD for each word, up to the first failure, and prints "WORD DONE" for each. */
ep_status ep_collection_delete(ep_client *client, const ep_arguments *arguments, const char *path,
                               const char *done, ep_error *error);

/* PATCHes PATH/WORD for each word, up to the first failure, with the visibility that --visibility
 * has, and prints "WORD is private" for each. EP_INVALID without the option. */
ep_status ep_collection_show(ep_client *client, const ep_arguments *arguments, const char *path,
                             ep_error *error);

#endif
