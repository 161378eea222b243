/* json_at.h: values of a response by their paths. A value that is absent or of another type is no
 * error. */
#ifndef EP_CLIENTS_EPOCHCTL_HTTP_JSON_AT_H
#define EP_CLIENTS_EPOCHCTL_HTTP_JSON_AT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* The value at a path of keys, "metrics.test.loss", or NULL; a loan of `root`. */
const json_t *ep_json_at(const json_t *root, const char *path);
/* A string, "" when there is none. It is the server's: escape it before it is shown. */
const char *ep_json_text_at(const json_t *root, const char *path);
/* A number, "Infinity" or "-Infinity"; NaN when there is none. */
double ep_json_number_at(const json_t *root, const char *path);
double ep_json_number(const json_t *value);                       /* the same of the value itself */
int64_t ep_json_integer_at(const json_t *root, const char *path); /* 0 when there is none */

/* The integers of a list with `between` between them: "28 x 28". text: [bytes], ends in 0; a list
 * that does not fit is cut between numbers. */
void ep_json_integers_join(const json_t *list, const char *between, char *text, size_t bytes);

/* A value in a line: a string as it is, "-" for null and NULL, else JSON with six digits. It is the
 * server's: escape it. text: [bytes], ends in 0; cut. */
void ep_json_line(const json_t *value, char *text, size_t bytes);

#endif
