/* Tests of server/jobs/lifecycle/recover.c and end.c with fake workers: what a daemon finds when it
 * opens the folder of one that was ended, or killed. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "server/process/log.h"
#include "server/store/store.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

/* What the log says of a restart. */
static char said[256];

static void said_take(ep_log_level level, const char *text) {
  if (level == EP_LOG_INFO && strstr(text, "not finished")) snprintf(said, sizeof said, "%s", text);
}

START_TEST(a_restart_goes_on_with_everything) {
  ep_jobs *jobs = jobs_open("cpu");
  char running[EP_ID_BYTES], queued[EP_ID_BYTES];
  job_submit(jobs, "slow", 300, running);
  job_submit(jobs, "slow", 2, queued); /* some milliseconds: times are told apart by one */
  wait_until(job_number(jobs, running, "\"epoch\":") >= 10);
  ep_jobs_close(jobs);
  ep_log_set_sink(said_take);
  jobs = jobs_open("cpu");
  ck_assert_str_eq(said, "2 jobs were not finished and are queued");
  job_wait(jobs, running, "succeeded");
  job_wait(jobs, queued, "succeeded");
  char *events = job_events(jobs, running);
  ck_assert_int_eq(count_of(events, "\"type\":\"epoch\""), 300);
  ck_assert_int_eq(count_of(events, "\"type\":\"restarted\""), 1);
  ck_assert_int_eq(count_of(events, "\"type\":\"end\""), 1);
  events_check(events);
  free(events);
  ck_assert(job_time(jobs, running) < job_time(jobs, queued)); /* it goes first */
  ep_jobs_close(jobs);
}
END_TEST

/* Handed to a worker that had not said a word of it: for the next start it is as if that had not
 * been, also where it was cancelled meanwhile (1). */
START_TEST(what_never_began_was_no_attempt) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "silent", 10, id);
  devices_wait(jobs, "\"state\":\"busy\"", 1);
  if (_i == 1) assert_ok(ep_jobs_cancel(jobs, id, error));
  ep_jobs_close(jobs);
  ep_store *store = NULL;
  ep_job_row row;
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
  assert_ok(ep_store_job_get(store, id, &row, error));
  ck_assert_int_eq(row.state, _i == 0 ? EP_STATE_QUEUED : EP_STATE_CANCELLED);
  ck_assert_int_eq(row.attempt, 0);
  ck_assert_int_eq(row.started_us, 0);
  ck_assert_str_eq(row.device, "");
  ep_job_row_deinit(&row);
  ep_store_close(store);
}
END_TEST

/* Of an ended job's log, all that came after its first `kept` bytes is lost, and comes back. */
static void log_comes_back(const char *id, char *before, off_t kept) {
  char path[400];
  snprintf(path, sizeof path, "%s/jobs/%s/events.ndjson", scratch_dir, id);
  ck_assert_int_eq(truncate(path, kept), 0);
  ep_jobs *jobs = jobs_open("cpu");
  char *after = job_events(jobs, id);
  ck_assert_str_eq(before, after);
  free(before);
  free(after);
  ep_jobs_close(jobs);
}

START_TEST(one_job_is_counted_as_one) {
  char id[EP_ID_BYTES];
  ep_jobs *jobs = jobs_open("cpu");
  job_submit(jobs, "slow", 300, id);
  wait_until(job_number(jobs, id, "\"epoch\":") >= 10);
  ep_jobs_close(jobs);
  ep_log_set_sink(said_take);
  jobs = jobs_open("cpu");
  ck_assert_str_eq(said, "1 job was not finished and is queued");
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(a_missing_end_is_made_up_for) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "instant", 10, id);
  job_wait(jobs, id, "succeeded");
  char *before = job_events(jobs, id);
  ep_jobs_close(jobs);
  char *end = strstr(before, "\"type\":\"end\"");
  while (end[-1] != '\n') end--;
  log_comes_back(id, before, end - before + _i); /* torn too */
}
END_TEST

/* A power failure kept the newline of the end, and lost what is before it. */
START_TEST(an_end_with_a_hole_is_written_again) {
  static const char zeros[8];
  char id[EP_ID_BYTES], path[400];
  ep_jobs *jobs = jobs_open("cpu");
  job_submit(jobs, "instant", 10, id);
  job_wait(jobs, id, "succeeded");
  char *before = job_events(jobs, id);
  ep_jobs_close(jobs);
  char *end = strstr(before, "\"type\":\"end\"");
  while (end[-1] != '\n') end--;
  snprintf(path, sizeof path, "%s/jobs/%s/events.ndjson", scratch_dir, id);
  int file = open(path, O_WRONLY);
  ck_assert_int_eq(pwrite(file, zeros, sizeof zeros, end - before), sizeof zeros);
  close(file);
  log_comes_back(id, before, (off_t)strlen(before));
}
END_TEST

