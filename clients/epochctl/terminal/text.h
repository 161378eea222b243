/* text.h: text from servers and files: escaped for a terminal, measured in columns. */
#ifndef EP_CLIENTS_EPOCHCTL_TERMINAL_TEXT_H
#define EP_CLIENTS_EPOCHCTL_TERMINAL_TEXT_H

#include <stddef.h>

#include "api/json/writer.h"

/* Appends text so that a terminal shows it and obeys none of it: control characters, bytes that are
 * no UTF-8, and changes of the writing direction become \x1b, \u202e, …; a backslash stays. */
void ep_text_escape(ep_writer *out, const char *text);

/* ep_text_escape into a buffer; cut between characters. `out` ends in 0. */
void ep_text_copy(char *out, size_t out_bytes, const char *text);

/* The columns of escaped UTF-8 text: 2 for East Asian wide characters and emoji, 0 for combining
 * ones. Escape sequences are not recognized. */
int ep_text_width(const char *text);

/* Bytes of the longest start of `text` within `width` columns; whole characters. */
size_t ep_text_fit(const char *text, int width);

#endif
