/* dialect.h: how a file is read, as options of the command line: EP_DIALECT_OPTIONS for delimited
 * texts, of uploads and predictions; EP_UPLOAD_OPTIONS for all uploads. */
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
   .doc = "of a CSV, like the options below up to --dates; detected by default"},                   \
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
   .doc = "starts a line to skip, or none"},                                           \
  {.name = "decimal", .kind = EP_OPTION_CHOICE, .value = ".|,", .doc = "the decimal mark"},        \
  {.name = "thousands", .kind = EP_OPTION_TEXT, .value = "CHARACTER",                              \
   .doc = "between groups of three digits: \",\", \".\", \"'\", space or none"},                   \
  {.name = "missing", .kind = EP_OPTION_TEXT, .value = "WORDS",                                    \
   .doc = "treated as missing, comma-separated, instead of NA, null, …; \"\": only empty cells"}, \
  {.name = "dates", .kind = EP_OPTION_CHOICE, .value = "day_first|month_first",                    \
   .doc = "which comes first in 1/2/2024"}

#define EP_UPLOAD_OPTIONS                                                                          \
  EP_DIALECT_OPTIONS,                                                                              \
  {.name = "size", .kind = EP_OPTION_TEXT, .value = "HxW",                                         \
   .doc = "of pictures: height and width, such as 64x64 (the most frequent, or 128 for the longer side)"}, \
  {.name = "channels", .kind = EP_OPTION_CHOICE, .value = "1|3",                                   \
   .doc = "of pictures: grey or RGB (1 if all are grey)"},                                         \
  {.name = "broken", .kind = EP_OPTION_CHOICE, .value = "refuse|skip",                             \
   .doc = "unreadable pictures: refuse the upload, or skip them (refuse)"},                        \
  {.name = "table", .kind = EP_OPTION_TEXT, .value = "NAME",                                       \
   .doc = "of a JSON object of several tables: the table to read"}
/* clang-format on */

/* Appends the EP_UPLOAD_OPTIONS that were given to the query of a request. Returns how many. */
int ep_dialect_query(const ep_arguments *arguments, char path[EP_REQUEST_PATH_BYTES]);

/* Copies a text of the server, escaped as by ep_text_copy. "?name=value", a query parameter,
 * becomes
 * "--name value" where `more` (may be NULL) or EP_UPLOAD_OPTIONS has that option. */
void ep_dialect_words(char *out, size_t out_bytes, const char *text, const ep_option *more);

/* A table of the dialect of a dataset ({"delimiter": ";", …, "evidence": {…}}) with its evidence;
 * nothing where there is none. */
void ep_dialect_print(const ep_terminal *terminal, const json_t *dialect);

#endif
