/* Commands that are scripts of the test: what they are told, and what comes of what they do. */
#include "server/slurm/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/limits.h"
#include "server/slurm/child.h"
#include "tests/suite.h"
#include "tests/unit/server/scratch.h"

static char path[4096];
static ep_error error;

static void command_write(const char *name, const char *script) {
  const char *file = scratch_path(name);
  FILE *out = fopen(file, "w");
  ck_assert_ptr_nonnull(out);
  fprintf(out, "#!/bin/sh\n%s\n", script);
  fclose(out);
  ck_assert_int_eq(chmod(file, 0755), 0);
}

static void text_read(const char *name, char *text, size_t bytes) {
  FILE *in = fopen(scratch_path(name), "r");
  ck_assert_msg(in != NULL, "%s", name);
  text[fread(text, 1, bytes - 1, in)] = 0;
  fclose(in);
}

static void setup(void) {
  scratch_open();
  snprintf(path, sizeof path, "%s:/usr/bin:/bin", scratch_dir);
  setenv("PATH", path, 1);
  setenv("EPOCHD_TEST_SECRET", "x", 1);
}

static ep_slurm_submission submission_make(void) {
  ep_slurm_submission made = {.workers = 4,
                              .name = "epochd-x",
                              .script = "#!/bin/sh\nexec true\n",
                              .folder = "/",
                              .options = "--reservation=r  --mail-type=NONE"};
  strcpy(made.request.partition, "gpu");
  strcpy(made.request.qos, "long one"); /* one word, whatever is in it */
  made.request.gpus = 1;
  made.request.cpus = 3;
  made.request.memory_bytes = (1 << 20) + 1;
  made.request.minutes = 90;
  return made;
}

START_TEST(a_submission_is_words) {
  char text[4096];
  int64_t job = 0;
  command_write("sbatch", "cd \"$(dirname \"$0\")\"; for w; do echo \"$w\"; done >told\n"
                          "cat >script; env >environment; echo 77");
  ep_slurm_submission submission = submission_make();
  ck_assert_msg(ep_slurm_submit(&submission, &job, &error) == EP_OK, "%s", error.message);
  ck_assert_int_eq(job, 77);
  text_read("told", text, sizeof text);
  ck_assert_str_eq(text,
                   "--reservation=r\n--mail-type=NONE\n--parsable\n--export=ALL\n--no-requeue\n"
                   "--nodes=1\n--ntasks=1\n--signal=B:TERM@60\n--array=0-3\n"
                   "--job-name=epochd-x\n--output=/dev/null\n--chdir=/\n--partition=gpu\n"
                   "--qos=long one\n--gpus=1\n--cpus-per-task=3\n--mem=2M\n--time=90\n");
  text_read("script", text, sizeof text);
  ck_assert_str_eq(text, submission.script);
  text_read("environment", text, sizeof text);
  ck_assert_ptr_nonnull(strstr(text, "SLURM_TIME_FORMAT=%s\n"));
  ck_assert_ptr_null(strstr(text, "EPOCHD_TEST_SECRET"));
}
END_TEST

START_TEST(arrays_have_limits) {
  int64_t job = 0;
  command_write("sbatch", "echo 77");
  ep_slurm_submission submission = submission_make();
  submission.workers = EP_LIMIT_SLURM_ARRAY;
  ck_assert_int_eq(ep_slurm_submit(&submission, &job, &error), EP_OK);
  submission.workers++;
  ck_assert_int_eq(ep_slurm_submit(&submission, &job, &error), EP_INVALID);
  submission.workers = 0;
  ck_assert_int_eq(ep_slurm_submit(&submission, &job, &error), EP_INVALID);
  char options[EP_LIMIT_SLURM_OPTIONS * 2 + 3] = "";
  for (int i = 0; i < EP_LIMIT_SLURM_OPTIONS; i++) strcat(options, "x ");
  submission.workers = 1;
  submission.options = options;
  ck_assert_int_eq(ep_slurm_submit(&submission, &job, &error), EP_OK);
  strcat(options, "x");
  ck_assert_int_eq(ep_slurm_submit(&submission, &job, &error), EP_INVALID);
}
END_TEST

START_TEST(a_refusal_has_the_commands_words) {
  int64_t job = 0;
  ep_slurm_jobs jobs;
  ep_slurm_submission submission = submission_make();
  command_write("sbatch", "echo 'sbatch: error: QOSMaxSubmit' >&2; exit 1");
  ck_assert_int_eq(ep_slurm_submit(&submission, &job, &error), EP_INVALID);
  ck_assert_str_eq(error.message, "sbatch: error: QOSMaxSubmit");
  command_write("sbatch", "exit 4");
  ck_assert_int_eq(ep_slurm_submit(&submission, &job, &error), EP_INVALID);
  ck_assert_str_eq(error.message, "sbatch ended with exit code 4");
  command_write("sbatch", "echo done");
  ck_assert_int_eq(ep_slurm_submit(&submission, &job, &error), EP_UNKNOWN);
  command_write("squeue",
                "echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1");
  ck_assert_int_eq(ep_slurm_list("x", &jobs, &error), EP_UNAVAILABLE);
  /* The end of many words is the reason. */
  command_write("scancel",
                "i=0; while [ $i -lt 200 ]; do echo word $i >&2; i=$((i+1)); done; exit 1");
  ck_assert_int_eq(ep_slurm_cancel(3, -1, &error), EP_INVALID);
  ck_assert_ptr_nonnull(strstr(error.message, "word 199"));
  ck_assert_ptr_null(strstr(error.message, "word 0 "));
}
END_TEST

