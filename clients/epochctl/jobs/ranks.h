/* ranks.h: how a job is cut into ranks, and what each of them did, as tables. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_RANKS_H
#define EP_CLIENTS_EPOCHCTL_JOBS_RANKS_H

#include <jansson.h>

#include "clients/epochctl/terminal/terminal.h"

/* A sentence and a table of the stages; nothing where `parallel` is no object. */
void ep_parallel_print(const ep_terminal *terminal, const json_t *parallel);

/* A row a rank, and how long they waited; nothing where `ranks` is no array. */
void ep_ranks_print(const ep_terminal *terminal, const json_t *parallel, const json_t *ranks);

#endif
