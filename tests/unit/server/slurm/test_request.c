/* What a worker asks for, on both sides of each limit of a partition. */
#include "server/slurm/request.h"

#include <math.h>
#include <string.h>

#include "api/limits.h"
#include "tests/suite.h"

static const ep_slurm_partition PARTITION = {.name = "gpu",
                                             .up = true,
                                             .node_cpus = 16,
                                             .node_gpus = 4,
                                             .node_gpus_least = 1,
                                             .node_memory_bytes = 64LL << 30,
                                             .max_minutes = 120,
                                             .default_minutes = 30,
                                             .accounts = "lab,ada",
                                             .qos = "normal,long"};
static const ep_slurm_need NEED = {.bytes = 8LL << 30, .cores = 4, .seconds = 600};
static const ep_slurm_defaults DEFAULTS = {"lab", ""};

static ep_slurm_request request;
static ep_error error;

static ep_status make(const ep_slurm_need *need, const ep_slurm_spec *spec,
                      const ep_slurm_partition *partition) {
  static const ep_slurm_spec NONE;
  error = (ep_error){0};
  return ep_slurm_request_make(need, spec ? spec : &NONE, &DEFAULTS, partition, &request, &error);
}

START_TEST(a_request_follows_the_plan) {
  ck_assert_int_eq(make(&NEED, NULL, &PARTITION), EP_OK);
  ck_assert_str_eq(request.partition, "gpu");
  ck_assert_str_eq(request.account, "lab");
  ck_assert_str_eq(request.qos, "");
  ck_assert_int_eq(request.memory_bytes, (10LL << 30) + EP_LIMIT_SLURM_SLACK_BYTES);
  ck_assert_int_eq(request.cpus, 4);
  ck_assert_int_eq(request.gpus, 1);     /* as the partition has them */
  ck_assert_int_eq(request.minutes, 30); /* twice ten minutes and ten */
}
END_TEST

START_TEST(a_partition_without_gpus_gets_no_request_for_one) {
  ep_slurm_partition partition = PARTITION;
  partition.node_gpus_least = 0; /* some have */
  ck_assert_int_eq(make(&NEED, NULL, &partition), EP_OK);
  ck_assert_int_eq(request.gpus, 0);
}
END_TEST

START_TEST(the_spec_wins) {
  const ep_slurm_spec spec = {.time = "1:30:00",
                              .account = "ada",
                              .qos = "long",
                              .gres = "gpu:a100:2",
                              .constraint = "nvlink"};
  ck_assert_int_eq(make(&NEED, &spec, &PARTITION), EP_OK);
  ck_assert_int_eq(request.minutes, 90);
  ck_assert_str_eq(request.account, "ada");
  ck_assert_str_eq(request.qos, "long");
  ck_assert_str_eq(request.gres, "gpu:a100:2");
  ck_assert_str_eq(request.constraint, "nvlink");
  ck_assert_int_eq(request.gpus, 0); /* gres has them */
}
END_TEST

/* Ranks on several nodes: as they are given, or as many as have a core for each. */
START_TEST(nodes_follow_the_ranks) {
  ep_slurm_need need = NEED;
  ep_slurm_spec spec = {.nodes = 2};
  ep_slurm_partition partition = PARTITION;
  partition.node_gpus = partition.node_gpus_least = 0;
  partition.nodes = 3;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
  ck_assert_int_eq(request.nodes, 1);
  need.ranks = need.cores = 4;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK); /* a node has 16 cores */
  ck_assert_int_eq(request.nodes, 1);
  ck_assert_int_eq(make(&need, &spec, &partition), EP_OK);
  ck_assert_int_eq(request.nodes, 2);
  ck_assert_int_eq(request.cpus, 2);
  need.ranks = need.cores = 17;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
  ck_assert_int_eq(request.nodes, 2);
  ck_assert_int_eq(request.cpus, 9);
  need.ranks = need.cores = 64; /* one node more than there are: several ranks share a core */
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
  ck_assert_int_eq(request.nodes, 3);
  ck_assert_int_eq(request.cpus, 16);
  spec.nodes = 3;
  ck_assert_int_eq(make(&need, &spec, &partition), EP_OK);
  spec.nodes = 4;
  ck_assert_int_eq(make(&need, &spec, &partition), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/slurm/nodes");
  partition.max_nodes = 2; /* of a job */
  spec.nodes = 3;
  ck_assert_int_eq(make(&need, &spec, &partition), EP_INVALID);
  spec.nodes = 2;
  need.ranks = 1;
  ck_assert_int_eq(make(&need, &spec, &partition), EP_INVALID);
  need.ranks = 2;
  ck_assert_int_eq(make(&need, &spec, &partition), EP_OK);
  partition.node_gpus = partition.node_gpus_least = 1;
  ck_assert_int_eq(make(&need, &spec, &partition), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "train on CPUs"));
}
END_TEST

