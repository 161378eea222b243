#include "server/kubernetes/answers.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"
#include "api/limits.h"
#include "server/kubernetes/manifest.h"
#include "server/slurm/values.h"

enum { TEXT_BYTES = EP_SLURM_REASON_BYTES };

/* What is known of one worker, from its Job and from its Pods. */
typedef struct {
  ep_slurm_job job; /* phase and state: of the Pod that is furthest */
  bool has_job, has_pod, suspended, over;
  char suspension[TEXT_BYTES];
} sighting;

typedef struct {
  sighting *seen; /* [count] */
  int count, capacity;
} collection;

/* "reason: message" of a condition or of a container's state. */
static void reason_copy(const json_t *object, char *text, size_t bytes) {
  char reason[TEXT_BYTES], message[TEXT_BYTES];
  ep_slurm_text(object, "reason", reason, sizeof reason);
  ep_slurm_text(object, "message", message, sizeof message);
  snprintf(text, bytes, "%.*s%s%.*s", (int)bytes / 2, reason, reason[0] && message[0] ? ": " : "",
           (int)bytes / 2 - 3, message);
}

/* The condition of the type that is "True" or "False". NULL: there is none. Lent. */
static const json_t *condition_find(const json_t *status, const char *type, const char *value) {
  const json_t *conditions = json_object_get(status, "conditions");
  for (size_t i = 0; i < json_array_size(conditions); i++) {
    const json_t *one = json_array_get(conditions, i);
    if (ep_slurm_has_word(one, "type", type) && ep_slurm_has_word(one, "status", value)) return one;
  }
  return NULL;
}

static void job_note(sighting *to, const json_t *entry) {
  const json_t *status = json_object_get(entry, "status");
  const json_t *complete = condition_find(status, "Complete", "True");
  const json_t *failed = condition_find(status, "Failed", "True");
  to->has_job = true;
  to->over = complete || failed;
  if (!to->has_pod && to->over)
    snprintf(to->job.state, sizeof to->job.state, "%s", failed ? "Failed" : "Complete");
  if (!to->has_pod && failed) reason_copy(failed, to->job.reason, sizeof to->job.reason);
  to->suspended = json_is_true(json_object_get(json_object_get(entry, "spec"), "suspend"));
  const json_t *why = condition_find(status, "Suspended", "True");
  if (to->suspended && why) {
    char message[TEXT_BYTES];
    ep_slurm_text(why, "message", message, sizeof message);
    snprintf(to->suspension, sizeof to->suspension, "Suspended%s%.200s", message[0] ? ": " : "",
             message);
  } else if (to->suspended) {
    snprintf(to->suspension, sizeof to->suspension, "Suspended");
  }
}

/* Why a Pod waits: it has no node, or a container's image or volume is not there. */
static void waiting_read(const json_t *status, ep_slurm_job *job) {
  static const char *const LISTS[] = {"initContainerStatuses", "containerStatuses"};
  const json_t *unscheduled = condition_find(status, "PodScheduled", "False");
  if (unscheduled) reason_copy(unscheduled, job->reason, sizeof job->reason);
  for (size_t list = 0; list < sizeof LISTS / sizeof *LISTS; list++) {
    const json_t *containers = json_object_get(status, LISTS[list]);
    for (size_t i = 0; !job->reason[0] && i < json_array_size(containers); i++) {
      const json_t *state = json_object_get(json_array_get(containers, i), "state");
      reason_copy(json_object_get(state, "waiting"), job->reason, sizeof job->reason);
    }
  }
}

/* How its first container that has ended did so: "OOMKilled", "Error". */
static void end_read(const json_t *status, ep_slurm_job *job) {
  const json_t *containers = json_object_get(status, "containerStatuses");
  ep_slurm_text(status, "reason", job->state, sizeof job->state); /* "Evicted" */
  for (size_t i = 0; i < json_array_size(containers); i++) {
    const json_t *state = json_object_get(json_array_get(containers, i), "state");
    const json_t *ended = json_object_get(state, "terminated");
    if (!ended) continue;
    if (!job->state[0]) ep_slurm_text(ended, "reason", job->state, sizeof job->state);
    job->exit_code = (int)ep_slurm_count(ended, "exitCode", 255);
    break;
  }
}

static ep_slurm_phase pod_phase(const char *word) {
  if (strcmp(word, "Pending") == 0) return EP_SLURM_PENDING;
  return strcmp(word, "Succeeded") == 0 || strcmp(word, "Failed") == 0 ? EP_SLURM_ENDED
                                                                       : EP_SLURM_RUNNING;
}

