/* json_value.h: values of a JSON text as cells of a table. */
#ifndef EP_ENGINE_DATA_TABLES_JSON_VALUE_H
#define EP_ENGINE_DATA_TABLES_JSON_VALUE_H

#include "api/json/scanner.h"
#include "api/limits.h"
#include "api/status.h"

/* A JSON text that is read from its first byte to its last. */
typedef struct {
  const char *start; /* of the file: messages count bytes from here */
  ep_scanner left;   /* what is still to read */
} ep_json_text;

/* What a value is as a cell: a string's characters, a number as it is written, "true", "false",
 * nothing for null and NaN, and an array or an object as it is written. */
typedef struct {
  const char *text; /* [bytes]: within the JSON text, or `decoded`; valid until the next one */
  size_t bytes;
  bool nested, number;                        /* an array or an object; a number */
  char decoded[EP_LIMIT_CSV_FIELD_BYTES + 1]; /* a string that has escapes */
} ep_json_cell;

/* Reads the next value. EP_INVALID, with its byte, when there is none; EP_TOO_LARGE for a string of
 * more than EP_LIMIT_CSV_FIELD_BYTES. */
ep_status ep_json_cell_read(ep_json_text *text, ep_json_cell *cell, ep_error *error);

/* The same of a string in quotes, such as the key of a member, with the colon behind it. */
ep_status ep_json_key_read(ep_json_text *text, ep_json_cell *cell, ep_error *error);

/* Takes `token`, or says that `wanted` should be here. */
ep_status ep_json_token_read(ep_json_text *text, char token, const char *wanted, ep_error *error);

/* "JSON, byte 17: a comma should be here, not "x"". */
ep_status ep_json_unexpected(const ep_json_text *text, const char *wanted, ep_error *error);

#endif
