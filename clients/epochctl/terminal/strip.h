/* strip.h: a row of bars, one character each. */
#ifndef EP_CLIENTS_EPOCHCTL_TERMINAL_STRIP_H
#define EP_CLIENTS_EPOCHCTL_TERMINAL_STRIP_H

#include "clients/epochctl/terminal/terminal.h"

enum { EP_STRIP_BARS = 64, EP_STRIP_BYTES = 4 * EP_STRIP_BARS + 1 };

/* Values as bars beside each other, from the least to the greatest of them; one that is not finite
 * is a gap. count: at most EP_STRIP_BARS. text ends in 0. */
void ep_strip_write(const ep_terminal *terminal, const double *values, int count,
                    char text[EP_STRIP_BYTES]);

#endif
