/* summary.h: a job in some lines. */
#ifndef EP_CLIENTS_EPOCHCTL_SUMMARY_H
#define EP_CLIENTS_EPOCHCTL_SUMMARY_H

#include <jansson.h>

#include "clients/epochctl/session.h"

/* Status, times, metrics and where the weights are, to standard output. `whole`: what else there is
 * too, a small confusion matrix, and the job as it was submitted. */
void ep_summary_print(const ep_session *session, const json_t *job, bool whole);

/* How a status is shown. */
ep_colour ep_state_colour(const char *status);

/* A metric of a split that is there, by rank: names in the order of interest, `loss` first. Returns
 * how many there are, at most `most`. */
int ep_metrics_list(const json_t *metrics, const char *names[], double values[], int most);

#endif
