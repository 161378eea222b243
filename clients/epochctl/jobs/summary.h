/* summary.h: a job in some lines. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_SUMMARY_H
#define EP_CLIENTS_EPOCHCTL_JOBS_SUMMARY_H

#include <jansson.h>

#include "clients/epochctl/client/client.h"

/* Prints status, times, metrics and the URL of the weights. `whole`: also the data, the network,
 * how it is trained, tags, a small confusion matrix and the ranks. */
void ep_job_summary_print(const ep_client *client, const json_t *job, bool whole);

/* The confusion matrix of the test split, with the names of its classes; nothing where there is
 * none, or one of more than twelve classes. */
void ep_confusion_print(const ep_client *client, const json_t *job);

/* Its first lines, for a job and a sweep alike: status, id, name; why it failed or stopped. */
void ep_summary_head_print(const ep_client *client, const json_t *job);
/* A line of a summary: a title and a text, which is escaped. */
void ep_summary_line_print(const ep_client *client, const char *title, const char *text);

/* "the mean alone: 0", of the metric that the job is held against; "": the server knows none. */
const char *ep_job_baseline_text(const json_t *job, char *text, size_t capacity);
/* That metric: "r2"; "": none. */
const char *ep_job_baseline_metric(const json_t *job);

/* The colour of a job's status. */
ep_colour ep_job_status_colour(const char *status);

#endif
