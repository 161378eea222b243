/* result_fields.h: how metrics stand in JSON, for the result, the job and the end event. */
#ifndef EP_API_WIRE_RESULT_FIELDS_H
#define EP_API_WIRE_RESULT_FIELDS_H

#include <jansson.h>

#include "api/json/writer.h"
#include "api/wire/result.h"

/* The object of one split, null when it has no rows. Confusion matrices of more than max_classes
 * classes are written as null. */
void ep_split_metrics_write(ep_writer *writer, const ep_split_metrics *metrics, int max_classes);

/* "metrics" with its three splits; the matrix only for test when test_only. */
void ep_metrics_write(ep_writer *writer, const ep_job_result *result, int max_classes,
                      bool test_only);

/* Of train and validation the loss, of test all figures but the matrix. */
void ep_metrics_write_scalars(ep_writer *writer, const ep_job_result *result);

/* The figures of a split by their places in JSON: NULL behind the last one. */
const char *ep_split_figure_name(int figure);
double ep_split_figure(const ep_split_metrics *metrics, int figure);

/* {"url":…,"sha256":…,"bytes":…} or null. */
void ep_weights_write_reference(ep_writer *writer, const ep_job_result *result, const char *job);

/* Everything a result holds, as an object, and back. */
void ep_job_result_write(ep_writer *writer, const ep_job_result *result);
ep_status ep_job_result_read(const json_t *object, ep_job_result *out, ep_error *error);

/* No metrics: every figure NaN, no rows. */
void ep_split_metrics_clear(ep_split_metrics *metrics);

#endif
