/* rules.h: which of the spec's names mean which column. */
#ifndef EP_ENGINE_DATA_COLUMNS_RULES_H
#define EP_ENGINE_DATA_COLUMNS_RULES_H

#include "api/spec/job_spec.h"
#include "engine/data/datasets/dataset.h"

/* What a spec calls column `index` of a table: its name, or its index in decimal. */
void ep_column_title(const ep_part *table, int64_t index, char out[EP_LIMIT_NAME_BYTES + 1]);

/* The column with that name; a column without a name has its index for one, where no other has that
 * name. EP_NOT_FOUND: none has; EP_INVALID at `pointer`, with the remedy: several have. */
ep_status ep_column_named(const ep_part *table, const char *name, const char *pointer,
                          const char *remedy, int64_t *out, ep_error *error);

/* Whether `glob` means `name`: * stands for any bytes, ? for one. */
bool ep_glob_matches(const char *glob, const char *name);

/* The texts of data.columns, features and exclude for one table: what is the name of a column means
 * that column; else it is a glob where it has a * or ?. */
typedef struct {
  const ep_data_spec *data; /* a loan */
  bool *globs;              /* [columns_count + features.count + exclude.count], owned */
} ep_column_matcher;
ep_status ep_column_matcher_init(const ep_data_spec *data, const ep_part *table,
                                 ep_column_matcher *out, ep_error *error);
void ep_column_matcher_deinit(ep_column_matcher *matcher);

/* What is said of a column, or NULL: the rule of its very name, else the first whose glob means it.
 */
const ep_column_rule *ep_column_rule_find(const ep_column_matcher *matcher, const char *name);

/* Whether features and exclude leave the column in. */
bool ep_column_chosen(const ep_column_matcher *matcher, const char *name);

/* Every name and glob of the spec means a column that is not the target, whose "type" alone may be
 * set: else EP_INVALID at its place. */
ep_status ep_column_rules_check(const ep_data_spec *data, const ep_part *table, int64_t target,
                                ep_error *error);

/* EP_INVALID at /data/columns/<the rule's name>/<field>; field NULL: at the rule. */
ep_status ep_column_rule_fail(const ep_column_rule *rule, const char *field, ep_error *error,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
