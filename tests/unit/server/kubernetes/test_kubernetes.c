/* What kubectl is given, and what it prints. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "server/kubernetes/answers.h"
#include "server/kubernetes/manifest.h"
#include "tests/suite.h"

static ep_error error;

static char *sample_read(size_t *bytes) {
  FILE *file = fopen(SAMPLES "/jobs-pods.json", "r");
  ck_assert_ptr_nonnull(file);
  char *text = malloc(1 << 16);
  *bytes = fread(text, 1, 1 << 16, file);
  fclose(file);
  return text;
}

START_TEST(workers_are_their_jobs_and_pods) {
  static const struct {
    const char *worker;
    ep_slurm_phase phase;
    const char *state, *reason, *node;
    int exit_code;
  } CASES[] = {
      {"wrk_a", EP_SLURM_RUNNING, "Running", "", "gpu-7", 0},
      {"wrk_b", EP_SLURM_PENDING, "Pending",
       "Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", "", 0},
      {"wrk_c", EP_SLURM_PENDING, "Pending",
       "ImagePullBackOff: Back-off pulling image \"epochd:none\"", "gpu-7", 0},
      {"wrk_d", EP_SLURM_PENDING, "Pending", "Suspended: Job suspended", "", 0},
      {"wrk_e", EP_SLURM_ENDED, "OOMKilled", "", "gpu-8", 137},
      {"wrk_f", EP_SLURM_PENDING, "Pending", "its Job has no Pod so far", "", 0},
      {"wrk_g", EP_SLURM_ENDED, "Failed",
       "DeadlineExceeded: Job was active longer than specified deadline", "", 0},
      {"wrk_h", EP_SLURM_ENDING, "Running", "", "gpu-8", 0},
  };
  size_t bytes;
  char *text = sample_read(&bytes);
  ep_slurm_jobs jobs = {0};
  ck_assert_int_eq(ep_kubernetes_jobs_parse(text, bytes, "research", &jobs, &error), EP_OK);
  ck_assert_int_eq(jobs.count, sizeof CASES / sizeof *CASES);
  for (int i = 0; i < jobs.count; i++) {
    const ep_slurm_job *job = &jobs.jobs[i];
    ck_assert_str_eq(job->worker, CASES[i].worker);
    ck_assert_str_eq(job->partition, "research");
    ck_assert_int_eq(job->phase, CASES[i].phase);
    ck_assert_str_eq(job->state, CASES[i].state);
    ck_assert_str_eq(job->reason, CASES[i].reason);
    ck_assert_str_eq(job->node, CASES[i].node);
    ck_assert_int_eq(job->exit_code, CASES[i].exit_code);
  }
  /* of another namespace: behind those */
  ck_assert_int_eq(ep_kubernetes_jobs_parse(text, bytes, "b", &jobs, &error), EP_OK);
  ck_assert_int_eq(jobs.count, 2 * sizeof CASES / sizeof *CASES);
  ck_assert_str_eq(jobs.jobs[jobs.count - 1].partition, "b");
  ck_assert_int_eq(ep_kubernetes_jobs_parse("error", 5, "b", &jobs, &error), EP_MALFORMED);
  ck_assert_int_eq(ep_kubernetes_jobs_parse(text, bytes / 2, "b", &jobs, &error), EP_MALFORMED);
  ep_slurm_jobs_free(&jobs);
  free(text);
}
END_TEST

START_TEST(a_list_has_a_ceiling) {
  enum { COUNT = EP_LIMIT_KUBERNETES_JOBS + 1, ENTRY = 80 };
  char *text = malloc((size_t)COUNT * ENTRY + 64);
  size_t used = (size_t)sprintf(text, "{\"items\": [");
  for (int i = 0; i < COUNT; i++)
    used += (size_t)sprintf(
        text + used, "%s{\"kind\":\"Job\",\"metadata\":{\"labels\":{\"epochd-worker\":\"w%d\"}}}",
        i > 0 ? "," : "", i);
  used += (size_t)sprintf(text + used, "]}");
  ep_slurm_jobs jobs = {0};
  ck_assert_int_eq(ep_kubernetes_jobs_parse(text, used, "n", &jobs, &error), EP_TOO_LARGE);
  ck_assert_ptr_null(jobs.jobs);
  free(text);
}
END_TEST