/* Of several Pods of a worker one that has not ended counts. */
static void pod_note(sighting *to, const json_t *entry) {
  const json_t *status = json_object_get(entry, "status");
  char word[EP_SLURM_STATE_BYTES];
  ep_slurm_text(status, "phase", word, sizeof word);
  const ep_slurm_phase phase = pod_phase(word);
  ep_slurm_job *job = &to->job;
  if (to->has_pod && (job->phase != EP_SLURM_ENDED || phase == EP_SLURM_ENDED)) return;
  to->has_pod = true;
  job->phase = phase;
  job->state[0] = job->reason[0] = 0;
  ep_slurm_text(json_object_get(entry, "spec"), "nodeName", job->node, sizeof job->node);
  if (phase == EP_SLURM_PENDING) waiting_read(status, job);
  if (phase == EP_SLURM_ENDED) end_read(status, job);
  if (!job->state[0]) snprintf(job->state, sizeof job->state, "%s", word[0] ? word : "Unknown");
}

static ep_status sighting_find(collection *to, const char *worker, sighting **out,
                               ep_error *error) {
  for (int i = 0; i < to->count; i++) {
    *out = &to->seen[i];
    if (strcmp(to->seen[i].job.worker, worker) == 0) return EP_OK;
  }
  if (to->count == EP_LIMIT_KUBERNETES_JOBS)
    return ep_fail(error, EP_TOO_LARGE, "the namespace has more than %d workers of epochd",
                   EP_LIMIT_KUBERNETES_JOBS);
  if (to->count == to->capacity) {
    int capacity = to->capacity * 2 + 16;
    sighting *grown = realloc(to->seen, (size_t)capacity * sizeof *grown);
    if (!grown) return ep_fail_memory(error);
    to->seen = grown;
    to->capacity = capacity;
  }
  *out = &to->seen[to->count++];
  memset(*out, 0, sizeof **out);
  snprintf((*out)->job.worker, sizeof(*out)->job.worker, "%s", worker);
  return EP_OK;
}

static ep_status entry_take(void *context, int key, const json_t *entry, ep_error *error) {
  char kind[16], worker[EP_ID_BYTES];
  const json_t *labels = json_object_get(json_object_get(entry, "metadata"), "labels");
  (void)key;
  ep_slurm_text(entry, "kind", kind, sizeof kind);
  if (!ep_json_get_text(labels, EP_KUBERNETES_LABEL, worker, sizeof worker) || !worker[0])
    return EP_OK;
  const bool job = strcmp(kind, "Job") == 0;
  if (!job && strcmp(kind, "Pod") != 0) return EP_OK;
  sighting *to = NULL;
  ep_status status = sighting_find(context, worker, &to, error);
  if (status != EP_OK) return status;
  if (job)
    job_note(to, entry);
  else
    pod_note(to, entry);
  return EP_OK;
}

/* A Job without a Pod waits; a Pod without its Job is being deleted. */
static void settle(sighting *from, const char *namespace) {
  ep_slurm_job *job = &from->job;
  job->job = 1;
  job->task = -1;
  snprintf(job->partition, sizeof job->partition, "%s", namespace);
  if (!from->has_pod) {
    job->phase = EP_SLURM_PENDING;
    if (!job->state[0]) snprintf(job->state, sizeof job->state, "Pending");
    if (!from->over)
      snprintf(job->reason, sizeof job->reason, "%s",
               from->suspended ? from->suspension : "its Job has no Pod so far");
  }
  if (from->over) job->phase = EP_SLURM_ENDED;
  if (!from->has_job && job->phase != EP_SLURM_ENDED) job->phase = EP_SLURM_ENDING;
}

static ep_status jobs_append(const collection *from, const char *namespace, ep_slurm_jobs *out,
                             ep_error *error) {
  if (from->count == 0) return EP_OK;
  ep_slurm_job *grown = realloc(out->jobs, (size_t)(out->count + from->count) * sizeof *grown);
  if (!grown) return ep_fail_memory(error);
  out->jobs = grown;
  for (int i = 0; i < from->count; i++) {
    settle(&from->seen[i], namespace);
    out->jobs[out->count++] = from->seen[i].job;
  }
  return EP_OK;
}

ep_status ep_kubernetes_jobs_parse(const char *text, size_t bytes, const char *namespace,
                                   ep_slurm_jobs *out, ep_error *error) {
  static const char *const KEYS[] = {"items", NULL};
  collection seen = {0};
  ep_status status = ep_slurm_list_walk(text, bytes, KEYS, entry_take, &seen, error);
  if (status == EP_OK) status = jobs_append(&seen, namespace, out, error);
  free(seen.seen);
  return status;
}
