/* terminal.h: the properties of standard output: its width, its colours, its characters. */
#ifndef EP_CLIENTS_EPOCHCTL_TERMINAL_TERMINAL_H
#define EP_CLIENTS_EPOCHCTL_TERMINAL_TERMINAL_H

#include <stdbool.h>

typedef struct {
  bool live;    /* standard output is a terminal that returns to the start of a line */
  bool colour;  /* it is one, and neither NO_COLOR nor TERM=dumb is set */
  bool unicode; /* the locale's characters are UTF-8 */
} ep_terminal;

typedef enum {
  EP_COLOUR_PLAIN,
  EP_COLOUR_BOLD,
  EP_COLOUR_DIM,
  EP_COLOUR_RED,
  EP_COLOUR_GREEN,
  EP_COLOUR_YELLOW,
  EP_COLOUR_BLUE,
  EP_COLOUR_COUNT
} ep_colour;

/* Reads standard output and the environment (NO_COLOR, TERM, LC_ALL, LC_CTYPE, LANG). */
ep_terminal ep_terminal_find(void);

/* The columns of the terminal at this moment, else COLUMNS, else 80. For a pipe: COLUMNS, else 0,
 * which is no limit. */
int ep_terminal_width(const ep_terminal *terminal);

/* The escape sequence that starts a colour; EP_COLOUR_PLAIN ends it. "" without colours. */
const char *ep_terminal_colour(const ep_terminal *terminal, ep_colour colour);

#endif
