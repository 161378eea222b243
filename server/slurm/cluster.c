/* cluster.c: partitions of scontrol, nodes of sinfo --json. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/limits.h"
#include "api/spec/slurm.h"
#include "server/slurm/answers.h"
#include "server/slurm/values.h"

enum { COUNT_MOST = 1 << 24, VALUE_BYTES = 512 };

typedef struct {
  int partitions_capacity, nodes_capacity;
  ep_slurm_cluster *out;
} collection;

/* NULL after adding an error. */
static void *grown(void *list, int count, int *capacity, size_t size, int most, const char *what,
                   ep_error *error) {
  if (count < *capacity) return list;
  if (count >= most) {
    ep_fail(error, EP_TOO_LARGE, "Slurm has more than %d %s", most, what);
    return NULL;
  }
  int wanted = *capacity * 2 + 16;
  void *moved = realloc(list, (size_t)wanted * size);
  if (!moved)
    ep_fail_memory(error);
  else
    *capacity = wanted;
  return moved;
}

/* "Key=value" among words apart by spaces. False: it is not there, or says that there is none. */
static bool word_find(const char *line, const char *end, const char *key, char *value,
                      size_t value_bytes) {
  const size_t length = strlen(key);
  for (const char *at = line; at < end;) {
    const char *stop = memchr(at, ' ', (size_t)(end - at));
    if (!stop) stop = end;
    if ((size_t)(stop - at) > length && at[length] == '=' && memcmp(at, key, length) == 0) {
      size_t bytes = (size_t)(stop - at) - length - 1;
      if (bytes >= value_bytes) bytes = value_bytes - 1;
      memcpy(value, at + length + 1, bytes);
      value[bytes] = 0;
      return value[0] && strcmp(value, "(null)") != 0 && strcmp(value, "N/A") != 0;
    }
    at = stop + 1;
  }
  return false;
}

static int64_t number_find(const char *line, const char *end, const char *key, int64_t most) {
  char value[VALUE_BYTES], *rest;
  if (!word_find(line, end, key, value, sizeof value) || !isdigit((unsigned char)value[0]))
    return 0;
  long long number = strtoll(value, &rest, 10);
  if (*rest == 'K' || *rest == 'k') number = number <= INT32_MAX ? number * 1024 : most;
  return number < most ? number : most;
}

static void names_find(const char *line, const char *end, const char *key, char *names,
                       size_t names_bytes) {
  if (!word_find(line, end, key, names, names_bytes) || strcmp(names, "ALL") == 0) names[0] = 0;
}

static int64_t minutes_find(const char *line, const char *end, const char *key) {
  char value[VALUE_BYTES];
  int64_t minutes = 0;
  if (!word_find(line, end, key, value, sizeof value) || !ep_slurm_minutes_parse(value, &minutes))
    return 0;
  return minutes;
}

static bool partition_read(const char *line, const char *end, ep_slurm_partition *out) {
  char value[VALUE_BYTES];
  memset(out, 0, sizeof *out);
  if (!word_find(line, end, "PartitionName", value, sizeof value) ||
      strlen(value) >= sizeof out->name)
    return false;
  memcpy(out->name, value, strlen(value) + 1);
  out->up = word_find(line, end, "State", value, sizeof value) && strcmp(value, "UP") == 0;
  out->max_minutes = minutes_find(line, end, "MaxTime");
  out->default_minutes = minutes_find(line, end, "DefaultTime");
  out->max_nodes = (int)number_find(line, end, "MaxNodes", COUNT_MOST);
  out->max_node_cpus = (int)number_find(line, end, "MaxCPUsPerNode", COUNT_MOST);
  out->max_node_memory_bytes = number_find(line, end, "MaxMemPerNode", 1LL << 40) << 20;
  names_find(line, end, "AllowAccounts", out->accounts, sizeof out->accounts);
  names_find(line, end, "AllowQos", out->qos, sizeof out->qos);
  return true;
}

static ep_status partitions_read(collection *to, const char *text, size_t bytes, ep_error *error) {
  ep_slurm_cluster *out = to->out;
  const char *end = text + bytes;
  for (const char *line = text; line < end;) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) stop = end;
    ep_slurm_partition partition;
    if (partition_read(line, stop, &partition)) {
      ep_slurm_partition *list =
          grown(out->partitions, out->partitions_count, &to->partitions_capacity, sizeof *list,
                EP_LIMIT_SLURM_PARTITIONS, "partitions", error);
      if (!list) return error ? error->status : EP_NO_MEMORY;
      out->partitions = list;
      list[out->partitions_count++] = partition;
    }
    line = stop + 1;
  }
  return EP_OK;
}

