#include "server/slurm/partitions.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/limits.h"
#include "server/slurm/commands.h"

struct ep_slurm_partitions {
  pthread_mutex_t mutex; /* guards the members of `seen`, not their names */
  int count;
  ep_slurm_partition seen[EP_LIMIT_DEVICES]; /* [count] */
};

static ep_status names_read(ep_slurm_partitions *to, const char *devices, ep_error *error) {
  const size_t prefix = strlen(EP_SLURM_PREFIX);
  for (const char *at = devices; *at;) {
    const size_t length = strcspn(at, ",");
    if (strncmp(at, EP_SLURM_PREFIX, prefix) == 0) {
      ep_slurm_partition *partition = &to->seen[to->count];
      if (length - prefix >= sizeof partition->name || to->count == EP_LIMIT_DEVICES)
        return ep_fail(error, EP_INVALID, "too many devices, or too long a name: %.100s", at);
      memcpy(partition->name, at + prefix, length - prefix);
      to->count++;
    }
    at += length + (at[length] == ',');
  }
  return EP_OK;
}

/* A file is written there, and taken away again. */
static ep_status shared_dir_check(const char *folder, ep_error *error) {
  char path[4096 + 32];
  snprintf(path, sizeof path, "%s/.epochd-XXXXXX", folder);
  int file = mkstemp(path);
  if (file < 0)
    return ep_fail(error, EP_INVALID, "--shared-dir %.300s cannot be written: %s", folder,
                   strerror(errno));
  close(file);
  unlink(path);
  return EP_OK;
}

/* "cpu, gpu" of Slurm's; those that do not fit are left out. */
static void names_list(const ep_slurm_cluster *cluster, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = 0;
  for (int i = 0; i < cluster->partitions_count; i++) {
    const char *name = cluster->partitions[i].name;
    if (used + strlen(name) + 3 > bytes) return;
    used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", name);
  }
}

static ep_status names_check(const ep_slurm_partitions *asked, const ep_slurm_cluster *cluster,
                             ep_error *error) {
  char there[256];
  for (int i = 0; i < asked->count; i++) {
    if (ep_slurm_partition_find(cluster, asked->seen[i].name)) continue;
    names_list(cluster, there, sizeof there);
    return ep_fail(error, EP_INVALID,
                   "--devices: unknown Slurm partition \"%s\": the partitions are %s",
                   asked->seen[i].name, there[0] ? there : "none");
  }
  return EP_OK;
}

static ep_status partitions_look(ep_slurm_partitions *partitions, const char *shared_dir,
                                 ep_error *error) {
  ep_slurm_cluster cluster = {0};
  ep_status status = ep_slurm_commands_check(error);
  if (status == EP_OK) status = shared_dir_check(shared_dir, error);
  if (status == EP_OK) status = ep_slurm_look(&cluster, error);
  if (status == EP_OK) status = names_check(partitions, &cluster, error);
  for (int i = 0; status == EP_OK && i < cluster.partitions_count; i++)
    ep_slurm_partitions_update(partitions, &cluster.partitions[i]);
  ep_slurm_cluster_free(&cluster);
  return status;
}

ep_status ep_slurm_partitions_open(const char *devices, const char *shared_dir,
                                   ep_slurm_partitions **out, ep_error *error) {
  *out = NULL;
  if (!strstr(devices, EP_SLURM_PREFIX)) return EP_OK;
  ep_slurm_partitions *made = calloc(1, sizeof *made);
  if (!made) return ep_fail_memory(error);
  pthread_mutex_init(&made->mutex, NULL);
  ep_status status = names_read(made, devices, error);
  if (status == EP_OK) status = partitions_look(made, shared_dir, error);
  if (status == EP_OK)
    *out = made;
  else
    ep_slurm_partitions_close(made);
  return status;
}

void ep_slurm_partitions_close(ep_slurm_partitions *partitions) {
  if (!partitions) return;
  pthread_mutex_destroy(&partitions->mutex);
  free(partitions);
}

void ep_slurm_partitions_update(ep_slurm_partitions *partitions, const ep_slurm_partition *seen) {
  if (!partitions) return;
  pthread_mutex_lock(&partitions->mutex);
  for (int i = 0; i < partitions->count; i++)
    if (strcmp(partitions->seen[i].name, seen->name) == 0) partitions->seen[i] = *seen;
  pthread_mutex_unlock(&partitions->mutex);
}

bool ep_slurm_partitions_get(ep_slurm_partitions *partitions, const char *device,
                             ep_slurm_partition *out) {
  const size_t prefix = strlen(EP_SLURM_PREFIX);
  if (!partitions || strncmp(device, EP_SLURM_PREFIX, prefix) != 0) return false;
  pthread_mutex_lock(&partitions->mutex);
  bool found = false;
  for (int i = 0; !found && i < partitions->count; i++) {
    found = strcmp(partitions->seen[i].name, device + prefix) == 0;
    if (found) *out = partitions->seen[i];
  }
  pthread_mutex_unlock(&partitions->mutex);
  return found;
}