/* A worker of two nodes is for jobs of two. */
START_TEST(a_worker_holds_jobs_of_as_many_nodes) {
  const ep_slurm_request one = {
      .partition = "cpu", .nodes = 1, .cpus = 2, .memory_bytes = 1LL << 30};
  ep_slurm_request two = one, none = one;
  two.nodes = 2;
  none.nodes = 0; /* of a list of before */
  ck_assert(ep_slurm_request_holds(&two, &two));
  ck_assert(!ep_slurm_request_holds(&two, &one));
  ck_assert(!ep_slurm_request_holds(&one, &two));
  ck_assert(ep_slurm_request_holds(&one, &none));
}
END_TEST

START_TEST(an_estimate_is_cut_to_the_limit) {
  ep_slurm_need need = NEED;
  ep_slurm_partition partition = PARTITION;
  need.seconds = 1e6;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
  ck_assert_int_eq(request.minutes, 120);
  need.seconds = INFINITY;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
  ck_assert_int_eq(request.minutes, 120);
  partition.max_minutes = 0; /* none: Slurm's default */
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
  ck_assert_int_eq(request.minutes, 30);
  need.seconds = NAN;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
  ck_assert_int_eq(request.minutes, 30);
}
END_TEST

START_TEST(memory_has_a_limit) {
  ep_slurm_need need = NEED;
  ep_slurm_partition partition = PARTITION;
  need.bytes = 4LL << 30;
  partition.node_memory_bytes = (5LL << 30) + EP_LIMIT_SLURM_SLACK_BYTES;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
  partition.node_memory_bytes--;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/model");
  ck_assert_ptr_nonnull(strstr(error.message, "allows 6143 MiB per node"));
  partition.node_memory_bytes = 64LL << 30;
  partition.max_node_memory_bytes = 4LL << 30; /* the smaller of the two */
  ck_assert_int_eq(make(&need, NULL, &partition), EP_INVALID);
  need.bytes = INT64_MAX;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_INVALID);
  partition.node_memory_bytes = partition.max_node_memory_bytes = 0; /* not known */
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
}
END_TEST

START_TEST(cores_are_those_of_a_node) {
  ep_slurm_need need = NEED;
  ep_slurm_partition partition = PARTITION;
  need.cores = 64;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
  ck_assert_int_eq(request.cpus, 16);
  partition.max_node_cpus = 2;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
  ck_assert_int_eq(request.cpus, 2);
  need.cores = 0;
  ck_assert_int_eq(make(&need, NULL, &partition), EP_OK);
  ck_assert_int_eq(request.cpus, 1);
}
END_TEST

START_TEST(what_is_named_has_limits) {
  ck_assert_int_eq(make(&NEED, &(ep_slurm_spec){.time = "120"}, &PARTITION), EP_OK);
  ck_assert_int_eq(make(&NEED, &(ep_slurm_spec){.time = "121"}, &PARTITION), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/slurm/time");
  ck_assert_str_eq(error.message, "\"121\" is more than partition \"gpu\" allows: 2:00:00");
  ck_assert_int_eq(make(&NEED, &(ep_slurm_spec){.gres = "gpu:4"}, &PARTITION), EP_OK);
  ck_assert_int_eq(make(&NEED, &(ep_slurm_spec){.gres = "gpu:5"}, &PARTITION), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/slurm/gres");
  ck_assert_ptr_nonnull(strstr(error.message, "has at most 4"));
  ck_assert_int_eq(make(&NEED, &(ep_slurm_spec){.account = "la"}, &PARTITION), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/slurm/account");
  ck_assert_ptr_nonnull(strstr(error.message, "lab,ada"));
  ck_assert_int_eq(make(&NEED, &(ep_slurm_spec){.qos = "short"}, &PARTITION), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/slurm/qos");
  ep_slurm_need need = NEED;
  need.gpus = 5;
  ck_assert_int_eq(make(&need, NULL, &PARTITION), EP_INVALID);
  ck_assert_str_eq(error.pointer, "/parallel/data");
}
END_TEST

EP_SUITE("server/slurm/request") {
  TCase *tests = ep_suite_case(suite, "request");
  tcase_add_test(tests, a_request_follows_the_plan);
  tcase_add_test(tests, a_partition_without_gpus_gets_no_request_for_one);
  tcase_add_test(tests, the_spec_wins);
  tcase_add_test(tests, nodes_follow_the_ranks);
  tcase_add_test(tests, a_worker_holds_jobs_of_as_many_nodes);
  tcase_add_test(tests, an_estimate_is_cut_to_the_limit);
  tcase_add_test(tests, memory_has_a_limit);
  tcase_add_test(tests, cores_are_those_of_a_node);
  tcase_add_test(tests, what_is_named_has_limits);
}
