/* encoding_json.h: an encoding as JSON, which travels with the weights. */
#ifndef EP_ENGINE_DATA_COLUMNS_ENCODING_JSON_H
#define EP_ENGINE_DATA_COLUMNS_ENCODING_JSON_H

#include <jansson.h>

#include "engine/data/columns/encoding.h"

/* The columns: [{"name":"age","type":"number","encode":"number","scaling":"standard","fill":30,
 * "shift":31.5,"scale":9.25,"indicator":true},{"name":"city","type":"category","encode":"one_hot",
 * "words":["Rome","Oslo"],"untrained":[1],…},{"name":"id","type":"text","encode":"none"},…].
 * The numbers read back to the same bits. Owned by the caller (free); NULL when memory is short. */
char *ep_encoding_format(const ep_encoding *encoding);

/* [{"min":1,"max":5,"integer":true},…]. Owned by the caller (free); NULL when memory is short. */
char *ep_ranges_format(const ep_column_range *ranges, int64_t count);
/* Back, into the columns in their order; what cannot be a range is not known. */
ep_status ep_ranges_parse(const char *text, ep_encoding *encoding, ep_error *error);

/* ["cat","dog"]. Owned by the caller (free); NULL when memory is short. */
char *ep_classes_format(const ep_words *classes);

/* Back, up to EP_LIMIT_COLUMNS words; nothing to deinit on failure (ep_words_deinit), EP_DATA. */
ep_status ep_classes_parse(const char *text, ep_words *out, ep_error *error);

/* Back, of a text that is not trusted: EP_DATA. classes: NULL, or what ep_classes_format wrote;
 * target: the column that is predicted. Nothing to deinit on failure. */
ep_status ep_encoding_parse(const char *columns, const char *classes, const char *target,
                            ep_encoding *out, ep_error *error);

#endif
