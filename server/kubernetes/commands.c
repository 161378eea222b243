#include "server/kubernetes/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "server/kubernetes/answers.h"
#include "server/kubernetes/manifest.h"
#include "server/slurm/child.h"

#define REQUEST_TIMEOUT "--request-timeout=25s" /* less than EP_LIMIT_SLURM_COMMAND_MS */
#define OURS EP_KUBERNETES_MANAGED "=epochd," EP_KUBERNETES_LABEL

enum { NAMESPACE_BYTES = EP_DEVICE_ID_BYTES, OBJECT_BYTES = EP_KUBERNETES_NAME_BYTES + 16 };

static ep_status kubectl_run(const char *const *words, const char *input, ep_slurm_child *out,
                             ep_error *error) {
  static const char *const UNREACHABLE[] = {"Unable to connect", "was refused", "timed out",
                                            "i/o timeout",       "unavailable", NULL};
  ep_status status = ep_slurm_child_run(words, input, EP_LIMIT_SLURM_COMMAND_MS, out, error);
  if (status != EP_OK || out->exit_code == 0) return status;
  status = ep_slurm_child_refused("kubectl", out, UNREACHABLE, error);
  ep_slurm_child_deinit(out);
  return status;
}

/* A merge with nothing: what it prints is what it has read, as JSON. */
ep_status ep_kubernetes_template_read(const char *file, char **text, ep_error *error) {
  const char *const words[] = {"kubectl", "patch", "--local",  "--filename", file, "--type=merge",
                               "-p",      "{}",    "--output", "json",       NULL};
  ep_slurm_child child = {0};
  *text = NULL;
  ep_status status = kubectl_run(words, NULL, &child, error);
  if (status == EP_OK)
    status = ep_kubernetes_template_check(child.output, child.output_bytes, error);
  if (status == EP_OK)
    *text = child.output;
  else
    ep_slurm_child_deinit(&child);
  return status;
}

/* kubectl says "no", or why it cannot tell. */
static ep_status permission_check(const char *namespace, const char *kind, ep_error *error) {
  const char *const words[] = {"kubectl", "auth",        "can-i",   "create",        kind,
                               "--quiet", "--namespace", namespace, REQUEST_TIMEOUT, NULL};
  ep_slurm_child child = {0};
  ep_status status = ep_slurm_child_run(words, NULL, EP_LIMIT_SLURM_COMMAND_MS, &child, error);
  if (status == EP_OK && child.exit_code != 0)
    status =
        ep_fail(error, EP_INVALID, "device kubernetes:%s: epochd may not create %s there%s%.300s",
                namespace, kind, child.words[0] ? ": " : "", child.words);
  ep_slurm_child_deinit(&child);
  return status;
}

static ep_status device_check(const char *namespace, ep_error *error) {
  ep_status status = permission_check(namespace, "jobs.batch", error);
  return status == EP_OK ? permission_check(namespace, "secrets", error) : status;
}

ep_status ep_kubernetes_check(const char *devices, const char *template_file, ep_error *error) {
  const size_t prefix = strlen(EP_KUBERNETES_PREFIX);
  char namespace[NAMESPACE_BYTES], *text = NULL;
  ep_error why = {0};
  if (!strstr(devices, EP_KUBERNETES_PREFIX)) return EP_OK;
  ep_status status = ep_kubernetes_template_read(template_file, &text, &why);
  free(text);
  if (status != EP_OK)
    return ep_fail(error, status, "--kubernetes-template %.200s: %s", template_file, why.message);
  for (const char *at = devices; status == EP_OK && *at;) {
    const size_t length = strcspn(at, ",");
    if (strncmp(at, EP_KUBERNETES_PREFIX, prefix) == 0 && length - prefix < sizeof namespace) {
      snprintf(namespace, sizeof namespace, "%.*s", (int)(length - prefix), at + prefix);
      status = device_check(namespace, error);
    }
    at += length + (at[length] == ',');
  }
  return status;
}

/* Names alone are printed back: no secret. */
ep_status ep_kubernetes_create(const char *namespace, const char *manifest, ep_error *error) {
  const char *const words[] = {"kubectl",     "create",  "--filename",    "-", "--output", "name",
                               "--namespace", namespace, REQUEST_TIMEOUT, NULL};
  ep_slurm_child child = {0};
  ep_status status = kubectl_run(words, manifest, &child, error);
  ep_slurm_child_deinit(&child);
  return status;
}

ep_status ep_kubernetes_list(const char *namespace, ep_slurm_jobs *out, ep_error *error) {
  const char *const words[] = {
      "kubectl",  "get",  "jobs.batch,pods", "--selector", OURS, "--namespace", namespace,
      "--output", "json", REQUEST_TIMEOUT,   NULL};
  ep_slurm_child child = {0};
  ep_status status = kubectl_run(words, NULL, &child, error);
  if (status == EP_OK)
    status = ep_kubernetes_jobs_parse(child.output, child.output_bytes, namespace, out, error);
  ep_slurm_child_deinit(&child);
  return status;
}

/* By their names: to select Secrets by a label takes the right to read all of them. */
ep_status ep_kubernetes_delete(const char *namespace, const char *worker, bool job,
                               ep_error *error) {
  char name[EP_KUBERNETES_NAME_BYTES], secret[OBJECT_BYTES], object[OBJECT_BYTES];
  ep_slurm_child child = {0};
  ep_kubernetes_name(worker, name);
  snprintf(secret, sizeof secret, "secrets/%s", name);
  snprintf(object, sizeof object, "jobs.batch/%s", name);
  const char *const words[] = {"kubectl",           "delete",  "--ignore-not-found", "--wait=false",
                               "--namespace",       namespace, REQUEST_TIMEOUT,      secret,
                               job ? object : NULL, NULL};
  ep_status status = kubectl_run(words, NULL, &child, error);
  ep_slurm_child_deinit(&child);
  return status;
}
