/* samples/: 22.05's as its commands printed them, 24.11's written by hand in its form. */
#include "server/slurm/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "api/spec/slurm.h"
#include "tests/suite.h"

static char *sample_read(const char *name, size_t *bytes) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", SAMPLES, name);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "%s", path);
  char *text = malloc(1 << 20);
  ck_assert_ptr_nonnull(text);
  *bytes = fread(text, 1, 1 << 20, file);
  fclose(file);
  return text;
}

static void jobs_read(const char *sample, const char *name, int64_t user, ep_slurm_jobs *jobs) {
  ep_error error = {0};
  size_t bytes;
  char *text = sample_read(sample, &bytes);
  ck_assert_msg(ep_slurm_jobs_parse(text, bytes, name, user, jobs, &error) == EP_OK, "%s",
                error.message);
  free(text);
}

static void cluster_read(const char *nodes, ep_slurm_cluster *cluster) {
  ep_error error = {0};
  size_t bytes, partitions_bytes;
  char *text = sample_read(nodes, &bytes);
  char *partitions = sample_read("partitions-22.05.txt", &partitions_bytes);
  ck_assert_msg(
      ep_slurm_cluster_parse(partitions, partitions_bytes, text, bytes, cluster, &error) == EP_OK,
      "%s", error.message);
  free(text);
  free(partitions);
}

static const ep_slurm_job *job_find(const ep_slurm_jobs *jobs, int64_t job, int64_t task) {
  for (int i = 0; i < jobs->count; i++)
    if (jobs->jobs[i].job == job && jobs->jobs[i].task == task) return &jobs->jobs[i];
  ck_abort_msg("no job %lld_%lld", (long long)job, (long long)task);
}

START_TEST(jobs_of_22_05) {
  ep_slurm_jobs jobs;
  jobs_read("jobs-22.05.json", "epochd-1", 0, &jobs);
  ck_assert_int_eq(jobs.count, 5); /* tasks 0, 3 run, 6, 9 wait; 14 failed */
  const ep_slurm_job *job = job_find(&jobs, 12, 3);
  ck_assert_int_eq(job->phase, EP_SLURM_RUNNING);
  ck_assert_str_eq(job->node, "n2");
  ck_assert_str_eq(job->partition, "gpu");
  ck_assert_str_eq(job->reason, "");
  ck_assert_int_eq(job->start_s, 1795487634);
  job = job_find(&jobs, 12, 9);
  ck_assert_int_eq(job->phase, EP_SLURM_PENDING);
  ck_assert_str_eq(job->node, "");
  ck_assert_int_eq(job->start_s, 1795487820); /* predicted */
  job = job_find(&jobs, 14, -1);
  ck_assert_int_eq(job->phase, EP_SLURM_ENDED);
  ck_assert_str_eq(job->state, "FAILED");
  ck_assert_str_eq(job->reason, "NonZeroExitCode");
  ck_assert_int_eq(job->exit_code, 3);
  ep_slurm_jobs_free(&jobs);

  jobs_read("jobs-22.05.json", NULL, -1, &jobs);
  ck_assert_int_eq(jobs.count, 6);
  ck_assert_int_eq(job_find(&jobs, 13, -1)->exit_code, 128 + 9);
  ep_slurm_jobs_free(&jobs);
  jobs_read("jobs-22.05.json", NULL, 1000, &jobs);
  ck_assert_int_eq(jobs.count, 0);
  ep_slurm_jobs_free(&jobs);
}
END_TEST

