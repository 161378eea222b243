/* manifest.h: what kubectl is given to create workers: for each a Secret with its connection file,
 * and a Job that mounts it. Nothing here starts a process. Any thread. */
#ifndef EP_SERVER_KUBERNETES_MANIFEST_H
#define EP_SERVER_KUBERNETES_MANIFEST_H

#include <stddef.h>

#include "api/names.h"
#include "api/status.h"
#include "server/slurm/commands.h"

/* On everything that epochd makes, and on its Pods. */
#define EP_KUBERNETES_MANAGED "app.kubernetes.io/managed-by"
#define EP_KUBERNETES_LABEL "epochd-worker" /* its value: the worker's id */

enum { EP_KUBERNETES_NAME_BYTES = EP_ID_BYTES + 16 };

typedef struct {
  const char *worker;     /* its id */
  const char *connection; /* its connection file's text */
} ep_kubernetes_worker;

/* "wrk_12ab" -> "epochd-worker-12ab": of its Job and of its Secret. */
void ep_kubernetes_name(const char *worker, char name[EP_KUBERNETES_NAME_BYTES]);

/* template: JSON of a Job. What it says stays, but for: the name and the namespace; one Pod, which
 * is not started again; the arguments of its first container. That one gets the connection at
 * EP_KUBERNETES_CONNECTION, and the request's memory and cores where the template names none.
 * *text: the caller's (free). EP_INVALID: it is no Job with a container that has an image. */
ep_status ep_kubernetes_manifest(const char *template, size_t bytes, const char *namespace,
                                 const ep_slurm_request *request,
                                 const ep_kubernetes_worker *workers, int count, char **text,
                                 ep_error *error);
#define EP_KUBERNETES_FOLDER "/run/epochd-worker"
#define EP_KUBERNETES_FILE "connection"
#define EP_KUBERNETES_CONNECTION EP_KUBERNETES_FOLDER "/" EP_KUBERNETES_FILE

/* EP_INVALID: it is none, and why. */
ep_status ep_kubernetes_template_check(const char *template, size_t bytes, ep_error *error);

#endif
