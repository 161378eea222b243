/* column_json.h: columns and cells at fault as JSON: as meta.json has them, and as people see them.
 */
#ifndef EP_ENGINE_DATA_DATASETS_COLUMN_JSON_H
#define EP_ENGINE_DATA_DATASETS_COLUMN_JSON_H

#include <jansson.h>

#include "engine/data/datasets/dataset.h"

/* Takes `value`, also on failure; a NULL value is a failure. */
bool ep_json_set(json_t *object, const char *key, json_t *value);

/* The array where it has as many items; else NULL, and it is freed: memory is short. */
json_t *ep_json_whole(json_t *array, int64_t count);

/* [{"name":…,"type":…,"min":…,"max":…,"integer":…,"missing":…,"distinct":…,"words":[["male",577],…]}
 * …], without what is usual: no name, a number, 0. NULL when memory is short. */
json_t *ep_columns_stored(const ep_part *part);

/* The same with all members, and "categories" in the place of "words": the commonest, in all
 * columns together no more than EP_LIMIT_SHOWN_WORDS_BYTES. NULL when memory is short. */
json_t *ep_columns_shown(const ep_part *part);

/* Of what ep_columns_stored wrote, or a version before it. False when it is none, or memory is
 * short: then *no_memory is set. out: zeroed; its words are the caller's, also on failure. */
bool ep_column_parse(const json_t *object, ep_column *out, bool *no_memory);

/* {"count":…,"cells":[{"row":…,"column":…,"value":…},…]}. NULL when memory is short. */
json_t *ep_faults_json(const ep_dataset_meta *meta);

/* object: may be NULL, as of data without faults. */
bool ep_faults_parse(const json_t *object, ep_dataset_meta *out);

#endif