START_TEST(jobs_of_newer_versions) {
  ep_slurm_jobs jobs;
  jobs_read("jobs-24.11.json", "epochd-1", 1000, &jobs);
  ck_assert_int_eq(jobs.count, 8);
  const ep_slurm_job *job = job_find(&jobs, 70, 0);
  ck_assert_int_eq(job->phase, EP_SLURM_RUNNING);
  ck_assert_str_eq(job->node, "node-a");
  ck_assert_int_eq(job->end_s, 1800003600);
  for (int task = 1; task <= 5; task += 2) { /* 1-5:2%2 */
    job = job_find(&jobs, 70, task);
    ck_assert_int_eq(job->phase, EP_SLURM_PENDING);
    ck_assert_str_eq(job->reason, "QOSMaxJobsPerUserLimit");
    ck_assert_int_eq(job->start_s, 1800003700);
  }
  job = job_find(&jobs, 80, -1);
  ck_assert_int_eq(job->phase, EP_SLURM_ENDING);
  ck_assert_int_eq(job->restarts, 2);
  ck_assert_int_eq(job_find(&jobs, 81, -1)->phase, EP_SLURM_PENDING);
  job = job_find(&jobs, 82, -1);
  ck_assert_str_eq(job->state, "NODE_FAIL");
  ck_assert_int_eq(job->phase, EP_SLURM_ENDED);
  ck_assert_int_eq(job->exit_code, 128 + 9);
  job = job_find(&jobs, 85, -1);
  ck_assert_str_eq(job->state, "TIMEOUT");
  ck_assert_int_eq(job->end_s, 0);
  ep_slurm_jobs_free(&jobs);
  jobs_read("jobs-24.11.json", "epochd-1", 1001, &jobs);
  ck_assert_int_eq(jobs.count, 1);
  ck_assert_int_eq(jobs.jobs[0].exit_code, 3);
  ep_slurm_jobs_free(&jobs);
}
END_TEST

START_TEST(a_cluster_of_22_05) {
  ep_slurm_cluster cluster;
  cluster_read("nodes-22.05.json", &cluster);
  ck_assert_int_eq(cluster.partitions_count, 3);
  ck_assert_int_eq(cluster.nodes_count, 2);
  const ep_slurm_node *node = ep_slurm_node_find(&cluster, "n1"); /* drained */
  ck_assert(node->leaving && !node->down);
  ck_assert_str_eq(node->reason, "disk, soon");
  node = ep_slurm_node_find(&cluster, "n2");
  ck_assert(!node->leaving && !node->down);
  ck_assert_int_eq(node->gpus, 2);
  ck_assert_int_eq(node->gpus_idle, 0);
  ck_assert_int_eq(node->cpus_idle, 2);
  const ep_slurm_partition *cpu = ep_slurm_partition_find(&cluster, "cpu");
  ck_assert(cpu->up);
  ck_assert_int_eq(cpu->nodes, 2);
  ck_assert_int_eq(cpu->nodes_unavailable, 1);
  ck_assert_int_eq(cpu->cpus, 4);
  ck_assert_int_eq(cpu->max_minutes, 10);
  ck_assert_int_eq(cpu->max_nodes, 0);
  ck_assert_str_eq(cpu->accounts, "");
  const ep_slurm_partition *gpu = ep_slurm_partition_find(&cluster, "gpu");
  ck_assert_int_eq(gpu->gpus, 2);
  ck_assert_int_eq(gpu->gpus_idle, 0);
  ck_assert_int_eq(gpu->node_gpus, 2);
  ck_assert_int_eq(gpu->node_gpus_least, 2);
  ck_assert_int_eq(cpu->node_gpus, 2);
  ck_assert_int_eq(cpu->node_gpus_least, 0);
  ck_assert_int_eq(gpu->node_memory_bytes, 4000LL << 20);
  ck_assert_int_eq(gpu->max_nodes, 1);
  ck_assert_int_eq(gpu->default_minutes, 2);
  ck_assert_ptr_null(ep_slurm_node_find(&cluster, "n3"));
  ep_slurm_cluster_free(&cluster);
}
END_TEST

START_TEST(a_cluster_of_newer_versions) {
  ep_slurm_cluster cluster;
  cluster_read("nodes-24.11.json", &cluster);
  ck_assert_int_eq(cluster.nodes_count, 3); /* node-a is in two partitions */
  const ep_slurm_node *node = ep_slurm_node_find(&cluster, "node-a");
  ck_assert(!node->leaving && !node->down);
  ck_assert_int_eq(node->gpus, 4);
  ck_assert_int_eq(node->gpus_idle, 1);
  ck_assert_int_eq(node->cpus_idle, 4);
  ck_assert_int_eq(node->memory_bytes, 64000LL << 20);
  ck_assert(ep_slurm_node_find(&cluster, "node-b")->leaving);
  ck_assert_str_eq(ep_slurm_node_find(&cluster, "node-b")->reason, "disk");
  ck_assert(ep_slurm_node_find(&cluster, "node-c")->down);
  const ep_slurm_partition *cpu = ep_slurm_partition_find(&cluster, "cpu");
  ck_assert_int_eq(cpu->nodes, 3);
  ck_assert_int_eq(cpu->nodes_unavailable, 2);
  ck_assert_int_eq(ep_slurm_partition_find(&cluster, "gpu")->gpus_idle, 1);
  ep_slurm_cluster_free(&cluster);
}
END_TEST

