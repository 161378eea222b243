/* manual.h: help, the manual page and the Markdown reference: one text in three formats. */
#ifndef EP_CLIENTS_EPOCHCTL_MANUAL_MANUAL_H
#define EP_CLIENTS_EPOCHCTL_MANUAL_MANUAL_H

#include <stdio.h>

#include "clients/epochctl/client/subcommand.h"

void ep_manual_overview(FILE *out, const ep_subcommand_table *table);  /* epochctl help */
void ep_manual_subcommand(FILE *out, const ep_subcommand *subcommand); /* epochctl help COMMAND */
void ep_manual_man(FILE *out, const ep_subcommand_table *table);       /* man(7) macros */
void ep_manual_markdown(FILE *out, const ep_subcommand_table *table);  /* docs/epochctl.md */

#endif
