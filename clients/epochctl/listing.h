/* listing.h: what the commands on named things (data sets, models) have in common: their list, and
 * to delete them by name. */
#ifndef EP_CLIENTS_EPOCHCTL_LISTING_H
#define EP_CLIENTS_EPOCHCTL_LISTING_H

#include <jansson.h>

#include "api/arguments/arguments.h"
#include "clients/epochctl/session.h"
#include "clients/epochctl/table.h"

typedef struct {
  const char *path;         /* of the list: "/v1/models" */
  const ep_column *columns; /* [columns_count]; the first is the name */
  int columns_count;
  void (*cells)(ep_table *table,
                const json_t *item); /* adds those of the columns behind the name */
  const char *none;                  /* said of an empty list: a line */
} ep_listing;

/* Prints a table of all, or with --quiet their names alone. */
ep_status ep_listing_print(ep_session *session, const ep_arguments *arguments,
                           const ep_listing *listing, ep_error *error);

/* DELETEs PATH/WORD for each word of the command, up to the first that fails; says "WORD DONE". */
ep_status ep_listing_remove(ep_session *session, const ep_arguments *arguments, const char *path,
                            const char *done, ep_error *error);

#endif