/* Of a job that never began no line was waited for: a crash may take all of them. */
START_TEST(missing_lines_are_made_up_for) {
  ep_jobs *jobs = jobs_open("cpu");
  char running[EP_ID_BYTES], id[EP_ID_BYTES];
  job_submit(jobs, "slow", 100000, running);
  job_submit(jobs, "instant", 10, id);
  assert_ok(ep_jobs_cancel(jobs, id, error));
  char *before = job_events(jobs, id);
  ck_assert_int_eq(count_of(before, "\n"), 2);
  assert_ok(ep_jobs_cancel(jobs, running, error));
  job_wait(jobs, running, "cancelled");
  ep_jobs_close(jobs);
  log_comes_back(id, before, _i); /* torn too */
}
END_TEST

/* The log or the row: where the line of a first start is gone, the row has it. */
START_TEST(a_missing_start_is_made_up_for) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES], path[400];
  job_submit(jobs, "slow", 300, id);
  wait_until(events_count(jobs, id, "epoch") >= 10); /* on disk */
  char *before = job_events(jobs, id);
  ep_jobs_close(jobs);
  snprintf(path, sizeof path, "%s/jobs/%s/events.ndjson", scratch_dir, id);
  char *start = strchr(before, '\n') + 1, *epochs = strchr(start, '\n') + 1;
  ck_assert_ptr_nonnull(strstr(start, "\"type\":\"started\""));
  ck_assert_int_eq(truncate(path, start - before + _i), 0); /* torn too */
  jobs = jobs_open("cpu");
  job_wait(jobs, id, "succeeded");
  char *after = job_events(jobs, id);
  ck_assert_int_eq(strncmp(before, after, (size_t)(epochs - before)), 0);
  ck_assert_int_eq(count_of(after, "\"type\":\"started\""), 1);
  ck_assert_int_eq(count_of(after, "\"type\":\"restarted\""), 1);
  ck_assert_int_eq(count_of(after, "\"type\":\"epoch\""), 300);
  events_check(after);
  free(before);
  free(after);
  ep_jobs_close(jobs);
}
END_TEST

static void folder_file(const char *folder, const char *file, const char *text) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s/%s", scratch_dir, folder, file);
  assert_ok(ep_data_dir_write_file(path, text, strlen(text), error));
}

/* Makes DATA/<folder> with one file in it. */
static void folder_make(const char *folder, const char *file) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", scratch_dir, folder);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  folder_file(folder, file, "x");
}

static int lost_count;

static void lost_add(void *context, const char *name) {
  (void)context, (void)name;
  lost_count++;
}

/* What no row knows goes only where it was never accepted, or was being deleted; all else is kept.
 * A worker may have left results before the job was accepted: its log is `queued` alone then. Jobs
 * are taken already, so a folder that may be of a job that is being submitted stays. */
START_TEST(leftovers_go_and_strangers_are_kept) {
  const struct {
    const char *folder, *file;
    bool kept;
  } leftovers[] = {
      {"tmp/half", "file", false},
      {"jobs/job_01kaaaaaaaaaaaaaaaaaaaaaaa", "events.ndjson", false},
      {"jobs/job_01kaaaaaaaaaaaaaaaaaaaaaab.deleted", "spec.json", false},
      {"jobs/job_01kaaaaaaaaaaaaaaaaaaaaaac", "spec.json", true},
      {"jobs/job_01kaaaaaaaaaaaaaaaaaaaaaad", "weights.safetensors", true},
      {"jobs/job_01kaaaaaaaaaaaaaaaaaaaaaae", "weights.safetensors", false},
      {"jobs/job_01kaaaaaaaaaaaaaaaaaaaaaaf", "weights.safetensors", false},
      {"jobs/job_01kaaaaaaaaaaaaaaaaaaaaaag", "weights.safetensors", false},
      {"jobs/notes", "file", true},
      {"datasets/0123456789012345678901234567890123456789012345678901234567890123", "meta.json",
       true},
      {"datasets/1123456789012345678901234567890123456789012345678901234567890123", "unnamed",
       _i == 1},
      {"datasets/own", "file", true},
  };
  ep_jobs *jobs = jobs_open("cpu");
  int kept = 0;
  char path[400];
  ep_jobs_close(jobs);
  folder_make("jobs/job_7zzzzzzzzzzzzzzzzzzzzzzzzz", "spec.json");
  for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++) {
    bool accepted = i == 3 || i == 4;
    if (_i == 0 && accepted) continue; /* their dataset is not known either */
    folder_make(leftovers[i].folder, leftovers[i].file);
    kept += leftovers[i].kept;
  }
  if (_i == 1) folder_file(leftovers[4].folder, "events.ndjson", "queued\nstarted\n");
  folder_file(leftovers[5].folder, "events.ndjson", "queued\n");
  folder_file(leftovers[6].folder, "events.ndjson", "torn");
  jobs = jobs_open("cpu");
  for (size_t i = 0; i < sizeof leftovers / sizeof *leftovers; i++) {
    snprintf(path, sizeof path, "%s/%s", scratch_dir, leftovers[i].folder);
    wait_until(!ep_data_dir_exists(path));
  }
  ck_assert(ep_data_dir_exists(scratch_path("jobs/job_7zzzzzzzzzzzzzzzzzzzzzzzzz")));
  lost_count = 0;
  assert_ok(ep_data_dir_list(scratch_path("lost+found"), lost_add, NULL, error));
  ck_assert_int_eq(lost_count, kept);
  ep_jobs_close(jobs);
}
END_TEST

