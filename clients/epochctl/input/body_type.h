/* body_type.h: what a file of rows to predict is, by its bytes. */
#ifndef EP_CLIENTS_EPOCHCTL_INPUT_BODY_TYPE_H
#define EP_CLIENTS_EPOCHCTL_INPUT_BODY_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/status.h"

/* The media type of a file of pictures; NULL: it is text. text: [bytes], and a 0 behind them. */
const char *ep_pictures_type(const char *text, size_t bytes);

/* Of a text that the server reads itself, as it does an upload: the media type; NULL: another text.
 * Of UTF-16 this program reads nothing. */
const char *ep_table_type(const char *text, size_t bytes);

/* Whether it begins as JSON does. */
bool ep_text_is_json(const char *text);

/* An object a line, of all forms that objects of JSON come in: [{…}, …], {"rows": [{…}, …]}, one
 * after the other; each as it is written, but for ends of lines. *out: the caller's (free); NULL:
 * the text is something else, as rows of numbers. */
ep_status ep_json_lines_format(const char *text, size_t bytes, char **out, size_t *out_bytes,
                               ep_error *error);

#endif