START_TEST(limits_of_a_partition) {
  static const char TEXT[] =
      "PartitionName=a MaxTime=1-12:30:01 DefaultTime=NONE MaxNodes=UNLIMITED MaxCPUsPerNode=8 "
      "MaxMemPerNode=4000 AllowAccounts=lab,ada AllowQos=ALL State=DRAIN\n";
  static const char NODES[] = "{\"nodes\":[]}";
  ep_slurm_cluster cluster;
  ep_error error = {0};
  ck_assert_int_eq(
      ep_slurm_cluster_parse(TEXT, sizeof TEXT - 1, NODES, sizeof NODES - 1, &cluster, &error),
      EP_OK);
  const ep_slurm_partition *one = ep_slurm_partition_find(&cluster, "a");
  ck_assert(one && !one->up);
  ck_assert_int_eq(one->max_minutes, (24 + 12) * 60 + 30 + 1);
  ck_assert_int_eq(one->default_minutes, 0);
  ck_assert_int_eq(one->max_node_cpus, 8);
  ck_assert_int_eq(one->max_node_memory_bytes, 4000LL << 20);
  ck_assert_str_eq(one->accounts, "lab,ada");
  ck_assert_str_eq(one->qos, "");
  ep_slurm_cluster_free(&cluster);
}
END_TEST

static ep_status jobs_status(const char *text) {
  ep_slurm_jobs jobs;
  ep_error error = {0};
  ep_status status = ep_slurm_jobs_parse(text, strlen(text), NULL, -1, &jobs, &error);
  ck_assert(status == EP_OK || (error.message[0] && !jobs.jobs));
  ep_slurm_jobs_free(&jobs);
  return status;
}

/* An array of tasks 0 … last. */
static ep_status array_status(int last) {
  char text[256];
  snprintf(text, sizeof text,
           "{\"jobs\": [{\"job_id\": 1, \"array_job_id\": 1, \"job_state\": \"PENDING\", "
           "\"array_task_string\": \"0-%d\"}]}",
           last);
  return jobs_status(text);
}

START_TEST(what_is_no_list_is_refused) {
  ck_assert_int_eq(jobs_status("{\"jobs\": []}"), EP_OK);
  ck_assert_int_eq(jobs_status("{\"jobs\": [{}, 3, {\"job_id\": null}]}"), EP_OK);
  ck_assert_int_eq(jobs_status(""), EP_MALFORMED);
  ck_assert_int_eq(jobs_status("squeue: error"), EP_MALFORMED);
  ck_assert_int_eq(jobs_status("{\"errors\": []}"), EP_MALFORMED);
  ck_assert_int_eq(jobs_status("{\"jobs\": {}}"), EP_MALFORMED);
  ck_assert_int_eq(jobs_status("{\"jobs\": [{\"job_id\": 3"), EP_MALFORMED);
  ck_assert_int_eq(jobs_status("{\"jobs\": [{}"), EP_MALFORMED);
  ck_assert_int_eq(array_status(EP_LIMIT_SLURM_JOBS - 1), EP_OK);
  ck_assert_int_eq(array_status(EP_LIMIT_SLURM_JOBS), EP_TOO_LARGE);
}
END_TEST

START_TEST(times) {
  static const struct {
    const char *text;
    int64_t minutes; /* -1 = none */
  } CASES[] = {{"5", 5},        {"10:00", 10},       {"10:01", 11},     {"2:00:00", 120},
               {"1-0", 1440},   {"1-12", 2160},      {"1-12:30", 2190}, {"1-12:30:30", 2191},
               {"0:30", 1},     {"UNLIMITED", 0},    {"infinite", 0},   {"NONE", 0},
               {"", -1},        {"x", -1},           {"1:", -1},        {"1-", -1},
               {"1:2:3:4", -1}, {"1-1:2:3:4", -1},   {"5 ", -1},        {"-5", -1},
               {"1.5", -1},     {"99999999999", -1}, {"1--2", -1}};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    int64_t minutes = 0;
    bool read = ep_slurm_minutes_parse(CASES[i].text, &minutes);
    ck_assert_msg((read ? minutes : -1) == CASES[i].minutes, "%s: %lld", CASES[i].text,
                  (long long)minutes);
  }
}
END_TEST