static const json_t *at(const json_t *object, const char *path) {
  char copy[256], *rest = copy;
  snprintf(copy, sizeof copy, "%s", path);
  for (char *key = strsep(&rest, "/"); key; key = strsep(&rest, "/"))
    object = json_is_array(object) ? json_array_get(object, (size_t)atoi(key))
                                   : json_object_get(object, key);
  return object;
}

static const char *text_at(const json_t *object, const char *path) {
  const char *text = json_string_value(at(object, path));
  return text ? text : "(none)";
}

static json_t *manifest_load(const char *template, const ep_slurm_request *request, int count) {
  static const ep_kubernetes_worker WORKERS[] = {{"wrk_1a", "EPOCHD_SECRET=x\n"},
                                                 {"wrk_2b", "EPOCHD_SECRET=y\n"}};
  char *text = NULL;
  ck_assert_int_eq(ep_kubernetes_manifest(template, strlen(template), "team", request, WORKERS,
                                          count, &text, &error),
                   EP_OK);
  json_t *list = json_loads(text, 0, NULL);
  ck_assert_ptr_nonnull(list);
  free(text);
  return list;
}

START_TEST(a_worker_is_a_secret_and_a_job) {
  static const char TEMPLATE[] =
      "{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\", \"metadata\": {\"generateName\": \"x-\", "
      "\"labels\": {\"kueue.x-k8s.io/queue-name\": \"gpus\"}}, \"spec\": {\"completions\": 9, "
      "\"backoffLimit\": 6, \"template\": {\"spec\": {\"restartPolicy\": \"OnFailure\", "
      "\"containers\": [{\"image\": \"epochd:cuda\", \"args\": [\"x\"], "
      "\"volumeMounts\": [{\"name\": \"scratch\", \"mountPath\": \"/tmp\"}], "
      "\"resources\": {\"limits\": {\"nvidia.com/gpu\": 1}}}], "
      "\"volumes\": [{\"name\": \"scratch\", \"emptyDir\": {}}]}}}}";
  const ep_slurm_request request = {.memory_bytes = (2LL << 30) + 1, .cpus = 3};
  json_t *list = manifest_load(TEMPLATE, &request, 2);
  ck_assert_str_eq(text_at(list, "kind"), "List");
  ck_assert_int_eq(json_array_size(at(list, "items")), 4);
  const json_t *secret = at(list, "items/0"), *job = at(list, "items/1");
  ck_assert_str_eq(text_at(secret, "kind"), "Secret");
  ck_assert_str_eq(text_at(secret, "metadata/name"), "epochd-worker-1a");
  ck_assert_str_eq(text_at(secret, "metadata/namespace"), "team");
  ck_assert_str_eq(text_at(secret, "stringData/connection"), "EPOCHD_SECRET=x\n");
  ck_assert_str_eq(text_at(list, "items/2/stringData/connection"), "EPOCHD_SECRET=y\n");
  ck_assert_str_eq(text_at(job, "metadata/name"), "epochd-worker-1a");
  ck_assert_ptr_null(at(job, "metadata/generateName"));
  ck_assert_str_eq(
      json_string_value(json_object_get(at(job, "metadata/labels"), "kueue.x-k8s.io/queue-name")),
      "gpus");
  ck_assert_str_eq(text_at(job, "spec/template/metadata/labels/epochd-worker"), "wrk_1a");
  ck_assert_int_eq(json_integer_value(at(job, "spec/completions")), 1);
  ck_assert_int_eq(json_integer_value(at(job, "spec/parallelism")), 1);
  ck_assert_int_eq(json_integer_value(at(job, "spec/backoffLimit")), 0);
  ck_assert_int_eq(json_integer_value(at(job, "spec/ttlSecondsAfterFinished")), 600);
  const json_t *pod = at(job, "spec/template/spec"), *container = at(pod, "containers/0");
  ck_assert_str_eq(text_at(pod, "restartPolicy"), "Never");
  ck_assert(json_is_false(at(pod, "automountServiceAccountToken")));
  ck_assert_str_eq(text_at(pod, "volumes/1/secret/secretName"), "epochd-worker-1a");
  ck_assert_str_eq(text_at(container, "name"), "worker");
  ck_assert_str_eq(text_at(container, "command/0"), "/usr/lib/epochd/epoch-worker");
  ck_assert_str_eq(text_at(container, "args/0"), "--connect");
  ck_assert_str_eq(text_at(container, "args/1"), "/run/epochd-worker/connection");
  ck_assert_str_eq(text_at(container, "volumeMounts/1/mountPath"), "/run/epochd-worker");
  ck_assert_str_eq(text_at(container, "resources/requests/memory"), "2049Mi");
  ck_assert_str_eq(text_at(container, "resources/limits/memory"), "2049Mi");
  ck_assert_int_eq(json_integer_value(at(container, "resources/requests/cpu")), 3);
  ck_assert_ptr_null(at(container, "resources/limits/cpu"));
  ck_assert_int_eq(
      json_integer_value(json_object_get(at(container, "resources/limits"), "nvidia.com/gpu")), 1);
  json_decref(list);
}
END_TEST

