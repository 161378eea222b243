/* flat_json.h: the flat JSON form: {"m": rows, "n": columns, "x": [row-major, flat], "y": […],
 * "m_test": …, "x_test": …, "y_test": …}. Without y_test, or where that is empty, the test rows
 * have no targets. */
#ifndef EP_ENGINE_DATA_FORMATS_FLAT_JSON_H
#define EP_ENGINE_DATA_FORMATS_FLAT_JSON_H

#include "engine/data/formats/format.h"
#include "engine/data/tables/json_value.h"

/* Whether it is one of the form's keys. */
bool ep_flat_json_has_key(const char *name, size_t bytes);

/* text: one object, and nothing behind it. */
ep_status ep_flat_json_read(ep_ingest *ingest, ep_json_text text, ep_error *error);

#endif
