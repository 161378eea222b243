/* jobs_fixture.c: see jobs_fixture.h. */
#include "tests/unit/server/jobs_fixture.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "server/jobs/live/state.h"
#include "server/store/store.h"
#include "tests/unit/server/scratch.h"
#include "tests/wait.h"

ep_jobs_options jobs_options(const char *devices) {
  return (ep_jobs_options){.data_dir = scratch_dir,
                           .worker_path = FAKE_WORKER,
                           .devices = devices,
                           .max_queued = 100000,
                           .stall_seconds = 30};
}

ep_jobs *jobs_open(const char *devices) {
  ep_jobs *jobs = NULL;
  ep_jobs_options options = jobs_options(devices);
  assert_ok(ep_jobs_open(&options, &jobs, error));
  return jobs;
}

void spec_write(char *spec, size_t bytes, const char *name, int64_t epochs, const char *device,
                int priority) {
  snprintf(spec, bytes,
           "{\"name\":\"%s\",\"data\":{\"generator\":\"xor\"},\"model\":{\"layers\":[{\"type\":"
           "\"linear\",\"out_features\":1}]},\"loss\":\"mse\",\"epochs\":%" PRId64
           ",\"report_every\":1,\"device\":\"%s\",\"priority\":%d}",
           name, epochs, device, priority);
}

void job_submit_with(ep_jobs *jobs, const char *name, int64_t epochs, const char *device,
                     int priority, char id[EP_ID_BYTES]) {
  char spec[512];
  bool repeated = true;
  ep_problem problem = {0};
  spec_write(spec, sizeof spec, name, epochs, device, priority);
  ep_status status = ep_jobs_submit(jobs, &(ep_submission){.json = spec, .bytes = strlen(spec)}, id,
                                    &repeated, &problem);
  ck_assert_msg(status == EP_OK, "%s %s", problem.detail, problem.errors[0].pointer);
  ck_assert(!repeated);
}

void job_submit(ep_jobs *jobs, const char *name, int64_t epochs, char id[EP_ID_BYTES]) {
  job_submit_with(jobs, name, epochs, "auto", 0, id);
}

char *job_text(ep_jobs *jobs, const char *id) {
  char *text = NULL;
  uint64_t version = 0;
  assert_ok(ep_jobs_get(jobs, id, &text, &version, error));
  return text;
}

bool job_has(ep_jobs *jobs, const char *id, const char *status) {
  char wanted[64], *text = job_text(jobs, id);
  snprintf(wanted, sizeof wanted, "\"status\":\"%s\"", status);
  bool there = strstr(text, wanted) != NULL;
  bool open = strstr(text, "\"status\":\"queued\"") || strstr(text, "\"status\":\"running\"");
  ck_assert_msg(there || open, "not %s: %s", status, text);
  free(text);
  return there;
}

void job_wait(ep_jobs *jobs, const char *id, const char *status) {
  wait_until(job_has(jobs, id, status));
}

char *job_events(ep_jobs *jobs, const char *id) {
  ep_event_log *log = NULL;
  ep_event_log_tail tail;
  size_t bytes = 0;
  bool ended = false;
  assert_ok(ep_jobs_retain_log(jobs, id, &log, error));
  ep_event_log_get_tail(log, &tail);
  char *text = malloc((size_t)tail.bytes + 1);
  assert_ok(ep_event_log_read(log, 0, text, (size_t)tail.bytes, &bytes, &ended, error));
  ck_assert((int64_t)bytes == tail.bytes ||
            (!tail.ended && (int64_t)bytes < tail.bytes)); /* held */
  text[bytes] = 0;
  ep_jobs_release_log(jobs, log);
  return text;
}

int64_t job_number(ep_jobs *jobs, const char *id, const char *key) {
  char *text = job_text(jobs, id);
  const char *place = strstr(text, key);
  ck_assert_msg(place != NULL, "no %s in %s", key, text);
  place += strlen(key);
  int64_t number = strncmp(place, "null", 4) == 0 ? -1 : strtoll(place, NULL, 10);
  free(text);
  return number;
}

