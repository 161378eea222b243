#include "server/kubernetes/manifest.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/json/memory.h"
#include "api/limits.h"

#define VOLUME "epochd-connection"
#define WORKER_PROGRAM "/usr/lib/epochd/epoch-worker" /* in epochd's image */
enum { KEPT_SECONDS = 600, FILE_MODE = 0440 };        /* kept: a Job that has ended */

void ep_kubernetes_name(const char *worker, char name[EP_KUBERNETES_NAME_BYTES]) {
  const char *random = strchr(worker, '_');
  snprintf(name, EP_KUBERNETES_NAME_BYTES, "epochd-worker-%.*s", EP_ID_BYTES - 1,
           random ? random + 1 : worker);
}

/* The object at the key, which is made where there is none. NULL: memory is short. Lent. */
static json_t *object_at(json_t *object, const char *key) {
  json_t *there = json_object_get(object, key);
  if (json_is_object(there)) return there;
  return json_object_set_new(object, key, json_object()) == 0 ? json_object_get(object, key) : NULL;
}

static json_t *array_at(json_t *object, const char *key) {
  json_t *there = json_object_get(object, key);
  if (json_is_array(there)) return there;
  return json_object_set_new(object, key, json_array()) == 0 ? json_object_get(object, key) : NULL;
}

/* value: given away. Kept: what is there. */
static bool set(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) == 0;
}

static bool set_default(json_t *object, const char *key, json_t *value) {
  if (!json_object_get(object, key)) return set(object, key, value);
  json_decref(value);
  return true;
}

static json_t *pod_spec_of(const json_t *job) {
  const json_t *template = json_object_get(json_object_get(job, "spec"), "template");
  return json_object_get(template, "spec");
}

static json_t *container_of(const json_t *job) {
  return json_array_get(json_object_get(pod_spec_of(job), "containers"), 0);
}

static ep_status template_load(const char *template, size_t bytes, json_t **out, ep_error *error) {
  ep_status status = ep_json_load(template, bytes, EP_LIMIT_KUBERNETES_TEMPLATE_BYTES, out, error);
  if (status != EP_OK) return status;
  const char *kind = json_string_value(json_object_get(*out, "kind"));
  const json_t *container = container_of(*out);
  if (!kind || strcmp(kind, "Job") != 0)
    status = ep_fail(error, EP_INVALID, "its kind is \"%.40s\": it must be Job", kind ? kind : "");
  else if (!json_is_string(json_object_get(container, "image")))
    status = ep_fail(error, EP_INVALID, "spec.template.spec.containers[0].image is missing");
  if (status == EP_OK) return EP_OK;
  json_decref(*out);
  *out = NULL;
  return status;
}

ep_status ep_kubernetes_template_check(const char *template, size_t bytes, ep_error *error) {
  json_t *job = NULL;
  ep_status status = template_load(template, bytes, &job, error);
  json_decref(job);
  return status;
}

static bool metadata_set(json_t *object, const char *worker) {
  json_t *labels = object_at(object_at(object, "metadata"), "labels");
  return set(labels, EP_KUBERNETES_MANAGED, json_string("epochd")) &&
         set(labels, EP_KUBERNETES_LABEL, json_string(worker));
}

static bool names_set(json_t *object, const char *name, const char *namespace) {
  json_t *metadata = object_at(object, "metadata");
  json_object_del(metadata, "generateName");
  return set(metadata, "name", json_string(name)) &&
         set(metadata, "namespace", json_string(namespace));
}

/* Memory has a limit, as more than was asked for would be taken from others; cores have none, as
 * those that idle are free. */
static bool resources_set(json_t *container, const ep_slurm_request *request) {
  json_t *resources = object_at(container, "resources");
  json_t *requests = object_at(resources, "requests"), *limits = object_at(resources, "limits");
  char memory[32];
  const long long mib = (long long)((request->memory_bytes + (1 << 20) - 1) >> 20);
  snprintf(memory, sizeof memory, "%lldMi", mib);
  const bool named = json_object_get(requests, "memory") || json_object_get(limits, "memory");
  if (mib > 0 && !named &&
      !(set(requests, "memory", json_string(memory)) && set(limits, "memory", json_string(memory))))
    return false;
  if (request->cpus < 1 || json_object_get(limits, "cpu")) return true;
  return set_default(requests, "cpu", json_integer(request->cpus));
}