START_TEST(what_a_template_names_stays) {
  static const char TEMPLATE[] =
      "{\"kind\": \"Job\", \"spec\": {\"ttlSecondsAfterFinished\": 5, \"template\": {\"spec\": "
      "{\"automountServiceAccountToken\": true, \"serviceAccountName\": \"a\", \"containers\": "
      "[{\"name\": \"n\", \"image\": \"i\", \"command\": [\"/w\"], \"resources\": {\"limits\": "
      "{\"memory\": \"8Gi\", \"cpu\": 2}}}]}}}}";
  const ep_slurm_request request = {.memory_bytes = 2LL << 30, .cpus = 3};
  json_t *list = manifest_load(TEMPLATE, &request, 1);
  const json_t *pod = at(list, "items/1/spec/template/spec"), *container = at(pod, "containers/0");
  ck_assert_int_eq(json_integer_value(at(list, "items/1/spec/ttlSecondsAfterFinished")), 5);
  ck_assert(json_is_true(at(pod, "automountServiceAccountToken")));
  ck_assert_str_eq(text_at(pod, "serviceAccountName"), "a");
  ck_assert_str_eq(text_at(container, "name"), "n");
  ck_assert_str_eq(text_at(container, "command/0"), "/w");
  ck_assert_str_eq(text_at(container, "resources/limits/memory"), "8Gi");
  ck_assert_ptr_null(at(container, "resources/requests/memory"));
  ck_assert_ptr_null(at(container, "resources/requests/cpu"));
  json_decref(list);
}
END_TEST

START_TEST(what_is_no_template_is_refused) {
  static const struct {
    const char *template, *words;
  } CASES[] = {
      {"{\"kind\": \"Pod\"}", "its kind is \"Pod\": it must be Job"},
      {"{}", "its kind is \"\""},
      {"{\"kind\": \"Job\", \"spec\": {\"template\": {\"spec\": {\"containers\": []}}}}", "image"},
      {"{\"kind\": \"Job\", \"spec\": {\"template\": {\"spec\": {\"containers\": [{}]}}}}",
       "image"},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    ck_assert_int_eq(
        ep_kubernetes_template_check(CASES[i].template, strlen(CASES[i].template), &error),
        EP_INVALID);
    ck_assert_msg(strstr(error.message, CASES[i].words) != NULL, "%s", error.message);
  }
  ck_assert_int_ne(ep_kubernetes_template_check("x", 1, &error), EP_OK);
}
END_TEST

EP_SUITE("server/kubernetes") {
  TCase *tests = ep_suite_case(suite, "kubernetes");
  tcase_add_test(tests, workers_are_their_jobs_and_pods);
  tcase_add_test(tests, a_list_has_a_ceiling);
  tcase_add_test(tests, a_worker_is_a_secret_and_a_job);
  tcase_add_test(tests, what_a_template_names_stays);
  tcase_add_test(tests, what_is_no_template_is_refused);
}
