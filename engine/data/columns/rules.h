/* rules.h: which of the spec's names mean which column. */
#ifndef EP_ENGINE_DATA_COLUMNS_RULES_H
#define EP_ENGINE_DATA_COLUMNS_RULES_H

#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"

/* What a spec calls column `index` of a table: its name, or its index in decimal. */
void ep_column_title(const ep_part *table, int64_t index, char out[EP_LIMIT_NAME_BYTES + 1]);

/* Whether `glob` means `name`: * stands for any bytes, ? for one. */
bool ep_glob_matches(const char *glob, const char *name);

/* What is said of a column, or NULL: the rule of its very name, else the first whose glob means it.
 */
const ep_column_rule *ep_column_rule_find(const ep_data_spec *data, const char *name);

/* Whether features and exclude leave the column in. */
bool ep_column_chosen(const ep_data_spec *data, const char *name);

/* Every name and glob of the spec means a column that is not the target, whose "type" alone may be
 * set: else EP_INVALID at its place. */
ep_status ep_column_rules_check(const ep_data_spec *data, const ep_part *table, int64_t target,
                                ep_error *error);

/* EP_INVALID at /data/columns/<the rule's name>/<field>; field NULL: at the rule. */
ep_status ep_column_rule_fail(const ep_column_rule *rule, const char *field, ep_error *error,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
