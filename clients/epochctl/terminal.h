/* terminal.h: what standard output is, and text that cannot harm it. */
#ifndef EP_CLIENTS_EPOCHCTL_TERMINAL_H
#define EP_CLIENTS_EPOCHCTL_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json/writer.h"

typedef struct {
  bool live;    /* standard output is a terminal that can go back to the start of a line */
  bool colour;  /* it is one, and neither NO_COLOR nor TERM=dumb says otherwise */
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

/* Looks at standard output and at the environment (NO_COLOR, TERM, LC_ALL, LC_CTYPE, LANG). */
ep_terminal ep_terminal_find(void);

/* Columns of the terminal now (it may have been resized), or of COLUMNS, or 80. For a pipe that is
 * as wide as it likes: 0, unless COLUMNS says. */
int ep_terminal_width(const ep_terminal *terminal);

/* The escape sequence that starts a colour, or "" where there is none; EP_COLOUR_PLAIN ends it. */
const char *ep_terminal_colour(const ep_terminal *terminal, ep_colour colour);

/* Columns that UTF-8 text takes: 2 for East Asian wide characters and emoji, 0 for combining ones.
 * Text that ep_text_escape wrote; escape sequences are not known here. */
int ep_text_width(const char *text);

/* Bytes of the longest start of `text` that takes at most `width` columns; whole characters. */
size_t ep_text_fit(const char *text, int width);

/* Appends text from a server or a file so that a terminal shows it and obeys none of it: control
 * characters, bytes that are no UTF-8, and characters that turn the direction of writing become
 * \x1b, \u202e, …; a backslash stays as it is. */
void ep_text_escape(ep_writer *out, const char *text);

/* The same into a buffer, cut to it between characters. */
void ep_text_copy(char *out, size_t out_bytes, const char *text);

#endif
