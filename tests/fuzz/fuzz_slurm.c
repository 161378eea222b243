/* Any bytes as what Slurm's commands print, and kubectl. */
#include <string.h>

#include "api/spec/slurm.h"
#include "server/kubernetes/answers.h"
#include "server/slurm/answers.h"
#include "tests/fuzz/fuzz.h"

static void text_holds(const char *text) {
  int64_t number = 0;
  if (ep_slurm_submitted_parse(text, &number)) FUZZ_HOLDS(number > 0);
  if (ep_slurm_start_parse(text, &number)) FUZZ_HOLDS(number > 0);
  if (ep_slurm_minutes_parse(text, &number)) FUZZ_HOLDS(number >= 0);
  FUZZ_HOLDS(ep_slurm_gpus_parse(text) >= 0);
  ep_slurm_ending ending;
  if (ep_slurm_ending_parse(text, &ending))
    FUZZ_HOLDS(ending.state[0] && ending.code[0] && ending.elapsed[0] && ending.node[0]);
}

static void jobs_hold(const char *text, size_t count) {
  ep_error error = {0};
  ep_slurm_jobs jobs;
  if (ep_slurm_jobs_parse(text, count, NULL, -1, &jobs, &error) != EP_OK) {
    FUZZ_HOLDS(error.message[0] && !jobs.jobs);
    return;
  }
  for (int i = 0; i < jobs.count; i++) {
    const ep_slurm_job *job = &jobs.jobs[i];
    FUZZ_HOLDS(job->job > 0 && job->task >= -1 && job->state[0]);
    FUZZ_HOLDS(job->start_s >= 0 && job->end_s >= 0 && job->restarts >= 0);
  }
  ep_slurm_jobs_free(&jobs);
}

static void pods_hold(const char *text, size_t count) {
  ep_error error = {0};
  ep_slurm_jobs jobs = {0};
  if (ep_kubernetes_jobs_parse(text, count, "n", &jobs, &error) != EP_OK) {
    FUZZ_HOLDS(error.message[0] && !jobs.jobs);
    return;
  }
  for (int i = 0; i < jobs.count; i++)
    FUZZ_HOLDS(jobs.jobs[i].worker[0] && jobs.jobs[i].state[0] && jobs.jobs[i].exit_code >= 0);
  ep_slurm_jobs_free(&jobs);
}

static void cluster_holds(const char *partitions, size_t partitions_bytes, const char *nodes,
                          size_t nodes_bytes) {
  ep_error error = {0};
  ep_slurm_cluster cluster;
  if (ep_slurm_cluster_parse(partitions, partitions_bytes, nodes, nodes_bytes, &cluster, &error) !=
      EP_OK) {
    FUZZ_HOLDS(error.message[0] && !cluster.nodes);
    return;
  }
  for (int i = 0; i < cluster.partitions_count; i++) {
    const ep_slurm_partition *one = &cluster.partitions[i];
    FUZZ_HOLDS(one->name[0] && one->max_minutes >= 0 && one->max_nodes >= 0);
    FUZZ_HOLDS(one->nodes_unavailable <= one->nodes && one->nodes_idle <= one->nodes);
  }
  for (int i = 0; i < cluster.nodes_count; i++)
    FUZZ_HOLDS(ep_slurm_node_find(&cluster, cluster.nodes[i].name) == &cluster.nodes[i]);
  ep_slurm_cluster_free(&cluster);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static const char PARTITIONS[] = "PartitionName=cpu State=UP\nPartitionName=gpu State=UP\n";
  static const char NODES[] = "{\"nodes\": []}";
  char *text = malloc(count + 1);
  FUZZ_HOLDS(text);
  if (count > 0) memcpy(text, bytes, count);
  text[count] = 0;
  text_holds(text);
  jobs_hold(text, count);
  pods_hold(text, count);
  cluster_holds(PARTITIONS, sizeof PARTITIONS - 1, text, count);
  cluster_holds(text, count, NODES, sizeof NODES - 1);
  free(text);
  return 0;
}
