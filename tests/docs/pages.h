/* pages.h: what is printed of the tables of api/ for programs: JSON Schema, and the dashboard's
 * words. */
#ifndef EP_TESTS_DOCS_PAGES_H
#define EP_TESTS_DOCS_PAGES_H

#include <jansson.h>

#include "api/json/fields.h"

/* schemas.c: the schemas of a job's spec, as one JSON object: name -> schema. */
void ep_schemas_print(void);

/* vocabulary.c: clients/dashboard/vocabulary.js. */
void ep_vocabulary_print(void);

/* schemas.c: the value of an absent field, for the caller to decref; NULL for a required field and
 * for an object of defaults. */
json_t *ep_field_default(const ep_field *field);

/* schemas.c: the value of an EP_JSON text; NULL for NULL. A text that is no JSON ends the program.
 */
json_t *ep_field_json(const char *text);

#endif
