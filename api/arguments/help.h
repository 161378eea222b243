/* help.h: the layout of help texts: names in a column, texts beside them, lines that are broken
 * between words. */
#ifndef EP_API_ARGUMENTS_HELP_H
#define EP_API_ARGUMENTS_HELP_H

#include <stdio.h>

#include "api/arguments/option.h"

enum { EP_HELP_LABEL_BYTES = 128 };

/* "-o, --output FILE" */
void ep_help_label(const ep_option *option, char label[EP_HELP_LABEL_BYTES]);

/* Words up to column 96, each line behind `indent` blanks; the first starts at column `from`.
 * Paragraphs stay. Ends the line. */
void ep_help_wrap(FILE *out, const char *text, int indent, int from);

/* A name, and its text in the column beside it. */
void ep_help_row(FILE *out, const char *name, const char *text);

/* ep_help_row of each option, and the titles of groups. */
void ep_help_options(FILE *out, const ep_option *table);

#endif
