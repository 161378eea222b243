/* json.h: reads JSON text into jansson's tree with ceilings on size and depth, and takes values out
 * of it strictly. Only sources of api/ and formats that are JSON include it. */
#ifndef EP_API_JSON_JSON_H
#define EP_API_JSON_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/status.h"

/* The whole text as one value of any type. EP_TOO_LARGE over max_bytes, or when its tree would take
 * more than EP_LIMIT_JSON_TREE bytes for each of max_bytes; EP_INVALID when nested
 * deeper than EP_LIMIT_JSON_DEPTH or a number overflows, EP_MALFORMED (with line and column, both
 * from 1) when it is not JSON or has a key twice. The caller owns *out: json_decref. */
ep_status ep_json_load(const char *text, size_t bytes, size_t max_bytes, json_t **out,
                       ep_error *error);

/* What a text would become, found without a parse; any bytes are allowed. */
typedef struct {
  int depth;          /* deepest nesting of brackets, strings left out */
  int64_t values;     /* keys left out */
  int64_t tree_bytes; /* of memory, about and rather more: jansson's tree of it */
} ep_json_size;
ep_json_size ep_json_measure(const char *text, size_t bytes);

/* The most that the tree of a text of up to max_bytes may take. */
int64_t ep_json_tree_most(size_t max_bytes);

/* To be called before ep_json_read of a text that others wrote. EP_INVALID when it is nested deeper
 * than EP_LIMIT_JSON_DEPTH, EP_TOO_LARGE when its tree would take more than most_bytes. */
ep_status ep_json_check(const char *text, size_t bytes, int64_t most_bytes, ep_error *error);

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
