#include "server/slurm/request.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/limits.h"
#include "api/spec/slurm.h"

enum { SPARE_MINUTES = 10, MINUTES_MOST = 1 << 24 };

static int64_t least_limit(int64_t a, int64_t b) {
  return a > 0 && (b == 0 || a < b) ? a : b;
}

static int64_t memory_find(const ep_slurm_need *need) {
  int64_t bytes;
  if (need->bytes < 0 || __builtin_add_overflow(need->bytes, need->bytes / 4, &bytes) ||
      __builtin_add_overflow(bytes, (int64_t)EP_LIMIT_SLURM_SLACK_BYTES, &bytes))
    return INT64_MAX;
  return bytes;
}

static ep_status memory_fill(const ep_slurm_need *need, const ep_slurm_partition *partition,
                             ep_slurm_request *out, ep_error *error) {
  const int64_t most = least_limit(partition->max_node_memory_bytes, partition->node_memory_bytes);
  out->memory_bytes = memory_find(need);
  if (most == 0 || out->memory_bytes <= most) return EP_OK;
  return ep_fail_at(error, EP_INVALID, "/model",
                    "a worker for this job requests %lld MiB of memory, and partition \"%s\" "
                    "allows %lld MiB per node: use fewer parameters or rows",
                    (long long)(out->memory_bytes >> 20), partition->name, (long long)(most >> 20));
}

/* Fewer cores than it could use are no fault: it is slower. */
static void cores_fill(const ep_slurm_need *need, const ep_slurm_partition *partition,
                       ep_slurm_request *out) {
  const int most = (int)least_limit(partition->max_node_cpus, partition->node_cpus);
  out->cpus = need->cores > 0 ? need->cores : 1;
  if (most > 0 && out->cpus > most) out->cpus = most;
}

static ep_status gpus_fill(const ep_slurm_need *need, const ep_slurm_spec *spec,
                           const ep_slurm_partition *partition, ep_slurm_request *out,
                           ep_error *error) {
  const bool named = spec->gres[0] != 0;
  int gpus = named ? ep_slurm_gpus_parse(spec->gres) : need->gpus;
  snprintf(out->gres, sizeof out->gres, "%s", spec->gres);
  if (!named) out->gpus = gpus > 0 ? gpus : partition->node_gpus_least > 0;
  if (!named) gpus = out->gpus;
  if (gpus <= partition->node_gpus) return EP_OK;
  return ep_fail_at(error, EP_INVALID, named ? "/slurm/gres" : "/parallel/data",
                    "requests %d GPUs per node, and a node of partition \"%s\" has at most %d",
                    gpus, partition->name, partition->node_gpus);
}

static ep_status nodes_given(const ep_slurm_need *need, const ep_slurm_spec *spec,
                             const ep_slurm_partition *partition, int most,
                             const ep_slurm_request *out, ep_error *error) {
  const char *at = "/slurm/nodes";
  const long long nodes = (long long)spec->nodes;
  if (need->ranks > 0 && nodes > need->ranks)
    return ep_fail_at(error, EP_INVALID, at,
                      "%lld nodes for %d rank%s: each node has at least one: \"parallel\" has more",
                      nodes, need->ranks, need->ranks == 1 ? "" : "s");
  if (nodes > most)
    return ep_fail_at(error, EP_INVALID, at, "%lld nodes are more than partition \"%s\" allows: %d",
                      nodes, partition->name, most);
  if (nodes > 1 && (out->gpus > 0 || out->gres[0]))
    return ep_fail_at(error, EP_INVALID, at,
                      "ranks on several nodes train on CPUs, and a worker of partition \"%s\" has "
                      "GPUs: remove \"nodes\", or use a partition without GPUs",
                      partition->name);
  return EP_OK;
}

/* After the cores of one node and the GPUs. */
static ep_status nodes_fill(const ep_slurm_need *need, const ep_slurm_spec *spec,
                            const ep_slurm_partition *partition, ep_slurm_request *out,
                            ep_error *error) {
  const int64_t limit = least_limit(partition->max_nodes, partition->nodes);
  const int most = limit > 0 ? (int)limit : 1;
  const bool spreads = need->ranks > 1 && out->gpus == 0 && !out->gres[0];
  ep_status status = nodes_given(need, spec, partition, most, out, error);
  out->nodes = spec->nodes > 0 ? (int)spec->nodes : 1;
  if (status != EP_OK) return status;
  if (spec->nodes == 0 && spreads && need->ranks > out->cpus) {
    const int wanted = (need->ranks + out->cpus - 1) / out->cpus;
    out->nodes = wanted < most ? wanted : most;
  }
  if (out->nodes > 1 && need->ranks > 0) {
    const int each = (need->ranks + out->nodes - 1) / out->nodes;
    if (each < out->cpus) out->cpus = each;
  }
  return EP_OK;
}