START_TEST(gpus) {
  ck_assert_int_eq(ep_slurm_gpus_parse(""), 0);
  ck_assert_int_eq(ep_slurm_gpus_parse("(null)"), 0);
  ck_assert_int_eq(ep_slurm_gpus_parse("gpu"), 1);
  ck_assert_int_eq(ep_slurm_gpus_parse("gpu:a100"), 1);
  ck_assert_int_eq(ep_slurm_gpus_parse("gpu:2"), 2);
  ck_assert_int_eq(ep_slurm_gpus_parse("gpu:a100:4(S:0,1),nic:2,gpu:v100:1(S:2)"), 5);
  ck_assert_int_eq(ep_slurm_gpus_parse("gpu:fake:0(IDX:N/A)"), 0);
  ck_assert_int_eq(ep_slurm_gpus_parse("gpufs:3,shard:8"), 0);
  ck_assert_int_eq(ep_slurm_gpus_parse("gpu:999999999,gpu:999999999,gpu:999999999"), 1 << 24);
}
END_TEST

START_TEST(what_sacct_prints) {
  ep_slurm_ending ending;
  static const char *const bad[] = {"",
                                    "\n",
                                    "FAILED",
                                    "FAILED|1:0|00:00:01",
                                    "|1:0|1|n1",
                                    "FAILED||1|n1",
                                    "RUNNING|0:0|1|n1",
                                    "PENDING|0:0|1|n1",
                                    "COMPLETING|0:0|1|n1",
                                    "FAILED\n1:0|1|n1|"};
  ck_assert(
      ep_slurm_ending_parse("OUT_OF_MEMORY|0:125|00:10:02|n3\nCOMPLETED|0:0|1|n1\n", &ending));
  ck_assert_str_eq(ending.state, "OUT_OF_MEMORY");
  ck_assert_str_eq(ending.code, "0:125");
  ck_assert_str_eq(ending.elapsed, "00:10:02");
  ck_assert_str_eq(ending.node, "n3");
  ck_assert(ep_slurm_ending_parse("CANCELLED by 1000|0:15|1-00:00:02|None\tassigned", &ending));
  ck_assert_str_eq(ending.state, "CANCELLED by 1000");
  ck_assert_str_eq(ending.node, "None assigned");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    ck_assert_msg(!ep_slurm_ending_parse(bad[i], &ending), "%s", bad[i]);
}
END_TEST

START_TEST(what_sbatch_prints) {
  int64_t number = 0;
  ck_assert(ep_slurm_submitted_parse("12\n", &number) && number == 12);
  ck_assert(ep_slurm_submitted_parse("13;cluster\n", &number) && number == 13);
  ck_assert(!ep_slurm_submitted_parse("", &number));
  ck_assert(!ep_slurm_submitted_parse("0\n", &number));
  ck_assert(!ep_slurm_submitted_parse("Submitted batch job 12\n", &number));
  ck_assert(!ep_slurm_submitted_parse("12x\n", &number));
  ck_assert(ep_slurm_start_parse("sbatch: Job 9 to start at 1795486950 using 1 processors on nodes "
                                 "n2 in partition gpu",
                                 &number));
  ck_assert_int_eq(number, 1795486950);
  ck_assert(!ep_slurm_start_parse("allocation failure: none", &number));
  ck_assert(!ep_slurm_start_parse("to start at 2026-11-24T02:23:00 using", &number));
}
END_TEST

EP_SUITE("server/slurm/answers") {
  TCase *tests = ep_suite_case(suite, "answers");
  tcase_add_test(tests, jobs_of_22_05);
  tcase_add_test(tests, jobs_of_newer_versions);
  tcase_add_test(tests, a_cluster_of_22_05);
  tcase_add_test(tests, a_cluster_of_newer_versions);
  tcase_add_test(tests, limits_of_a_partition);
  tcase_add_test(tests, what_is_no_list_is_refused);
  tcase_add_test(tests, times);
  tcase_add_test(tests, gpus);
  tcase_add_test(tests, what_sacct_prints);
  tcase_add_test(tests, what_sbatch_prints);
}