/* A job that was being deleted when the daemon died, before its row was gone, is there again, with
 * the end that its log had lost (1). */
START_TEST(a_deletion_that_was_cut_short_is_undone) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES], path[400], marked[420], log[420];
  struct stat state;
  job_submit(jobs, "instant", 10, id);
  job_wait(jobs, id, "succeeded");
  char *before = job_events(jobs, id);
  ep_jobs_close(jobs);
  snprintf(path, sizeof path, "%s/jobs/%s", scratch_dir, id);
  snprintf(marked, sizeof marked, "%s.deleted", path);
  snprintf(log, sizeof log, "%s/events.ndjson", path);
  if (_i == 1) ck_assert_int_eq(truncate(log, strstr(before, "\"type\":\"end\"") - before), 0);
  ck_assert_int_eq(rename(path, marked), 0);
  jobs = jobs_open("cpu");
  wait_until(stat(log, &state) == 0 &&
             state.st_size == (off_t)strlen(before)); /* nobody reads it */
  char *events = job_events(jobs, id);
  events_check(events);
  ck_assert_str_eq(events, before);
  free(events);
  free(before);
  assert_ok(ep_jobs_delete(jobs, id, NULL, error));
  ck_assert_int_eq(jobs_folders(), 0);
  ep_jobs_close(jobs);
}
END_TEST

/* Without its store (0), or with an empty one (1), the daemon does not start over folders of jobs,
 * unless it is told to; then they are kept. */
START_TEST(a_lost_store_is_refused) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = jobs_open("cpu");
  ep_error why = {0};
  char id[EP_ID_BYTES];
  job_submit(jobs, "instant", 10, id);
  job_wait(jobs, id, "succeeded");
  ep_jobs_close(jobs);
  ck_assert_int_eq(unlink(scratch_path("epochd.sqlite")), 0);
  if (_i == 1) assert_ok(ep_data_dir_write_file(scratch_path("epochd.sqlite"), "", 0, error));
  for (int again = 0; again < 2; again++) {
    ck_assert_int_eq(ep_jobs_open(&options, &jobs, &why), EP_CONFLICT);
    ck_assert_ptr_nonnull(strstr(why.message, "--rescue"));
  }
  ck_assert_int_eq(jobs_folders(), 1);
  options.new_store = true;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  wait_until(jobs_folders() == 0);
  lost_count = 0;
  assert_ok(ep_data_dir_list(scratch_path("lost+found"), lost_add, NULL, error));
  ck_assert_int_eq(lost_count, 1);
  ep_jobs_close(jobs);
}
END_TEST

static const char *line_start(const char *text, const char *at) {
  while (at > text && at[-1] != '\n') at--;
  return at;
}