static bool container_set(json_t *container, const ep_slurm_request *request) {
  return set_default(container, "name", json_string("worker")) &&
         set_default(container, "command", json_pack("[s]", WORKER_PROGRAM)) &&
         set(container, "args", json_pack("[s, s]", "--connect", EP_KUBERNETES_CONNECTION)) &&
         resources_set(container, request) &&
         json_array_append_new(array_at(container, "volumeMounts"),
                               json_pack("{s: s, s: s, s: b}", "name", VOLUME, "mountPath",
                                         EP_KUBERNETES_FOLDER, "readOnly", 1)) == 0;
}

/* A second Pod would have a secret that was used: epochd submits another worker. */
static bool job_set(json_t *job, const char *worker, const char *name, const char *namespace,
                    const ep_slurm_request *request) {
  json_t *spec = json_object_get(job, "spec"), *pod = pod_spec_of(job);
  json_object_del(spec, "completionMode");
  return names_set(job, name, namespace) && metadata_set(job, worker) &&
         metadata_set(json_object_get(spec, "template"), worker) &&
         set(spec, "backoffLimit", json_integer(0)) && set(spec, "completions", json_integer(1)) &&
         set(spec, "parallelism", json_integer(1)) &&
         set_default(spec, "ttlSecondsAfterFinished", json_integer(KEPT_SECONDS)) &&
         set(pod, "restartPolicy", json_string("Never")) &&
         set_default(pod, "automountServiceAccountToken", json_false()) &&
         json_array_append_new(array_at(pod, "volumes"),
                               json_pack("{s: s, s: {s: s, s: i}}", "name", VOLUME, "secret",
                                         "secretName", name, "defaultMode", FILE_MODE)) == 0 &&
         container_set(container_of(job), request);
}

static json_t *secret_make(const char *name, const char *namespace,
                           const ep_kubernetes_worker *worker) {
  json_t *secret =
      json_pack("{s: s, s: s, s: s, s: b, s: {s: s}}", "apiVersion", "v1", "kind", "Secret", "type",
                "Opaque", "immutable", 1, "stringData", EP_KUBERNETES_FILE, worker->connection);
  if (secret && names_set(secret, name, namespace) && metadata_set(secret, worker->worker))
    return secret;
  json_decref(secret);
  return NULL;
}

static bool worker_add(json_t *items, const json_t *template, const char *namespace,
                       const ep_slurm_request *request, const ep_kubernetes_worker *worker) {
  char name[EP_KUBERNETES_NAME_BYTES];
  ep_kubernetes_name(worker->worker, name);
  json_t *job = json_deep_copy(template);
  return json_array_append_new(items, secret_make(name, namespace, worker)) == 0 &&
         json_array_append_new(items, job) == 0 &&
         job_set(job, worker->worker, name, namespace, request);
}

ep_status ep_kubernetes_manifest(const char *template, size_t bytes, const char *namespace,
                                 const ep_slurm_request *request,
                                 const ep_kubernetes_worker *workers, int count, char **text,
                                 ep_error *error) {
  json_t *job = NULL;
  *text = NULL;
  ep_status status = template_load(template, bytes, &job, error);
  if (status != EP_OK) return status;
  json_t *items = json_array();
  json_t *list =
      json_pack("{s: s, s: s, s: o}", "apiVersion", "v1", "kind", "List", "items", items);
  bool made = list != NULL;
  for (int i = 0; made && i < count; i++)
    made = worker_add(items, job, namespace, request, &workers[i]);
  if (made) *text = ep_json_write(list, JSON_COMPACT);
  json_decref(list);
  json_decref(job);
  return *text ? EP_OK : ep_fail_memory(error);
}
