/* fields.h: what stands where in the server's answers, without a crash when it does not. */
#ifndef EP_CLIENTS_EPOCHCTL_FIELDS_H
#define EP_CLIENTS_EPOCHCTL_FIELDS_H

#include <jansson.h>
#include <stdint.h>

/* The value at a path of keys, "metrics.test.loss", or NULL. */
const json_t *ep_field(const json_t *root, const char *path);
/* A string, "" when there is none. It is the server's: escape it before it is shown. */
const char *ep_field_text(const json_t *root, const char *path);
/* A number, NaN when there is none; "NaN", "Infinity", "-Infinity" are understood. */
double ep_field_number(const json_t *root, const char *path);
double ep_field_value(const json_t *value);                     /* of the value itself */
int64_t ep_field_integer(const json_t *root, const char *path); /* 0 when there is none */

#endif