/* Has the `started` line of a log say another attempt, and the beginning of its second. */
static void start_edit(const char *id, int attempt) {
  char path[400], lines[65536];
  snprintf(path, sizeof path, "%s/jobs/%s/events.ndjson", scratch_dir, id);
  FILE *log = fopen(path, "r+");
  ck_assert_ptr_nonnull(log);
  lines[fread(lines, 1, sizeof lines - 1, log)] = 0;
  char *line = strstr(lines, "\"type\":\"started\"");
  char *time = strchr(strstr(line, "\"time\""), '.') + 1;
  char *number = strstr(line, "\"attempt\":1") + strlen("\"attempt\":");
  memcpy(time, "000", 3);
  *number = (char)('0' + attempt);
  char digits[9], *seal = strstr(line, ",\"crc\":\"");
  snprintf(digits, sizeof digits, "%08lx",
           crc32_z(0, (const unsigned char *)line_start(lines, line),
                   (size_t)(seal - line_start(lines, line))));
  memcpy(seal + strlen(",\"crc\":\""), digits, 8);
  rewind(log);
  ck_assert_int_eq(fputs(lines, log) >= 0, 1);
  fclose(log);
}

/* The row of a first start is not waited for: where a crash took it, the line has it. That start
 * may not be the first attempt (1): of one before it, which a stop of the daemon cut short, the row
 * knows. */
START_TEST(a_lost_start_is_read_from_its_line) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES], executor[64];
  job_submit(jobs, "fickle", 60, id); /* would not choose the same executor again */
  wait_until(job_number(jobs, id, "\"epoch\":") >= 10);
  ep_jobs_close(jobs);
  ep_store *store = NULL;
  ep_job_row row;
  assert_ok(ep_store_open(scratch_path("epochd.sqlite"), &store, error));
  assert_ok(ep_store_job_get(store, id, &row, error));
  snprintf(executor, sizeof executor, "\"executor\":\"%s\"", row.executor);
  ck_assert_int_eq(row.attempt, 1);
  row.state = EP_STATE_QUEUED;
  row.device[0] = row.executor[0] = 0;
  row.attempt = _i;
  start_edit(id, 1 + _i);
  row.started_us = 0;
  assert_ok(ep_store_job_update(store, &row, error));
  ep_job_row_deinit(&row);
  ep_store_close(store);
  jobs = jobs_open("cpu");
  char *text = job_text(jobs, id);
  ck_assert_ptr_nonnull(strstr(text, executor));
  ck_assert_ptr_null(strstr(text, "\"queued_seconds\":-"));
  free(text);
  job_wait(jobs, id, "succeeded");
  text = job_text(jobs, id);
  ck_assert_ptr_nonnull(strstr(text, executor));
  free(text);
  ck_assert_int_eq(job_number(jobs, id, "\"attempt\":"), 2 + _i);
  char *events = job_events(jobs, id);
  ck_assert_int_eq(count_of(events, "\"type\":\"started\""), 1);
  ck_assert_int_eq(count_of(events, "\"type\":\"restarted\""), 1);
  ck_assert_int_eq(count_of(events, "\"type\":\"epoch\""), 60);
  events_check(events);
  free(events);
  ep_jobs_close(jobs);
}
END_TEST

/* Of a job that had not ended, no results are left; of one that had, all. */
START_TEST(results_without_an_end_go_at_start) {
  static const char *const names[] = {"weights.safetensors", "predictions.json", "predictions.csv"};
  ep_jobs *jobs = jobs_open("cpu");
  char ids[2][EP_ID_BYTES], path[400];
  job_submit(jobs, "instant", 10, ids[0]);
  job_wait(jobs, ids[0], "succeeded");
  job_submit(jobs, "slow", 1000, ids[1]);
  wait_until(job_number(jobs, ids[1], "\"epoch\":") >= 1);
  ep_jobs_close(jobs);
  for (int i = 0; i < 6; i++) {
    snprintf(path, sizeof path, "%s/jobs/%s/%s", scratch_dir, ids[i / 3], names[i % 3]);
    assert_ok(ep_data_dir_write_file(path, "x", 1, error));
  }
  jobs = jobs_open("cpu");
  for (int i = 0; i < 6; i++) {
    snprintf(path, sizeof path, "%s/jobs/%s/%s", scratch_dir, ids[i / 3], names[i % 3]);
    ck_assert_msg(ep_data_dir_exists(path) == (i < 3), "%s", path);
  }
  ep_jobs_close(jobs);
}
END_TEST

/* spec.json is what the row says, also where a bit of it has changed. Of two unfinished jobs one
 * has a row that is damaged: the other one goes on, and the first keeps its folder. */
