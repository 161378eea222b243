/* pages.h: help, the manual page and the Markdown reference: one text, three forms. */
#ifndef EP_CLIENTS_EPOCHCTL_PAGES_H
#define EP_CLIENTS_EPOCHCTL_PAGES_H

#include <stdio.h>

#include "clients/epochctl/commands.h"

void ep_page_overview(FILE *out);                           /* epochctl help */
void ep_page_command(FILE *out, const ep_command *command); /* epochctl help COMMAND */
void ep_page_man(FILE *out);                                /* man(7) macros */
void ep_page_markdown(FILE *out);                           /* docs/epochctl.md */

#endif
