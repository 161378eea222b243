/* sweep_json.h: what the files of this room share: a sweep's job as a tree. */
#ifndef EP_API_SWEEP_SWEEP_JSON_H
#define EP_API_SWEEP_SWEEP_JSON_H

#include <jansson.h>

#include "api/json/fields.h"
#include "api/json/writer.h"
#include "api/sweep/sweep_spec.h"

/* Writes a tree, its numbers in the fewest digits; NULL as null. */
void ep_tree_write(ep_writer *writer, const json_t *tree);

/* The readers of "space" and "zip", and what goes over both: sweep->axes. */
void ep_space_read(ep_field_reader *reader, const ep_field *field, const json_t *value, void *base);
void ep_zip_read(ep_field_reader *reader, const ep_field *field, const json_t *value, void *base);
void ep_axes_make(ep_field_reader *reader, ep_sweep_spec *sweep);

/* Checks the job at the first point, and then each value alone, unless it was stored and so was
 * checked before; fills in sweep->base. */
void ep_sweep_jobs_check(ep_field_reader *reader, ep_sweep_spec *sweep, bool stored);

/* Reads the sweep `root` at the reader's place. */
ep_status ep_sweep_spec_read(ep_field_reader *reader, const json_t *root, bool stored,
                             ep_sweep_spec **out);

/* metric.c: the reader of "metric", and the default of "mode". */
void ep_sweep_metric_read(ep_field_reader *reader, const ep_field *field, const json_t *value,
                          void *base);
bool ep_sweep_metric_maximized(const ep_sweep_spec *sweep);

/* The job with the values of a point, part as in ep_sweep_trial_make; a new reference. NULL: memory
 * is short, or a value has no place; *at: the pointer that has none. */
json_t *ep_sweep_job_tree(const ep_sweep_spec *sweep, const double *point, int part,
                          const char **at);

/* The fields of a sweep's request. */
extern const ep_field_table ep_sweep_table;

#endif