int64_t job_time(ep_jobs *jobs, const char *id) {
  char *text = job_text(jobs, id);
  const char *key = "\"finished_at\":\"", *place = strstr(text, key);
  ck_assert_msg(place != NULL, "not finished: %s", text);
  place = strchr(place + strlen(key), 'T') + 1;
  int64_t time_us = (int64_t)((((place[0] - '0') * 10 + place[1] - '0') * 60 +
                               (place[3] - '0') * 10 + place[4] - '0') *
                                  60e6 +
                              strtod(place + 6, NULL) * 1e6);
  free(text);
  return time_us;
}

int count_of(const char *text, const char *word) {
  int count = 0;
  for (const char *place = strstr(text, word); place; place = strstr(place + strlen(word), word))
    count++;
  return count;
}

int events_count(ep_jobs *jobs, const char *id, const char *type) {
  char word[64], *events = job_events(jobs, id);
  snprintf(word, sizeof word, "\"type\":\"%s\"", type);
  int count = count_of(events, word);
  free(events);
  return count;
}

void events_check(const char *events) {
  int64_t seq = 0, epoch = 0;
  ep_event event = {0};
  for (const char *line = events; *line != 0;) {
    const char *end = strchr(line, '\n');
    ck_assert_ptr_nonnull(end);
    assert_ok(ep_event_parse(line, (size_t)(end - line), &event, error));
    ck_assert_int_eq(event.seq, ++seq);
    if (event.type == EP_EVENT_EPOCH) ck_assert_int_eq(event.progress.epoch, ++epoch);
    line = end + 1;
  }
  ck_assert_int_eq(event.type, EP_EVENT_END);
}

static void entry_count(void *context, const char *name) {
  (void)name;
  ++*(int *)context;
}

int jobs_folders(void) {
  char path[200];
  int count = 0;
  snprintf(path, sizeof path, "%s/jobs", scratch_dir);
  assert_ok(ep_data_dir_list(path, entry_count, &count, error));
  return count;
}

/* Not inlined, because gcc 12 then takes the text for a pointer to the variable that held it. */
__attribute__((noinline)) char *devices_text(ep_jobs *jobs) {
  char *text = NULL;
  assert_ok(ep_jobs_devices(jobs, &(ep_viewer){0}, &text, error));
  return text;
}

int devices_count(ep_jobs *jobs, const char *word) {
  char *text = devices_text(jobs);
  int count = count_of(text, word);
  free(text);
  return count;
}

void devices_wait(ep_jobs *jobs, const char *word, int count) {
  wait_until(devices_count(jobs, word) == count);
}

static bool worker_find(ep_jobs *jobs, int index, ep_device_state state, ep_worker_status *out) {
  ep_device_list list;
  ep_supervisor_get_devices(jobs->supervisor, &list);
  *out = list.worker[index];
  if (index < list.workers_count && out->state == state) return true;
  ep_supervisor_kick(jobs->supervisor);
  return false;
}

ep_worker_status worker_wait(ep_jobs *jobs, int index, ep_device_state state) {
  ep_worker_status worker;
  wait_until(worker_find(jobs, index, state, &worker));
  return worker;
}

static void probe_note(void *context, const ep_error *failure, const ep_error *full) {
  (void)failure;
  (void)full;
  atomic_store((atomic_bool *)context, true);
}

/* A probe is sent in a round that may have begun before it came, but a second one is not. */
void supervisor_round(ep_jobs *jobs) {
  for (int i = 0; i < 2; i++) {
    atomic_bool answered = false;
    ep_jobs_probe(jobs, EP_PATIENCE_SECONDS * 1000, probe_note, &answered);
    wait_until(atomic_load(&answered));
  }
}

int64_t device_number(ep_jobs *jobs, const char *key) {
  char *text = devices_text(jobs);
  const char *place = strstr(text, key);
  int64_t number = place ? strtoll(place + strlen(key), NULL, 10) : -1;
  free(text);
  ck_assert_int_ne(number, -1);
  return number;
}
