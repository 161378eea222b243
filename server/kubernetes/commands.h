/* commands.h: Kubernetes through kubectl of the PATH, and as whom it is set up: by KUBECONFIG, by
 * ~/.kube/config, or by the service account of epochd's own Pod.
 *
 * Each function starts a child and waits for it, EP_LIMIT_SLURM_COMMAND_MS at most. Any thread.
 * Errors: EP_UNAVAILABLE where kubectl is absent, takes too long or reaches no cluster; EP_INVALID
 * where it refuses. The message has kubectl's own words. */
#ifndef EP_SERVER_KUBERNETES_COMMANDS_H
#define EP_SERVER_KUBERNETES_COMMANDS_H

#include "server/slurm/answers.h"

/* A manifest, YAML or JSON, as JSON: kubectl's own reading, without a cluster. *text: the caller's
 * (free). */
ep_status ep_kubernetes_template_read(const char *file, char **text, ep_error *error);

/* What epochd needs at its start: the template is one of a worker, and Jobs and Secrets may be
 * created in the namespaces of the devices ("auto,kubernetes:research"; others are passed over). */
ep_status ep_kubernetes_check(const char *devices, const char *template_file, ep_error *error);

/* Creates what the manifest lists. Of a refusal some may be there: ep_kubernetes_delete. */
ep_status ep_kubernetes_create(const char *namespace, const char *manifest, ep_error *error);

/* Adds epochd's workers of the namespace to *out. */
ep_status ep_kubernetes_list(const char *namespace, ep_slurm_jobs *out, ep_error *error);

/* Deletes a worker's Secret and, with job, its Job. OK also where they are gone. */
ep_status ep_kubernetes_delete(const char *namespace, const char *worker, bool job,
                               ep_error *error);

#endif
