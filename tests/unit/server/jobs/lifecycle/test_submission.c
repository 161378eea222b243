/* Tests of server/jobs/lifecycle/submit.c with fake workers and a disk that is slow, or refuses: a
 * worker begins with a job while its row is on the way to the disk, and nobody is shown any of it.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/jobs/live/state.h"
#include "tests/suite.h"
#include "tests/unit/server/jobs_fixture.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

/* A thread may be left without memory, by the linker's --wrap; libraries keep theirs. */
static _Thread_local bool memory_gone;
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

/* Nor do all threads but one have it to let something grow. */
static atomic_bool growth_gone;
static _Thread_local bool growth_kept;

void *__wrap_realloc(void *block, size_t bytes) {
  return atomic_load(&growth_gone) && !growth_kept ? NULL : __real_realloc(block, bytes);
}

void *__wrap_malloc(size_t bytes) {
  return memory_gone ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return memory_gone ? NULL : __real_calloc(count, bytes);
}

/* Threads that wait for a row to come to the disk, by the linker's --wrap. */
static _Atomic(pthread_cond_t *) row_stored; /* where they wait */
static atomic_int row_waits;
int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
  if (condition != atomic_load(&row_stored)) return __real_pthread_cond_wait(condition, mutex);
  atomic_fetch_add(&row_waits, 1);
  int failed = __real_pthread_cond_wait(condition, mutex);
  atomic_fetch_sub(&row_waits, 1);
  return failed;
}

/* In the place of the system's, for SQLite too. A sync returns once so many wait for a row; those
 * after it don't wait. */
static atomic_int syncs, disk_awaits;
static atomic_bool sync_fails, memory_goes;  /* the latter with the first failure */
static _Thread_local atomic_bool *row_syncs; /* set when this thread's row is on its way */
int fdatasync(int fd) {
  atomic_fetch_add(&syncs, 1);
  if (row_syncs != NULL) atomic_store(row_syncs, true);
  wait_until(atomic_load(&row_waits) >= atomic_load(&disk_awaits));
  atomic_store(&disk_awaits, 0);
  if (!atomic_load(&sync_fails)) return (int)syscall(SYS_fdatasync, fd);
  memory_gone = atomic_load(&memory_goes);
  errno = EIO;
  return -1;
}

/* Folders that were synced while it is noted, each with a newline. */
static char synced[4096];
static atomic_bool syncs_noted;
int fsync(int fd) {
  char link[64], path[300];
  if (atomic_load(&syncs_noted)) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    size_t used = strlen(synced);
    snprintf(synced + used, sizeof synced - used, "%s\n", path);
  }
  return (int)syscall(SYS_fsync, fd);
}

/* A submission on a thread of its own. */
typedef struct {
  ep_jobs *jobs;
  const char *name;
  int64_t epochs;
  char id[EP_ID_BYTES];
  ep_status status;
  pthread_t thread;
  atomic_bool syncs, answered; /* its row is on its way to the disk; it is there, or refused */
} submission;

static void *submit_run(void *context) {
  submission *s = context;
  char spec[512];
  bool repeated;
  row_syncs = &s->syncs;
  ep_problem problem = {0};
  spec_write(spec, sizeof spec, s->name, s->epochs, "auto", 0);
  s->status = ep_jobs_submit(s->jobs, &(ep_submission){.json = spec, .bytes = strlen(spec)}, s->id,
                             &repeated, &problem);
  atomic_store(&s->answered, true);
  return NULL;
}

static void submit_begin(submission *s, ep_jobs *jobs, const char *name, int64_t epochs) {
  *s = (submission){.jobs = jobs, .name = name, .epochs = epochs};
  ck_assert_int_eq(pthread_create(&s->thread, NULL, submit_run, s), 0);
}

/* From here on no sync returns before so many wait for a row; or before disk_heal. */
static void disk_hold(ep_jobs *jobs, int row_waits_least) {
  atomic_store(&row_stored, &jobs->stored);
  atomic_store(&disk_awaits, row_waits_least);
}

static void disk_heal(void) {
  atomic_store(&sync_fails, false);
  atomic_store(&disk_awaits, 0);
}

static void id_note(void *context, const char *name) {
  snprintf(context, 40, "%s", name);
}

/* The id of the only job that has a folder; false when there is none. */
static bool id_find(char id[EP_ID_BYTES]) {
  char path[200];
  snprintf(path, sizeof path, "%s/jobs", scratch_dir);
  id[0] = 0;
  assert_ok(ep_data_dir_list(path, id_note, id, error));
  return id[0] != 0;
}

/* Jobs in the queue's text, running or queued. */
static int queue_count(ep_jobs *jobs) {
  char *text = NULL;
  assert_ok(ep_jobs_queue(jobs, &(ep_viewer){0}, &text, error));
  int count = count_of(text, "\"job_");
  free(text);
  return count;
}

static void idle_wait(ep_jobs *jobs) {
  devices_wait(jobs, "\"state\":\"idle\"", 1);
}

