/* inputs_json.h: what a row to predict has, as a form asks for it. */
#ifndef EP_ENGINE_DATA_COLUMNS_INPUTS_JSON_H
#define EP_ENGINE_DATA_COLUMNS_INPUTS_JSON_H

#include <jansson.h>

#include "engine/data/columns/encoding.h"

/* The columns of a raw row: [{"name":"age","used":true,"type":"number","integer":false,"min":1,
 * "max":80,"typical":29},{"name":"city","used":true,"type":"category","distinct":2,"categories":
 * [{"value":"Oslo"},…],"typical":"Oslo"},{"name":"id","used":false,"type":"text"},…]. Of many words
 * the first are listed; "distinct" is null where further ones may be sent. NULL when memory is
 * short. */
json_t *ep_encoding_inputs_json(const ep_encoding *encoding);

#endif
