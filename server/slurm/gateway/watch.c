#include "server/slurm/gateway/watch.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/process/log.h"
#include "server/slurm/commands.h"

/* Of a partition that no job was for so far: the smallest worker. */
static void request_fill(const ep_slurm_partition *partition, ep_slurm_request *request) {
  if (request->partition[0]) return;
  *request = (ep_slurm_request){.gpus = partition->node_gpus_least > 0,
                                .cpus = 1,
                                .memory_bytes = EP_LIMIT_SLURM_SLACK_BYTES};
  memcpy(request->partition, partition->name, sizeof request->partition);
}

/* Seconds until a worker of this kind would start; -1: Slurm does not say. */
static int64_t wait_find(const ep_gateway_setup *setup, const ep_slurm_partition *partition,
                         const ep_slurm_request *request) {
  ep_slurm_submission submission = {.request = *request,
                                    .workers = 1,
                                    .name = "epochd-worker",
                                    .script = "#!/bin/sh\n",
                                    .folder = setup->shared_dir,
                                    .options = setup->options[0] ? setup->options : NULL};
  int64_t start_s = 0;
  request_fill(partition, &submission.request);
  if (ep_slurm_predict(&submission, &start_s, NULL) != EP_OK) return -1;
  const int64_t wait_s = start_s - (int64_t)time(NULL);
  return wait_s > 0 ? wait_s : 0;
}

/* One that Slurm shows no more is not up. */
static void partition_tell(const ep_gateway *gateway, const ep_slurm_cluster *cluster,
                           const ep_watched *watched) {
  ep_control control = {.kind = EP_CONTROL_PARTITION};
  const char *name = watched->device + strlen(EP_SLURM_PREFIX);
  const ep_slurm_partition *seen = ep_slurm_partition_find(cluster, name);
  memcpy(control.device, watched->device, sizeof control.device);
  if (seen) control.partition = *seen;
  snprintf(control.partition.name, sizeof control.partition.name, "%s", name);
  control.partition.wait_seconds =
      seen && seen->up ? wait_find(gateway->setup, seen, &watched->request) : -1;
  ep_control_send(gateway->control, &control, -1, NULL); /* the next look tells it again */
}

/* A node that drains takes no new worker, and is to be left before it is taken away. */
static void drained_leave(const ep_gateway *gateway, const ep_slurm_cluster *cluster) {
  ep_tickets *tickets = gateway->tickets;
  pthread_mutex_lock(&tickets->mutex);
  for (int i = 0; i < EP_TICKETS; i++) {
    ep_ticket *ticket = &tickets->ticket[i];
    ep_control control = {.kind = EP_CONTROL_LEAVE};
    if (ticket->state != EP_TICKET_CONNECTED || ticket->leaves) continue;
    const ep_slurm_node *node = ep_slurm_node_find(cluster, ticket->node);
    if (!node || !node->leaving) continue;
    memcpy(control.worker, ticket->worker, sizeof control.worker);
    snprintf(control.text, sizeof control.text, "node %s drains: %s", node->name, node->reason);
    ticket->leaves = ep_control_send(gateway->control, &control, -1, NULL) == EP_OK;
  }
  pthread_mutex_unlock(&tickets->mutex);
}

void ep_watch_look(ep_gateway *gateway, const ep_watched *list, int count) {
  ep_slurm_cluster cluster = {0};
  ep_error error = {0};
  if (ep_slurm_look(&cluster, &error) != EP_OK) {
    ep_log(EP_LOG_WARNING, "Slurm's partitions: %s", error.message);
    return;
  }
  drained_leave(gateway, &cluster);
  for (int i = 0; i < count; i++) partition_tell(gateway, &cluster, &list[i]);
  ep_slurm_cluster_free(&cluster);
}
