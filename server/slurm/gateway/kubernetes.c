/* kubernetes.c: workers by Kubernetes: a Job each, whose connection file is a Secret. Its tickets
 * have no number of their own: the worker's id is in the names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/kubernetes/commands.h"
#include "server/kubernetes/manifest.h"
#include "server/process/log.h"
#include "server/slurm/gateway/scheduler.h"

static const char *namespace_of(const ep_ticket *ticket) {
  return ticket->device + strlen(EP_KUBERNETES_PREFIX);
}

/* texts: [count][EP_CONNECTION_BYTES], with secrets. */
static ep_status workers_make(const ep_order *order, char (*texts)[EP_CONNECTION_BYTES],
                              ep_kubernetes_worker *workers, ep_error *error) {
  const ep_gateway_setup *setup = order->setup;
  const char *address = setup->kubernetes_address[0] ? setup->kubernetes_address : setup->address;
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < order->count; i++) {
    workers[i] = (ep_kubernetes_worker){order->workers[i].worker, texts[i]};
    status = ep_order_connection(order, i, address, "", texts[i], error);
  }
  return status;
}

static ep_status manifest_make(const ep_order *order, const char *template, char **manifest,
                               ep_error *error) {
  const size_t bytes = (size_t)order->count * EP_CONNECTION_BYTES;
  char(*texts)[EP_CONNECTION_BYTES] = malloc(bytes);
  ep_kubernetes_worker workers[EP_LIMIT_SLURM_WORKERS];
  if (!texts) return ep_fail_memory(error);
  ep_status status = workers_make(order, texts, workers, error);
  if (status == EP_OK)
    status = ep_kubernetes_manifest(template, strlen(template), order->target, order->request,
                                    workers, order->count, manifest, error);
  explicit_bzero(texts, bytes);
  free(texts);
  return status;
}

/* What a refusal has left is deleted; that the API no longer responds is logged where it lists. */
static ep_status create(const ep_order *order, const char *manifest, ep_error *error) {
  ep_status status = ep_kubernetes_create(order->target, manifest, error);
  for (int i = 0; status != EP_OK && i < order->count; i++)
    ep_kubernetes_delete(order->target, order->workers[i].worker, true, NULL);
  return status;
}

/* The template is read for each submission: a change of it counts for the next worker. */
static ep_status submit(const ep_order *order, int64_t *job, ep_error *error) {
  char *template = NULL, *manifest = NULL;
  ep_status status =
      ep_kubernetes_template_read(order->setup->kubernetes_template, &template, error);
  if (status == EP_OK) status = manifest_make(order, template, &manifest, error);
  if (status == EP_OK) status = create(order, manifest, error);
  if (manifest) explicit_bzero(manifest, strlen(manifest));
  free(manifest);
  free(template);
  *job = 1;
  return status;
}

static ep_status list(const char *const *targets, int count, ep_slurm_jobs *out, ep_error *error) {
  ep_status status = EP_OK;
  *out = (ep_slurm_jobs){0};
  for (int i = 0; status == EP_OK && i < count; i++)
    status = ep_kubernetes_list(targets[i], out, error);
  if (status != EP_OK) ep_slurm_jobs_free(out);
  return status;
}

static ep_status cancel(const ep_ticket *ticket, ep_error *error) {
  return ep_kubernetes_delete(namespace_of(ticket), ticket->worker, true, error);
}

/* Its Job stays for a while, with what it printed. */
static void forget(const ep_ticket *ticket) {
  ep_error error = {0};
  if (ep_kubernetes_delete(namespace_of(ticket), ticket->worker, false, &error) != EP_OK)
    ep_log(EP_LOG_WARNING, "the Secret of worker %s: %s", ticket->worker, error.message);
}

static void words(const ep_ticket *ticket, char job[EP_WORKER_WORDS_BYTES],
                  char log[EP_WORKER_WORDS_BYTES]) {
  char name[EP_KUBERNETES_NAME_BYTES];
  ep_kubernetes_name(ticket->worker, name);
  snprintf(job, EP_WORKER_WORDS_BYTES, "Kubernetes' Job %s", name);
  snprintf(log, EP_WORKER_WORDS_BYTES, "kubectl -n %s logs job/%s", namespace_of(ticket), name);
}

const ep_scheduler ep_scheduler_kubernetes = {.prefix = EP_KUBERNETES_PREFIX,
                                              .name = "Kubernetes",
                                              .submit = submit,
                                              .list = list,
                                              .cancel = cancel,
                                              .forget = forget,
                                              .words = words};