START_TEST(what_a_disk_has_damaged_stays_alone) {
  ep_jobs *jobs = jobs_open("cpu");
  char ids[2][EP_ID_BYTES], path[2][256], sql[128], before[4096] = {0}, after[4096] = {0}, *text;
  uint64_t version;
  for (int i = 0; i < 2; i++) {
    job_submit(jobs, "slow", 300, ids[i]);
    snprintf(path[i], sizeof path[i], "%s/jobs/%s/spec.json", scratch_dir, ids[i]);
  }
  wait_until(job_number(jobs, ids[0], "\"epoch\":") >= 1);
  ep_jobs_close(jobs);
  FILE *file = fopen(path[0], "r+");
  ck_assert(file && fread(before, 1, sizeof before - 1, file) > 0);
  ck_assert(fseek(file, 5, SEEK_SET) == 0 && fputc(before[5] ^ 1, file) != EOF);
  ck_assert_int_eq(fclose(file), 0);
  sqlite3 *database = NULL;
  ck_assert_int_eq(sqlite3_open(scratch_path("epochd.sqlite"), &database), SQLITE_OK);
  snprintf(sql, sizeof sql, "UPDATE jobs SET epochs = 301 WHERE id = '%s'", ids[1]);
  ck_assert_int_eq(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(database);
  jobs = jobs_open("cpu");
  job_wait(jobs, ids[0], "succeeded");
  file = fopen(path[0], "r");
  ck_assert(file && fread(after, 1, sizeof after - 1, file) > 0);
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_str_eq(after, before);
  assert_ok(ep_jobs_get(jobs, ids[1], &text, &version, error));
  ck_assert_msg(strstr(text, "\"damaged\"") && strstr(text, "row of job"), "%s", text);
  free(text);
  ck_assert(ep_data_dir_exists(path[1]));
  ep_jobs_close(jobs);
}
END_TEST

/* A daemon of its own submits in a loop and says what was acknowledged; it is killed in the middle.
 * Opened again, every one of them is there and ends, with its events in order and one end. */
static void daemon_run(int pipe_fd) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  for (int i = 0;; i++) {
    job_submit(jobs, i % 5 == 3 ? "kill-once" : "instant", 20, id);
    if (write(pipe_fd, id, sizeof id) != sizeof id) _exit(0);
  }
}

START_TEST(a_killed_daemon_loses_nothing) {
  enum { MOST = 4000 };
  static char ids[MOST][EP_ID_BYTES];
  int pipes[2], count = 0;
  ck_assert_int_eq(pipe(pipes), 0);
  pid_t child = fork();
  if (child == 0) daemon_run(pipes[1]);
  close(pipes[1]);
  while (count < 10 * (_i + 1))
    ck_assert_int_eq(read(pipes[0], ids[count++], EP_ID_BYTES), EP_ID_BYTES);
  kill(child, SIGKILL);
  while (count < MOST && read(pipes[0], ids[count], EP_ID_BYTES) == EP_ID_BYTES) count++;
  close(pipes[0]);
  waitpid(child, NULL, 0);
  ep_jobs *jobs = jobs_open("cpu");
  for (int i = 0; i < count; i++) {
    job_wait(jobs, ids[i], "succeeded");
    char *events = job_events(jobs, ids[i]);
    ck_assert_int_eq(count_of(events, "\"type\":\"queued\""), 1);
    ck_assert_int_eq(count_of(events, "\"type\":\"epoch\""), 20);
    ck_assert_int_eq(count_of(events, "\"type\":\"end\""), 1);
    events_check(events);
    free(events);
  }
  printf("%d acknowledged jobs, all there after kill -9\n", count);
  ep_jobs_close(jobs);
}
END_TEST

EP_SUITE("recovery") {
  TCase *tests = ep_suite_case(suite, "recovery");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, a_restart_goes_on_with_everything);
  tcase_add_loop_test(tests, what_never_began_was_no_attempt, 0, 2);
  tcase_add_test(tests, one_job_is_counted_as_one);
  tcase_add_loop_test(tests, a_missing_end_is_made_up_for, 0, 2);
  tcase_add_test(tests, an_end_with_a_hole_is_written_again);
  tcase_add_loop_test(tests, missing_lines_are_made_up_for, 0, 2);
  tcase_add_loop_test(tests, a_missing_start_is_made_up_for, 0, 2);
  tcase_add_loop_test(tests, leftovers_go_and_strangers_are_kept, 0, 2);
  tcase_add_loop_test(tests, a_deletion_that_was_cut_short_is_undone, 0, 2);
  tcase_add_loop_test(tests, a_lost_store_is_refused, 0, 2);
  tcase_add_loop_test(tests, a_lost_start_is_read_from_its_line, 0, 2);
  tcase_add_test(tests, results_without_an_end_go_at_start);
  tcase_add_test(tests, what_a_disk_has_damaged_stays_alone);
  tcase_add_loop_test(tests, a_killed_daemon_loses_nothing, 0, 3);
}