/* Down and leaving, in the words of all versions: 22.05 has a state and flags of their own. */
static void state_read(const json_t *entry, const char *key, ep_slurm_node *node) {
  static const char *const DOWN[] = {"DOWN",          "NOT_RESPONDING", "POWERED_DOWN",
                                     "POWERING_DOWN", "POWER_DOWN",     "FAIL",
                                     "UNKNOWN",       "INVALID_REG",    "ERROR"};
  static const char *const LEAVING[] = {"DRAIN",     "DRAINED",          "DRAINING",
                                        "FAILING",   "REBOOT_REQUESTED", "REBOOT_ISSUED",
                                        "REBOOTING", "MAINTENANCE"};
  for (size_t i = 0; i < sizeof DOWN / sizeof *DOWN; i++)
    if (ep_slurm_has_word(entry, key, DOWN[i])) node->down = true;
  for (size_t i = 0; i < sizeof LEAVING / sizeof *LEAVING; i++)
    if (ep_slurm_has_word(entry, key, LEAVING[i])) node->leaving = true;
}

static ep_status node_add(collection *to, const ep_slurm_node *node, ep_error *error) {
  ep_slurm_cluster *out = to->out;
  ep_slurm_node *list = grown(out->nodes, out->nodes_count, &to->nodes_capacity, sizeof *list,
                              EP_LIMIT_SLURM_NODES, "nodes", error);
  if (!list) return error ? error->status : EP_NO_MEMORY;
  out->nodes = list;
  list[out->nodes_count++] = *node;
  return EP_OK;
}

static void partition_count(ep_slurm_cluster *out, const char *name, const ep_slurm_node *node) {
  ep_slurm_partition *partition = (ep_slurm_partition *)ep_slurm_partition_find(out, name);
  if (!partition) return;
  if (partition->nodes == 0 || node->gpus < partition->node_gpus_least)
    partition->node_gpus_least = node->gpus;
  partition->nodes++;
  if (node->cpus > partition->node_cpus) partition->node_cpus = node->cpus;
  if (node->gpus > partition->node_gpus) partition->node_gpus = node->gpus;
  if (node->memory_bytes > partition->node_memory_bytes)
    partition->node_memory_bytes = node->memory_bytes;
  if (node->down || node->leaving) {
    partition->nodes_unavailable++;
    return;
  }
  partition->nodes_idle += node->cpus_idle == node->cpus;
  partition->cpus += node->cpus;
  partition->cpus_idle += node->cpus_idle;
  partition->gpus += node->gpus;
  partition->gpus_idle += node->gpus_idle;
}

static void gpus_read(const json_t *entry, const char *all, const char *used, ep_slurm_node *node) {
  const char *there = json_string_value(json_object_get(entry, all));
  const char *taken = json_string_value(json_object_get(entry, used));
  node->gpus = ep_slurm_gpus_parse(there ? there : "");
  int busy = ep_slurm_gpus_parse(taken ? taken : "");
  node->gpus_idle = busy < node->gpus ? node->gpus - busy : 0;
}

/* 22.05's entry: a node, and the partitions that it is in. */
static ep_status node_take(collection *to, const json_t *entry, ep_error *error) {
  ep_slurm_node node = {0};
  ep_slurm_text(entry, "name", node.name, sizeof node.name);
  if (!node.name[0]) return EP_OK;
  ep_slurm_text(entry, "reason", node.reason, sizeof node.reason);
  state_read(entry, "state", &node);
  state_read(entry, "state_flags", &node);
  node.cpus = (int)ep_slurm_count(entry, "cpus", COUNT_MOST);
  int busy = (int)ep_slurm_count(entry, "alloc_cpus", COUNT_MOST);
  node.cpus_idle = busy < node.cpus ? node.cpus - busy : 0;
  node.memory_bytes = ep_slurm_count(entry, "real_memory", 1LL << 40) << 20;
  gpus_read(entry, "gres", "gres_used", &node);
  const json_t *partitions = json_object_get(entry, "partitions");
  for (size_t i = 0; i < json_array_size(partitions); i++) {
    const char *name = json_string_value(json_array_get(partitions, i));
    if (name) partition_count(to->out, name, &node);
  }
  return node_add(to, &node, error);
}

/* Newer versions' entry: nodes of one partition that are alike, one with --Node; a node that is in
 * several partitions has several entries. */
