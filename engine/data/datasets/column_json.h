/* column_json.h: columns and cells at fault as JSON: as meta.json has them, and as people see them.
 */
#ifndef EP_ENGINE_DATA_DATASETS_COLUMN_JSON_H
#define EP_ENGINE_DATA_DATASETS_COLUMN_JSON_H

#include <jansson.h>

#include "api/json/writer.h"
#include "engine/data/datasets/dataset.h"

/* Takes `value`, also on failure; a NULL value is a failure. */
bool ep_json_set(json_t *object, const char *key, json_t *value);

/* The array where it has as many items; else NULL, and it is freed: memory is short. */
json_t *ep_json_whole(json_t *array, int64_t count);

/* How many of the words are shown; takes their bytes from *left_bytes. */
int64_t ep_words_fit(const ep_words *words, size_t *left_bytes);

/* 2024-02-29, 2024-02-29T12:30:00, or, in a column of times of day, 12:30:00, with the microseconds
 * that there are; UTC. */
json_t *ep_date_json(ep_cell_kind form, double seconds);

/* The member `key` of an object: the columns, one at a time: a tree of all would take ten times
 * their text. A failure shows in the writer.
 *
 * - stored:
 * [{"name":…,"type":…,"min":…,"max":…,"integer":…,"missing":…,"distinct":…,"words":[["male",577],…]}
 * …], without what is usual: no name, a number, 0
 *
 * - else: the same with all members, and "categories" in the place of "words": the commonest, in
 * all columns together no more than EP_LIMIT_SHOWN_WORDS_BYTES */
void ep_columns_json_write(ep_writer *out, const char *key, const ep_part *part, bool stored);

/* Of a stored column that ep_columns_json_write wrote, or a version before it. False when it is
 * none, or memory is short: then *no_memory is set. out: zeroed; its words are the caller's, also
 * on failure. */
bool ep_column_parse(const json_t *object, ep_column *out, bool *no_memory);

/* {"count":…,"cells":[{"row":…,"column":…,"value":…},…]}. NULL when memory is short. */
json_t *ep_faults_json(const ep_dataset_meta *meta);

/* object: may be NULL, as of data without faults. */
bool ep_faults_parse(const json_t *object, ep_dataset_meta *out);

#endif