static int lines_count(const char *path) {
  char text[4096];
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return count_of(text, "\n");
}

START_TEST(begins_while_the_row_is_on_its_way) {
  ep_jobs *jobs = jobs_open("cpu");
  submission s;
  char id[EP_ID_BYTES], path[300], *events;
  idle_wait(jobs);
  disk_hold(jobs, INT_MAX);
  submit_begin(&s, jobs, "slow", 20);
  wait_until(atomic_load(&s.syncs));
  devices_wait(jobs, "\"state\":\"busy\"", 1);
  ck_assert(id_find(id));
  snprintf(path, sizeof path, "%s/jobs/%s/events.ndjson", scratch_dir, id);
  /* The worker has said that it began: that waits for the row, or was written. */
  wait_until(atomic_load(&row_waits) > 0 || lines_count(path) != 1);
  ck_assert_int_eq(lines_count(path), 1);
  ck_assert_int_eq(queue_count(jobs), 0); /* not even its id is shown */
  ck_assert_int_eq(devices_count(jobs, id), 0);
  ck_assert(!atomic_load(&s.answered));
  disk_heal();
  pthread_join(s.thread, NULL);
  ck_assert_int_eq(s.status, EP_OK);
  ck_assert_str_eq(s.id, id);
  ck_assert_int_eq(queue_count(jobs), 1);
  job_wait(jobs, id, "succeeded");
  events = job_events(jobs, id);
  ck_assert_int_eq(count_of(events, "\"type\":\"started\""), 1);
  ck_assert_int_eq(count_of(events, "\"type\":\"epoch\""), 20);
  events_check(events);
  free(events);
  ep_jobs_close(jobs);
}
END_TEST

/* Its row, its lines with its spec at the same time, and the row of its end: four syncs in three
 * waits; on a machine that is busy the start may go alone. */
START_TEST(a_tiny_job_waits_three_times) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  int least = 1000;
  idle_wait(jobs);
  for (int i = 0; i < 20; i++) {
    atomic_store(&syncs, 0);
    job_submit(jobs, "instant", 50, id);
    job_wait(jobs, id, "succeeded");
    int count = atomic_load(&syncs);
    ck_assert_int_ge(count, 4);
    if (count < least) least = count;
  }
  ck_assert_int_eq(least, 4);
  ep_jobs_close(jobs);
}
END_TEST

/* Refused after a worker had begun with it (0), or died of it (1), or with no memory left for the
 * thread that withdraws it (2): nothing of it stays. */
START_TEST(what_is_refused_leaves_nothing) {
  ep_jobs *jobs = jobs_open("cpu");
  ep_event_log *log;
  submission s;
  char id[EP_ID_BYTES];
  idle_wait(jobs);
  atomic_store(&sync_fails, true);
  atomic_store(&memory_goes, _i == 2);
  disk_hold(jobs, 2); /* the supervisor, of what the worker said, and who follows the job */
  submit_begin(&s, jobs, _i == 1 ? "kill-once" : "slow", 100000);
  wait_until(atomic_load(&s.syncs));
  ck_assert(id_find(id)); /* who follows it by then is not left waiting for its end */
  ck_assert_int_eq(ep_jobs_retain_log(jobs, id, &log, NULL), EP_NOT_FOUND);
  pthread_join(s.thread, NULL);
  disk_heal();
  ck_assert_int_eq(s.status, EP_UNKNOWN);
  ck_assert_int_eq(queue_count(jobs), 0);
  idle_wait(jobs);
  ck_assert_int_eq(jobs_folders(), 0);
  job_submit(jobs, "instant", 5, id);
  job_wait(jobs, id, "succeeded");
  ck_assert_int_eq(jobs_folders(), 1);
  ep_jobs_close(jobs);
}
END_TEST

/* Refused while it waited behind another, which goes on when the disk does, each line once. */
START_TEST(what_is_refused_leaves_the_queue) {
  ep_jobs *jobs = jobs_open("cpu");
  submission s;
  char first[EP_ID_BYTES];
  job_submit(jobs, "slow", 60, first);
  wait_until(job_number(jobs, first, "\"epoch\":") >= 5);
  atomic_store(&sync_fails, true);
  submit_begin(&s, jobs, "instant", 5);
  pthread_join(s.thread, NULL);
  disk_heal();
  ck_assert_int_eq(s.status, EP_UNKNOWN);
  ck_assert_int_eq(jobs_folders(), 1);
  job_wait(jobs, first, "succeeded");
  char *events = job_events(jobs, first);
  ck_assert_int_eq(count_of(events, "\"type\":\"epoch\""), 60);
  events_check(events);
  free(events);
  ep_jobs_close(jobs);
}
END_TEST

START_TEST(is_cancelled_without_memory) {
  ep_jobs *jobs = jobs_open("cpu");
  char id[EP_ID_BYTES];
  job_submit(jobs, "slow", 100000, id);
  job_wait(jobs, id, "running");
  devices_wait(jobs, id, 2); /* as its job, and among its jobs */
  memory_gone = true;
  ep_status status = ep_jobs_cancel(jobs, id, NULL);
  memory_gone = false;
  ck_assert_int_eq(status, EP_OK);
  job_wait(jobs, id, "cancelled");
  ep_jobs_close(jobs);
}
END_TEST

