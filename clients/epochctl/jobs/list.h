/* list.h: a list of jobs or of sweeps, as its options choose. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_LIST_H
#define EP_CLIENTS_EPOCHCTL_JOBS_LIST_H

#include <jansson.h>

#include "api/arguments/arguments.h"
#include "clients/epochctl/client/client.h"
#include "clients/epochctl/terminal/text_table.h"

typedef struct {
  const char *path; /* with or without a query */
  const ep_text_column *columns;
  int columns_count;
  void (*row)(ep_text_table *table, const json_t *item); /* adds the cells of an item */
  const char *none;                                      /* the line for an empty list */
} ep_job_list;

/* --state, --tag, --limit, --owner, --output, --quiet. */
extern const ep_option EP_JOB_LIST_OPTIONS[];

/* Prints the newest as a table, or with --quiet their ids alone. */
ep_status ep_job_list_print(ep_client *client, const ep_arguments *arguments,
                            const ep_job_list *list, ep_error *error);

/* Adds the cell of the seconds of training: those left of what has not ended, else those it took.
 */
void ep_job_list_time_cell(ep_text_table *table, const json_t *item);

#endif
