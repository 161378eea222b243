/* completion.h: completion scripts for shells. */
#ifndef EP_CLIENTS_EPOCHCTL_MANUAL_COMPLETION_H
#define EP_CLIENTS_EPOCHCTL_MANUAL_COMPLETION_H

#include <stdio.h>

#include "clients/epochctl/client/subcommand.h"

/* The script calls epochctl for the names of jobs, data sets and models. */
void ep_completion_bash(FILE *out, const ep_subcommand_table *table);
void ep_completion_zsh(FILE *out, const ep_subcommand_table *table);
void ep_completion_fish(FILE *out, const ep_subcommand_table *table);

#endif