static ep_status group_take(collection *to, const json_t *entry, ep_error *error) {
  ep_slurm_node node = {0};
  char partition[EP_SLURM_NAME_BYTES];
  const json_t *cpus = json_object_get(entry, "cpus");
  const json_t *names = json_object_get(json_object_get(entry, "nodes"), "nodes");
  const int count = (int)json_array_size(names);
  ep_slurm_text(json_object_get(entry, "partition"), "name", partition, sizeof partition);
  state_read(json_object_get(entry, "node"), "state", &node);
  ep_slurm_text(json_object_get(entry, "reason"), "description", node.reason, sizeof node.reason);
  node.cpus = (int)ep_slurm_count(cpus, "maximum", COUNT_MOST);
  node.cpus_idle = count ? (int)ep_slurm_count(cpus, "idle", COUNT_MOST) / count : 0;
  node.memory_bytes = ep_slurm_count(json_object_get(entry, "memory"), "maximum", 1LL << 40) << 20;
  gpus_read(json_object_get(entry, "gres"), "total", "used", &node);
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < count; i++) {
    const char *name = json_string_value(json_array_get(names, (size_t)i));
    if (!name || !name[0] || strlen(name) >= sizeof node.name) continue;
    memcpy(node.name, name, strlen(name) + 1);
    partition_count(to->out, partition, &node);
    status = node_add(to, &node, error);
  }
  return status;
}

static ep_status entry_take(void *context, int key, const json_t *entry, ep_error *error) {
  return key == 0 ? node_take(context, entry, error) : group_take(context, entry, error);
}

static int node_compare(const void *a, const void *b) {
  return strcmp(((const ep_slurm_node *)a)->name, ((const ep_slurm_node *)b)->name);
}

/* By name, each once. */
static void nodes_sort(ep_slurm_cluster *out) {
  int used = 0;
  if (out->nodes_count == 0) return;
  qsort(out->nodes, (size_t)out->nodes_count, sizeof *out->nodes, node_compare);
  for (int i = 1; i < out->nodes_count; i++)
    if (strcmp(out->nodes[i].name, out->nodes[used].name) != 0) out->nodes[++used] = out->nodes[i];
  out->nodes_count = used + 1;
}

ep_status ep_slurm_cluster_parse(const char *partitions, size_t partitions_bytes, const char *nodes,
                                 size_t nodes_bytes, ep_slurm_cluster *out, ep_error *error) {
  static const char *const KEYS[] = {"nodes", "sinfo", NULL};
  *out = (ep_slurm_cluster){0};
  collection to = {.out = out};
  ep_status status = partitions_read(&to, partitions, partitions_bytes, error);
  if (status == EP_OK)
    status = ep_slurm_list_walk(nodes, nodes_bytes, KEYS, entry_take, &to, error);
  if (status == EP_OK)
    nodes_sort(out);
  else
    ep_slurm_cluster_free(out);
  return status;
}

void ep_slurm_cluster_free(ep_slurm_cluster *cluster) {
  free(cluster->partitions);
  free(cluster->nodes);
  *cluster = (ep_slurm_cluster){0};
}

const ep_slurm_partition *ep_slurm_partition_find(const ep_slurm_cluster *cluster,
                                                  const char *name) {
  for (int i = 0; i < cluster->partitions_count; i++)
    if (strcmp(cluster->partitions[i].name, name) == 0) return &cluster->partitions[i];
  return NULL;
}

const ep_slurm_node *ep_slurm_node_find(const ep_slurm_cluster *cluster, const char *name) {
  ep_slurm_node key;
  if (strlen(name) >= sizeof key.name || cluster->nodes_count == 0) return NULL;
  memcpy(key.name, name, strlen(name) + 1);
  return bsearch(&key, cluster->nodes, (size_t)cluster->nodes_count, sizeof key, node_compare);
}

/* name[:type]:count, further ones after commas; "(S:0,1)" and "(IDX:0-1)" name sockets and devices.
 */
int ep_slurm_gpus_parse(const char *gres) {
  int64_t sum = 0;
  for (const char *at = gres; *at;) {
    const char *count = NULL, *begin = at;
    int depth = 0;
    for (; *at && (*at != ',' || depth > 0); at++) {
      if (*at == ':' && depth == 0) count = at + 1;
      depth += (*at == '(') - (*at == ')' && depth > 0);
    }
    int64_t number = 1; /* "gpu:a100" */
    if (strncmp(begin, "gpu", 3) == 0 && (begin[3] == ':' || begin[3] == ',' || !begin[3])) {
      if (count && isdigit((unsigned char)*count)) number = strtoll(count, NULL, 10);
      if (number > COUNT_MOST) number = COUNT_MOST;
      sum += number;
    }
    at += *at == ',';
  }
  return sum < COUNT_MOST ? (int)sum : COUNT_MOST;
}
