/* sweep_summary.h: a sweep in some lines, and its trials as a table. */
#ifndef EP_CLIENTS_EPOCHCTL_JOBS_SWEEP_SUMMARY_H
#define EP_CLIENTS_EPOCHCTL_JOBS_SWEEP_SUMMARY_H

#include <jansson.h>

#include "clients/epochctl/client/client.h"

/* Prints status, search, trainings, times and the best trial. */
void ep_sweep_summary_print(const ep_client *client, const json_t *sweep);

/* Prints trials as a table, a column for each pointer of the space under its last step. `metric`:
 * the sweep's. */
void ep_leaderboard_print(const ep_client *client, const json_t *trials, const char *metric);

/* Prints the summary and the `limit` best trials of a sweep. With `sort`, "trial", the first ones
 * instead. With --json both responses as received. */
ep_status ep_sweep_report_print(ep_client *client, const char *id, const char *sort, int64_t limit,
                                ep_error *error);

/* The values of a trial: "lr 0.01, out_features 16", by the last steps of their pointers where
 * these differ. text: [bytes], escaped, ends in 0; cut. */
void ep_trial_values_text(const json_t *trial, char *text, size_t bytes);

#endif