/* Who finds it before it is acknowledged, and cancels it, is answered when the row is there. */
START_TEST(is_cancelled_once_it_is_there) {
  ep_jobs *jobs = jobs_open("cpu");
  submission s;
  char id[EP_ID_BYTES];
  idle_wait(jobs);
  disk_hold(jobs, 2); /* the supervisor, of what the worker said, and who cancels it */
  submit_begin(&s, jobs, "slow", 100000);
  wait_until(atomic_load(&s.syncs));
  ck_assert(id_find(id));
  ck_assert(!atomic_load(&s.answered));
  assert_ok(ep_jobs_cancel(jobs, id, error));
  free(job_text(jobs, id)); /* its row can be read */
  disk_heal();
  pthread_join(s.thread, NULL);
  ck_assert_int_eq(s.status, EP_OK);
  job_wait(jobs, id, "cancelled");
  ep_jobs_close(jobs);
}
END_TEST

/* One that is on its way to the disk takes one place in the queue. */
START_TEST(takes_one_place) {
  ep_jobs *jobs = NULL;
  ep_jobs_options options = jobs_options("cpu");
  submission two[2];
  char first[EP_ID_BYTES];
  options.max_queued = 2;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit(jobs, "slow", 100000, first);
  job_wait(jobs, first, "running");
  disk_hold(jobs, INT_MAX);
  submit_begin(&two[0], jobs, "instant", 5);
  wait_until(atomic_load(&two[0].syncs));
  submit_begin(&two[1], jobs, "instant", 5);
  wait_until(jobs_folders() == 3 || atomic_load(&two[1].answered)); /* it has a place, or none */
  disk_heal();
  for (int i = 0; i < 2; i++) {
    pthread_join(two[i].thread, NULL);
    ck_assert_int_eq(two[i].status, EP_OK);
  }
  assert_ok(ep_jobs_cancel(jobs, first, error));
  for (int i = 0; i < 2; i++) job_wait(jobs, two[i].id, "succeeded");
  ep_jobs_close(jobs);
}
END_TEST

/* Its worker, which has said all that it will, dies while the queue is full to the last place that
 * it has room for. */
START_TEST(comes_back_without_memory) {
  ep_jobs_options options = jobs_options("cpu");
  ep_jobs *jobs = NULL;
  char id[EP_ID_BYTES], other[EP_ID_BYTES];
  options.stall_seconds = EP_PATIENCE_SECONDS;
  assert_ok(ep_jobs_open(&options, &jobs, error));
  job_submit(jobs, "hang", 100000, id);
  wait_until(events_count(jobs, id, "started") == 1);
  for (int i = 0; i < 128; i++) job_submit(jobs, "instant", 5, other);
  ck_assert_int_eq(job_number(jobs, other, "\"queue_position\":"), 128);
  growth_kept = true;
  atomic_store(&growth_gone, true);
  kill((pid_t)device_number(jobs, "\"pid\":"), SIGKILL);
  wait_until(job_number(jobs, other, "\"queue_position\":") != 128);
  atomic_store(&growth_gone, false);
  job_wait(jobs, id, "running");
  ep_jobs_close(jobs);
}
END_TEST

/* The name of a data folder that is made lasts too. */
START_TEST(a_new_folder_is_synced_in_its_own) {
  ep_jobs *jobs = NULL;
  ep_jobs_options options = jobs_options("cpu");
  char path[200], wanted[200];
  snprintf(path, sizeof path, "%s/new", scratch_dir);
  snprintf(wanted, sizeof wanted, "%s\n", scratch_dir);
  options.data_dir = path;
  atomic_store(&syncs_noted, true);
  assert_ok(ep_jobs_open(&options, &jobs, error));
  atomic_store(&syncs_noted, false);
  ep_jobs_close(jobs);
  ck_assert_msg(strstr(synced, wanted) != NULL, "%s", synced);
}
END_TEST

EP_SUITE("submission") {
  TCase *tests = ep_suite_case(suite, "submission");
  tcase_add_checked_fixture(tests, scratch_open, scratch_close);
  tcase_set_timeout(tests, 60);
  tcase_add_test(tests, begins_while_the_row_is_on_its_way);
  tcase_add_test(tests, a_tiny_job_waits_three_times);
  tcase_add_loop_test(tests, what_is_refused_leaves_nothing, 0, 3);
  tcase_add_test(tests, what_is_refused_leaves_the_queue);
  tcase_add_test(tests, takes_one_place);
  tcase_add_test(tests, is_cancelled_once_it_is_there);
  tcase_add_test(tests, is_cancelled_without_memory);
  tcase_add_test(tests, comes_back_without_memory);
  tcase_add_test(tests, a_new_folder_is_synced_in_its_own);
}
