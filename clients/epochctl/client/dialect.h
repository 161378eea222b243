/* dialect.h: how a delimited text is written, as options of the command line: those that an upload
 * and a prediction share. */
#ifndef EP_CLIENTS_EPOCHCTL_CLIENT_DIALECT_H
#define EP_CLIENTS_EPOCHCTL_CLIENT_DIALECT_H

#include <jansson.h>

#include "api/arguments/arguments.h"
#include "clients/epochctl/http/path.h"
#include "clients/epochctl/terminal/terminal.h"

/* Rows of a table of options. Each is a query parameter, with _ for -. */
/* clang-format off */
#define EP_DIALECT_OPTIONS                                                                         \
  {.name = "encoding", .kind = EP_OPTION_CHOICE, .value = "utf-8|utf-16le|utf-16be|windows-1252",  \
   .doc = "of a CSV, as all options to --dates; what is not given is detected"},                   \
  {.name = "delimiter", .kind = EP_OPTION_TEXT, .value = "CHARACTER",                              \
   .doc = "between cells: one character, or comma, semicolon, tab, pipe or space (runs of blanks)"}, \
  {.name = "quote", .kind = EP_OPTION_TEXT, .value = "CHARACTER",                                  \
   .doc = "around cells: \", ', escaped (\\\" is a quote within \"\") or none"},                                                          \
  {.name = "header", .kind = EP_OPTION_CHOICE, .value = "true|false",                              \
   .doc = "whether the first line has the names of the columns"},                                  \
  {.name = "row-names", .kind = EP_OPTION_CHOICE, .value = "true|false",                           \
   .doc = "whether the first column has no name in the header, as R writes it"},                   \
  {.name = "preamble", .kind = EP_OPTION_INTEGER, .value = "LINES", .min = 0, .max = 1000,         \
   .doc = "lines before the table"},                                                               \
  {.name = "comment", .kind = EP_OPTION_TEXT, .value = "CHARACTER",                                \
   .doc = "which begins a line to be skipped, or none"},                                           \
  {.name = "decimal", .kind = EP_OPTION_CHOICE, .value = ".|,", .doc = "the decimal mark"},        \
  {.name = "thousands", .kind = EP_OPTION_TEXT, .value = "CHARACTER",                              \
   .doc = "between groups of three digits: \",\", \".\", \"'\", space or none"},                   \
  {.name = "missing", .kind = EP_OPTION_TEXT, .value = "WORDS",                                    \
   .doc = "which stand for a missing cell, with commas between, instead of NA, null, …; \"\": none but empty cells"}, \
  {.name = "dates", .kind = EP_OPTION_CHOICE, .value = "day_first|month_first",                    \
   .doc = "what comes first in 1/2/2024"}
/* clang-format on */

/* Appends those that were given to the query of a request. Returns how many. */
int ep_dialect_query(const ep_arguments *arguments, char path[EP_REQUEST_PATH_BYTES]);

/* A table of the dialect of a dataset ({"delimiter": ";", …, "evidence": {…}}) with its evidence;
 * nothing where there is none. */
void ep_dialect_print(const ep_terminal *terminal, const json_t *dialect);

#endif
