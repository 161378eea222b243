/* commands.c: server/slurm/commands.h against a Slurm that runs: "tests/slurm/cluster run" starts
 * it. Prints what is wrong, and ends with 1. */
#include "server/slurm/commands.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/limits.h"

#define HOLDS(condition)                                                                     \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      fprintf(stderr, "%s:%d: not %s: %s\n", __FILE__, __LINE__, #condition, error.message); \
      exit(1);                                                                               \
    }                                                                                        \
  } while (0)

enum { PATIENCE = 300, STEP_MS = 100 };

static const char SCRIPT[] = "#!/bin/sh\ntrap 'exit 3' TERM\nsleep 100 & wait\n";
static ep_error error;

static int count_in(const ep_slurm_jobs *jobs, ep_slurm_phase phase) {
  int count = 0;
  for (int i = 0; i < jobs->count; i++) count += jobs->jobs[i].phase == phase;
  return count;
}

/* "" until Slurm has considered it. */
static const char *reason_of_pending(const ep_slurm_jobs *jobs) {
  for (int i = 0; i < jobs->count; i++)
    if (jobs->jobs[i].phase == EP_SLURM_PENDING) return jobs->jobs[i].reason;
  return "";
}

/* Lists until so many jobs of the name are in the phase; the list is the caller's. */
static void wait_for(const char *name, ep_slurm_phase phase, int count, ep_slurm_jobs *jobs) {
  for (int i = 0; i < PATIENCE; i++) {
    HOLDS(ep_slurm_list(name, jobs, &error) == EP_OK);
    if (count_in(jobs, phase) == count) return;
    if (i + 1 < PATIENCE) ep_slurm_jobs_free(jobs);
    poll(NULL, 0, STEP_MS);
  }
  snprintf(error.message, sizeof error.message, "%d of %d in phase %d", count_in(jobs, phase),
           count, phase);
  HOLDS(false);
}

static void cluster_is_seen(void) {
  ep_slurm_cluster cluster;
  HOLDS(ep_slurm_look(&cluster, &error) == EP_OK);
  HOLDS(cluster.partitions_count == 3 && cluster.nodes_count == 2);
  const ep_slurm_partition *gpu = ep_slurm_partition_find(&cluster, "gpu");
  HOLDS(gpu && gpu->up && gpu->nodes == 1 && gpu->gpus == 2 && gpu->node_gpus == 2);
  HOLDS(gpu->max_minutes == 5 && gpu->default_minutes == 2 && gpu->max_nodes == 1);
  HOLDS(gpu->node_memory_bytes == 4000LL << 20 && gpu->node_cpus == 4);
  HOLDS(ep_slurm_partition_find(&cluster, "cpu")->nodes == 2);
  HOLDS(!ep_slurm_partition_find(&cluster, "nowhere"));
  ep_slurm_cluster_free(&cluster);
}

static void refusals_have_words(ep_slurm_submission submission) {
  int64_t job, start_s;
  snprintf(submission.request.partition, sizeof submission.request.partition, "nowhere");
  HOLDS(ep_slurm_submit(&submission, &job, &error) == EP_INVALID);
  HOLDS(strstr(error.message, "invalid partition specified: nowhere"));
  snprintf(submission.request.partition, sizeof submission.request.partition, "gpu");
  submission.request.gpus = 9;
  HOLDS(ep_slurm_submit(&submission, &job, &error) == EP_INVALID);
  HOLDS(strstr(error.message, "node configuration is not available"));
  HOLDS(ep_slurm_predict(&submission, &start_s, &error) == EP_INVALID);
  submission.options = "--no-such-option";
  HOLDS(ep_slurm_submit(&submission, &job, &error) == EP_INVALID);
  HOLDS(strstr(error.message, "no-such-option"));
}

int main(void) {
  ep_slurm_submission submission = {.workers = 3,
                                    .name = "refused", /* a job without a node is a failed job */
                                    .script = SCRIPT,
                                    .folder = "/",
                                    .options = " --comment=x  --nice=0 "};
  ep_slurm_request *request = &submission.request;
  ep_slurm_jobs jobs;
  int64_t job = 0, start_s = 0;

  HOLDS(ep_slurm_commands_check(&error) == EP_OK);
  cluster_is_seen();
  refusals_have_words(submission);
  submission.name = "live";

  /* Two GPUs, one a worker: the third waits, and Slurm says for what and until when. */
  snprintf(request->partition, sizeof request->partition, "gpu");
  request->gpus = 1;
  request->cpus = 1;
  request->memory_bytes = (100 << 20) - 5;
  request->minutes = 2;
  HOLDS(ep_slurm_predict(&submission, &start_s, &error) == EP_OK);
  HOLDS(llabs(start_s - (int64_t)time(NULL)) < 600);
  HOLDS(ep_slurm_submit(&submission, &job, &error) == EP_OK);
  wait_for("live", EP_SLURM_RUNNING, 2, &jobs);
  HOLDS(jobs.count == 3 && count_in(&jobs, EP_SLURM_PENDING) == 1);
  for (int i = 0; i < PATIENCE && !reason_of_pending(&jobs)[0]; i++) {
    ep_slurm_jobs_free(&jobs);
    poll(NULL, 0, STEP_MS);
    HOLDS(ep_slurm_list("live", &jobs, &error) == EP_OK);
  }
  HOLDS(reason_of_pending(&jobs)[0]);
  for (int i = 0; i < jobs.count; i++) {
    const ep_slurm_job *one = &jobs.jobs[i];
    HOLDS(one->job == job && one->task >= 0 && one->task < 3);
    HOLDS(strcmp(one->partition, "gpu") == 0);
    if (one->phase == EP_SLURM_RUNNING) HOLDS(strcmp(one->node, "n2") == 0 && one->start_s > 0);
  }
  ep_slurm_jobs_free(&jobs);
  HOLDS(ep_slurm_list("another", &jobs, &error) == EP_OK && jobs.count == 0);
  ep_slurm_jobs_free(&jobs);

  HOLDS(ep_slurm_cancel(job, 0, &error) == EP_OK); /* the third gets its GPU */
  wait_for("live", EP_SLURM_ENDED, 1, &jobs);
  HOLDS(strcmp(jobs.jobs[0].name, "live") == 0);
  ep_slurm_jobs_free(&jobs);
  HOLDS(ep_slurm_cancel(job, -1, &error) == EP_OK);
  wait_for("live", EP_SLURM_ENDED, 3, &jobs);
  for (int i = 0; i < jobs.count; i++) HOLDS(strcmp(jobs.jobs[i].state, "CANCELLED") == 0);
  ep_slurm_jobs_free(&jobs);
  HOLDS(ep_slurm_cancel(job, -1, &error) == EP_OK);      /* again */
  HOLDS(ep_slurm_cancel(99999999, -1, &error) == EP_OK); /* never there */
  puts("Slurm's commands do what they say");
  return 0;
}