/* Minutes as Slurm writes them. */
static void minutes_text(int64_t minutes, char text[32]) {
  snprintf(text, 32, "%lld:%02lld:00", (long long)(minutes / 60), (long long)(minutes % 60));
}

static ep_status time_fill(const ep_slurm_need *need, const ep_slurm_spec *spec,
                           const ep_slurm_partition *partition, ep_slurm_request *out,
                           ep_error *error) {
  const int64_t most = partition->max_minutes;
  if (spec->time[0]) {
    char limit[32];
    ep_slurm_minutes_parse(spec->time, &out->minutes); /* api/spec has looked at it */
    if (most == 0 || out->minutes <= most) return EP_OK;
    minutes_text(most, limit);
    return ep_fail_at(error, EP_INVALID, "/slurm/time",
                      "\"%s\" is more than partition \"%s\" allows: %s", spec->time,
                      partition->name, limit);
  }
  const double minutes = 2 * need->seconds / 60 + SPARE_MINUTES;
  if (!isfinite(minutes) || minutes > MINUTES_MOST)
    out->minutes = most > 0 ? most : partition->default_minutes;
  else
    out->minutes = least_limit(most, (int64_t)ceil(minutes));
  return EP_OK;
}

/* "" of a list: everybody. */
static bool list_has(const char *list, const char *name) {
  const size_t length = strlen(name);
  if (!list[0] || length == 0) return true;
  for (const char *at = list; *at;) {
    const size_t part = strcspn(at, ",");
    if (part == length && strncmp(at, name, length) == 0) return true;
    at += part + (at[part] == ',');
  }
  return false;
}

static ep_status names_fill(const ep_slurm_spec *spec, const ep_slurm_defaults *defaults,
                            const ep_slurm_partition *partition, ep_slurm_request *out,
                            ep_error *error) {
  snprintf(out->partition, sizeof out->partition, "%s", partition->name);
  snprintf(out->account, sizeof out->account, "%s",
           spec->account[0] ? spec->account : defaults->account);
  snprintf(out->qos, sizeof out->qos, "%s", spec->qos[0] ? spec->qos : defaults->qos);
  snprintf(out->constraint, sizeof out->constraint, "%s", spec->constraint);
  if (!list_has(partition->accounts, out->account))
    return ep_fail_at(error, EP_INVALID, "/slurm/account",
                      "partition \"%s\" is for the accounts %s", partition->name,
                      partition->accounts);
  if (!list_has(partition->qos, out->qos))
    return ep_fail_at(error, EP_INVALID, "/slurm/qos", "partition \"%s\" takes the qualities %s",
                      partition->name, partition->qos);
  return EP_OK;
}

ep_status ep_slurm_request_make(const ep_slurm_need *need, const ep_slurm_spec *spec,
                                const ep_slurm_defaults *defaults,
                                const ep_slurm_partition *partition, ep_slurm_request *out,
                                ep_error *error) {
  memset(out, 0, sizeof *out);
  ep_status status = names_fill(spec, defaults, partition, out, error);
  cores_fill(need, partition, out);
  if (status == EP_OK) status = memory_fill(need, partition, out, error);
  if (status == EP_OK) status = gpus_fill(need, spec, partition, out, error);
  if (status == EP_OK) status = nodes_fill(need, spec, partition, out, error);
  if (status == EP_OK) status = time_fill(need, spec, partition, out, error);
  return status;
}

static int nodes_of(const ep_slurm_request *request) {
  return request->nodes > 1 ? request->nodes : 1;
}

bool ep_slurm_request_holds(const ep_slurm_request *has, const ep_slurm_request *needed) {
  if (!has->partition[0] || !needed->partition[0]) return true;
  return strcmp(has->partition, needed->partition) == 0 &&
         strcmp(has->account, needed->account) == 0 && strcmp(has->qos, needed->qos) == 0 &&
         strcmp(has->constraint, needed->constraint) == 0 && strcmp(has->gres, needed->gres) == 0 &&
         nodes_of(has) == nodes_of(needed) && has->gpus >= needed->gpus &&
         has->cpus >= needed->cpus &&
         has->memory_bytes + EP_LIMIT_SLURM_SLACK_BYTES / 2 >= needed->memory_bytes;
}