START_TEST(a_job_that_is_gone_is_cancelled) {
  char text[64];
  command_write("scancel",
                "echo \"$*\" >\"$(dirname \"$0\")\"/told\n"
                "echo 'scancel: error: Kill job error on job id 3: Invalid job id specified'"
                " >&2; exit 1");
  ck_assert_int_eq(ep_slurm_cancel(3, 2, &error), EP_OK);
  text_read("told", text, sizeof text);
  ck_assert_str_eq(text, "3_2\n");
  ck_assert_int_eq(ep_slurm_cancel(3, -1, &error), EP_OK);
  text_read("told", text, sizeof text);
  ck_assert_str_eq(text, "3\n");
}
END_TEST

START_TEST(the_accounting_knows_how_a_job_ended) {
  ep_slurm_ending ending;
  char text[128];
  command_write("sacct", "echo \"$*\" >\"$(dirname \"$0\")\"/told\n"
                         "echo 'TIMEOUT|0:0|01:00:03|n1'");
  ck_assert_int_eq(ep_slurm_ending_find(3, 2, &ending, &error), EP_OK);
  ck_assert_str_eq(ending.state, "TIMEOUT");
  text_read("told", text, sizeof text);
  ck_assert_str_eq(text, "--parsable2 --noheader --allocations "
                         "--format=State,ExitCode,Elapsed,NodeList --jobs=3_2\n");
  command_write("sacct", "echo 'RUNNING|0:0|01:00:03|n1'");
  ck_assert_int_eq(ep_slurm_ending_find(3, -1, &ending, &error), EP_NOT_FOUND);
  command_write("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
  ck_assert_int_eq(ep_slurm_ending_find(3, 2, &ending, &error), EP_UNAVAILABLE);
}
END_TEST

START_TEST(a_command_that_is_absent_is_named) {
  ep_slurm_jobs jobs;
  setenv("PATH", scratch_dir, 1);
  ck_assert_int_eq(ep_slurm_commands_check(&error), EP_UNAVAILABLE);
  ck_assert_ptr_nonnull(strstr(error.message, "sbatch not found on the PATH"));
  ck_assert_int_eq(ep_slurm_list("x", &jobs, &error), EP_UNAVAILABLE);
  ck_assert_str_eq(error.message, "squeue not found on the PATH");
  ep_slurm_ending ending; /* of clusters without accounting nothing more is asked */
  ck_assert_int_eq(ep_slurm_ending_find(3, 2, &ending, &error), EP_UNAVAILABLE);
  const char *const all[] = {"sbatch", "squeue", "scancel", "sinfo", "scontrol"};
  for (int i = 0; i < 5; i++) command_write(all[i], "exit 0");
  ck_assert_int_eq(ep_slurm_commands_check(&error), EP_OK);
}
END_TEST

START_TEST(a_child_has_limits) {
  ep_slurm_child child;
  const char *const slow[] = {"slow", NULL}, *const silent[] = {"silent", NULL},
                    *const loud[] = {"loud", NULL};
  command_write("slow", "exec sleep 1000");
  ck_assert_int_eq(ep_slurm_child_run(slow, NULL, 50, &child, &error), EP_UNAVAILABLE);
  ck_assert_str_eq(error.message, "slow did not end in time");
  command_write("silent", "exec sleep 1000 >&- 2>&-"); /* its pipes end before it does */
  ck_assert_int_eq(ep_slurm_child_run(silent, NULL, 50, &child, &error), EP_UNAVAILABLE);
  ck_assert_str_eq(error.message, "silent did not end in time");
  command_write("loud", "exec cat /dev/zero");
  ck_assert_int_eq(ep_slurm_child_run(loud, NULL, 30000, &child, &error), EP_TOO_LARGE);
  char *script = calloc(1, EP_LIMIT_SLURM_INPUT_BYTES + 2);
  memset(script, 'x', EP_LIMIT_SLURM_INPUT_BYTES);
  command_write("loud", "exec wc -c");
  ck_assert_int_eq(ep_slurm_child_run(loud, script, 30000, &child, &error), EP_OK);
  ck_assert_int_eq(atoi(child.output), EP_LIMIT_SLURM_INPUT_BYTES);
  ep_slurm_child_deinit(&child);
  script[EP_LIMIT_SLURM_INPUT_BYTES] = 'x';
  ck_assert_int_eq(ep_slurm_child_run(loud, script, 30000, &child, &error), EP_TOO_LARGE);
  free(script);
}
END_TEST

EP_SUITE("server/slurm/commands") {
  TCase *tests = ep_suite_case(suite, "commands");
  tcase_add_checked_fixture(tests, setup, scratch_close);
  tcase_add_test(tests, a_submission_is_words);
  tcase_add_test(tests, arrays_have_limits);
  tcase_add_test(tests, a_refusal_has_the_commands_words);
  tcase_add_test(tests, a_job_that_is_gone_is_cancelled);
  tcase_add_test(tests, the_accounting_knows_how_a_job_ended);
  tcase_add_test(tests, a_command_that_is_absent_is_named);
  tcase_add_test(tests, a_child_has_limits);
}
