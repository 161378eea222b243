/* json.h: reads JSON text into jansson's tree with ceilings on size and depth, and takes values out
 * of it strictly. Only sources of api/ and formats that are JSON include it. */
#ifndef EP_API_JSON_JSON_H
#define EP_API_JSON_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

/* The whole text as one value of any type. EP_TOO_LARGE over max_bytes, EP_INVALID when nested
 * deeper than EP_LIMIT_JSON_DEPTH or a number overflows, EP_MALFORMED (with line and column, both
 * from 1) when it is not JSON or has a key twice. The caller owns *out: json_decref. */
ep_status ep_json_load(const char *text, size_t bytes, size_t max_bytes, json_t **out,
                       ep_error *error);

/* Deepest nesting of brackets, strings left out; any bytes are allowed. */
int ep_json_depth(const char *text, size_t bytes);

/* The value at `key` of an object, or false: when it is not there, of another type, out of range,
 * or does not fit with its 0. An integer may be written as 1000, 1e3 or 1000.0. */
bool ep_json_get_integer(const json_t *object, const char *key, int64_t min, int64_t max,
                         int64_t *out);
bool ep_json_get_text(const json_t *object, const char *key, char *text, size_t text_bytes);
/* The same, but a text that does not fit is cut: for messages. */
bool ep_json_cut_text(const json_t *object, const char *key, char *text, size_t text_bytes);
/* A number, "NaN", "Infinity", "-Infinity", or null for NaN. */
bool ep_json_get_number(const json_t *object, const char *key, double *out);

/* An integral JSON number within ±2^53 (reals) or int64 (integers). */
bool ep_json_integer(const json_t *value, int64_t *out);

/* "a string", "an array", …: for messages. */
const char *ep_json_type_name(const json_t *value);

#endif
