/* answers.h: what `kubectl get jobs,pods -o json` prints, as the workers that it speaks of. Any
 * bytes may be given. Any thread. */
#ifndef EP_SERVER_KUBERNETES_ANSWERS_H
#define EP_SERVER_KUBERNETES_ANSWERS_H

#include "server/slurm/answers.h"

/* Adds to *out one job for each worker that a Job or a Pod is labelled with; its `worker` is that
 * label, its partition the namespace, and its reason why it waits: "Unschedulable: 0/3 nodes are
 * available", "ImagePullBackOff: …", "Suspended". EP_TOO_LARGE over EP_LIMIT_KUBERNETES_JOBS,
 * EP_MALFORMED for what is no list. */
ep_status ep_kubernetes_jobs_parse(const char *text, size_t bytes, const char *namespace,
                                   ep_slurm_jobs *out, ep_error *error);

#endif
