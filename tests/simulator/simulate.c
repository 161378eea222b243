/* simulate: runs the simulation (simulator.h).
 *
 *   simulate --seed S --events N [--plant FAULT] [--verbose]
 *
 * Ends with a line of figures and the trace, or with the violation that it found and status 1. A
 * planted fault is a program beside this one, with one change in the code of the daemon
 * (mutants.cmake). */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/process/log.h"
#include "tests/simulator/clients.h"
#include "tests/simulator/disk.h"
#include "tests/simulator/memory.h"
#include "tests/simulator/model.h"
#include "tests/simulator/simulator.h"
#include "tests/simulator/sockets.h"
#include "tests/simulator/tasks.h"
#include "tests/simulator/vfs.h"
#include "tests/simulator/workers.h"

#define SECOND_US INT64_C(1000000)
#define QUIET_MOST_US (7200 * SECOND_US) /* in which all jobs end once nothing fails */

#define STOP_MOST_US (300 * SECOND_US)

enum { QUIET_EVENTS = 4000, JOBS_LEFT = 12, STEPS_MOST = 20000000, USUAL_SYNC_US = 3000 };

typedef enum { MACHINE_OFF, MACHINE_STARTS, MACHINE_RUNS, MACHINE_STOPS } machine_state;

typedef struct {
  machine_state state;
  ep_jobs *jobs;
  bool opened, failed, looked, closed; /* what the daemon's first task has come to */
  ep_error error;
  int64_t next_us;      /* the next thing that happens to it */
  int64_t fault_end_us; /* 0 = the disk is well */
  bool quiet, rounds;   /* nothing fails; a round of it is under way */
  int64_t quiet_us;     /* since when */
  uint64_t quiet_event; /* when the next one begins */
  uint64_t start_failures;
} machine;

static machine *MACHINE;

static void log_drop(ep_log_level level, const char *text) {
  (void)level;
  if (SIM->verbose) fprintf(stderr, "%36s%s\n", "", text);
}

static void *daemon_open(void *unused) {
  (void)unused;
  ep_jobs_options options = {.data_dir = DISK_ROOT "/data",
                             .worker_path = "/epoch-worker",
                             .devices = "cpu",
                             .cpu_jobs = MODEL_CPU_JOBS,
                             .quota_jobs = MODEL_QUOTA_JOBS,
                             .quota_cores = MODEL_QUOTA_CORES,
                             .quota_device_seconds = 1000000000,
                             .memory_bytes_max = INT64_C(1) << 34,
                             .max_queued = 64,
                             .crashes_max = 3,
                             .stop_seconds = 5,
                             .stall_seconds = 60};
  MACHINE->start_failures = DISK->failures;
  ep_jobs *jobs = NULL;
  if (ep_jobs_open(&options, &jobs, &MACHINE->error) != EP_OK) {
    MACHINE->failed = true;
    return NULL;
  }
  MACHINE->jobs = jobs;
  MACHINE->opened = true;
  model_look_all(jobs);
  MACHINE->looked = true;
  return NULL;
}

static void *daemon_close(void *jobs) {
  ep_jobs_stop(jobs);
  ep_jobs_close(jobs);
  MACHINE->closed = true;
  return NULL;
}

static void *round_run(void *unused) {
  (void)unused;
  clients_quiet(MACHINE->jobs);
  MACHINE->rounds = false;
  return NULL;
}

static void *quiet_end(void *unused) {
  (void)unused;
  model_look_all(MACHINE->jobs);
  clients_tidy(MACHINE->jobs, JOBS_LEFT);
  MACHINE->quiet = MACHINE->rounds = false;
  MACHINE->quiet_event = SIM->events + QUIET_EVENTS;
  SIM->counts.quiets++;
  event_note("quiet ends");
  workers_calm(false);
  return NULL;
}

static void disk_heal(void) {
  DISK->faults = (disk_faults){.sync_us = USUAL_SYNC_US};
  MACHINE->fault_end_us = 0;
}

static void disk_hurt(void) {
  SIM->counts.faults++;
  DISK->faults.syncs_only = one_in(2);
  switch (random_below(DISK->faults.syncs_only ? 1 : 3)) {
  case 0: DISK->faults.error_times = 2 + (unsigned)random_below(one_in(2) ? 4 : 60); break;
  case 1: DISK->faults.full = true; break;
  default: DISK->faults.sync_us = SECOND_US; break;
  }
  MACHINE->fault_end_us =
      SIM->now_us + (int64_t)random_below(one_in(2) ? SECOND_US / 4 : 6 * SECOND_US);
  event_note("the disk: errors 1 in %u, full %d, syncs up to %lld us", DISK->faults.error_times,
             DISK->faults.full, (long long)DISK->faults.sync_us);
}

/* Nothing of the daemon is left but its files. */
static void daemon_forget(void) {
  tasks_forget();
  clients_forget();
  workers_forget();
  descriptors_forget();
  vfs_forget();
  memory_forget();
  DISK->die_after = 0;
  MACHINE->state = MACHINE_OFF;
  MACHINE->jobs = NULL;
  MACHINE->opened = MACHINE->failed = MACHINE->looked = MACHINE->closed = MACHINE->rounds = false;
  MACHINE->next_us = SIM->now_us + 1000 + (int64_t)random_below(3 * SECOND_US);
}

/* A bit of a job's log is another: the job may lose lines, and the others nothing. */
static void log_damage(void) {
  char path[256];
  int index = (int)random_below(MODEL_JOBS);
  model_job *job = &MODEL->job[index];
  if (job->state != JOB_STORED) return;
  snprintf(path, sizeof path, DISK_ROOT "/data/jobs/%s/events.ndjson", job->id);
  disk_file *file = disk_find(path, NULL, NULL);
  if (!file || file->size == 0) return;
  event_note("a bit of the log of %s is another", job->id);
  disk_flip(file, random_below(file->size));
  job->damaged = true;
}

static void daemon_die(bool power) {
  event_note(power ? "the power fails" : "the daemon is killed");
  if (power)
    SIM->counts.power_failures++;
  else
    SIM->counts.kills++;
  daemon_forget();
  if (power) {
    disk_power_fail();
    model_power_failed();
    disk_heal();
  }
  if (one_in(20)) log_damage();
}

static void daemon_start(void) {
  if (MACHINE->quiet || one_in(2)) disk_heal();
  if (one_in(10)) SIM->utc_us -= (int64_t)random_below(10 * SECOND_US); /* the clock is set back */
  SIM->counts.opens++;
  event_note("the daemon starts");
  MACHINE->state = MACHINE_STARTS;
  MACHINE->next_us = SIM->now_us;
  if (!MACHINE->quiet && one_in(8)) DISK->die_after = DISK->steps + 1 + random_below(400);
  task_start(daemon_open, NULL);
}

static void daemon_started(void) {
  if (MACHINE->failed) {
    must_hold(model_trouble(MACHINE->start_failures), "the daemon does not start: %s",
              MACHINE->error.message);
    event_note("the daemon does not start: %s", MACHINE->error.message);
    daemon_forget();
    if (one_in(2)) disk_heal();
  } else if (MACHINE->looked) {
    MACHINE->state = MACHINE_RUNS;
    event_note("the daemon runs");
  }
}

static void quiet_step(void) {
  int left = -1;
  MACHINE->next_us = SIM->now_us + SECOND_US / 100;
  if (MACHINE->rounds || clients_active() > 0) return;
  for (int i = 0; i < MODEL_JOBS; i++)
    if (MODEL->job[i].state == JOB_STORED && !MODEL->job[i].ended && !MODEL->job[i].damaged)
      left = i;
  must_hold(left < 0 || SIM->now_us - MACHINE->quiet_us < QUIET_MOST_US,
            "job %s does not end, %lld s after everything is well",
            MODEL->job[left < 0 ? 0 : left].id, (long long)(QUIET_MOST_US / SECOND_US));
  MACHINE->rounds = true;
  MACHINE->next_us = SIM->now_us + SECOND_US;
  task_start(left < 0 ? quiet_end : round_run, NULL);
}

static void quiet_begin(void) {
  event_note("quiet begins");
  MACHINE->quiet = true;
  MACHINE->quiet_us = SIM->now_us;
  DISK->die_after = 0;
  disk_heal();
  workers_calm(true);
}

/* What happens to a daemon that runs. */
static void daemon_step(void) {
  if (MACHINE->fault_end_us != 0 && SIM->now_us >= MACHINE->fault_end_us) {
    disk_heal();
    if (one_in(3)) DISK->die_after = DISK->steps + 1 + random_below(3000); /* what it kept shows */
  }
  if (MACHINE->quiet) {
    quiet_step();
    return;
  }
  MACHINE->next_us = SIM->now_us + (int64_t)random_below(one_in(50) ? 2 * SECOND_US : 6000);
  if (SIM->events >= MACHINE->quiet_event)
    quiet_begin();
  else if (one_in(900))
    DISK->die_after = DISK->steps + 1 + random_below(300);
  else if (one_in(4000))
    daemon_die(one_in(2));
  else if (one_in(500) && MACHINE->fault_end_us == 0)
    disk_hurt();
  else if (one_in(4000)) {
    MACHINE->state = MACHINE_STOPS;
    MACHINE->next_us = INT64_MAX;
  } else
    client_start(MACHINE->jobs);
}

/* As SIGTERM: once no request is under way the daemon closes, and leaves nothing. */
static void daemon_stop(void) {
  if (MACHINE->closed) {
    must_hold(tasks_count() == 0, "the daemon has ended, and %d threads go on", tasks_count());
    must_hold(descriptors_count() == 0, "the daemon has ended, and %d descriptors are open",
              descriptors_count());
    event_note("the daemon has ended");
    daemon_forget();
  } else if (MACHINE->jobs && clients_active() == 0) {
    SIM->counts.stops++;
    event_note("the daemon is to end");
    MACHINE->next_us = SIM->now_us + STOP_MOST_US;
    task_start(daemon_close, MACHINE->jobs);
    MACHINE->jobs = NULL;
  } else {
    must_hold(SIM->now_us < MACHINE->next_us, "the daemon does not end");
  }
}

static void machine_step(void) {
  if (tasks_died()) {
    daemon_die(one_in(2));
    return;
  }
  switch (MACHINE->state) {
  case MACHINE_OFF:
    if (SIM->now_us >= MACHINE->next_us) daemon_start();
    return;
  case MACHINE_STARTS: daemon_started(); return;
  case MACHINE_RUNS:
    if (SIM->now_us >= MACHINE->next_us) daemon_step();
    return;
  case MACHINE_STOPS: daemon_stop(); return;
  }
}

static int64_t less(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static void run(void) {
  uint64_t steps = 0, event = 0;
  while (SIM->events < SIM->events_most || MACHINE->quiet || MACHINE->state != MACHINE_RUNS) {
    tasks_wake_due();
    if (SIM->now_us >= workers_next_us()) workers_step();
    machine_step();
    bool went = tasks_step();
    if (went) SIM->now_us += (int64_t)random_below(4);
    if (!went && !tasks_died()) {
      int64_t next_us = less(tasks_next_us(), workers_next_us());
      if (MACHINE->state != MACHINE_STARTS) next_us = less(next_us, MACHINE->next_us);
      if (next_us == INT64_MAX) tasks_print();
      must_hold(next_us != INT64_MAX, "all wait for ever");
      if (next_us > SIM->now_us) SIM->now_us = next_us;
    }
    if (SIM->events != event) steps = 0;
    event = SIM->events;
    if (++steps > STEPS_MOST) tasks_print();
    must_hold(steps <= STEPS_MOST, "nothing happens in %d steps", STEPS_MOST);
  }
}

/* A failed assertion or a wrong address of the daemon. */
static void signal_report(int number) {
  char text[128];
  signal(number, SIG_DFL);
  int bytes = snprintf(text, sizeof text, "VIOLATION: seed %llu, event %llu: signal %d\n",
                       (unsigned long long)SIM->seed, (unsigned long long)SIM->events, number);
  if (write(STDOUT_FILENO, text, (size_t)bytes) < 0) _exit(1);
  raise(number);
}

static void figures_print(void) {
  const simulated_counts *c = &SIM->counts;
  printf("seed %llu: %llu events in %.0f s, 0 violations: %llu jobs, %llu operations, %llu reports "
         "of workers, %llu deaths of them, %llu faults of the disk, %llu kills, %llu power "
         "failures, %llu stops, %llu starts, %llu times quiet; trace %016llx\n",
         (unsigned long long)SIM->seed, (unsigned long long)SIM->events, (double)SIM->now_us / 1e6,
         (unsigned long long)c->submissions, (unsigned long long)c->operations,
         (unsigned long long)c->reports, (unsigned long long)c->deaths,
         (unsigned long long)c->faults, (unsigned long long)c->kills,
         (unsigned long long)c->power_failures, (unsigned long long)c->stops,
         (unsigned long long)c->opens, (unsigned long long)c->quiets,
         (unsigned long long)SIM->trace);
}

static void simulation_run(uint64_t seed, uint64_t events, bool verbose) {
  static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  simulation_begin(seed, events, verbose);
  memory_lend();
  tasks_begin();
  disk_begin();
  sockets_begin();
  workers_begin();
  model_begin();
  clients_begin();
  vfs_begin();
  MACHINE = outside_calloc(1, sizeof *MACHINE);
  MACHINE->quiet_event = QUIET_EVENTS;
  disk_heal();
  ep_log_set_sink(log_drop);
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], signal_report);
  memory_begin();
  run();
  figures_print();
}

/* The program with the fault takes the place of this one. */
static void fault_run(const char *program, const char *fault, char *const *arguments) {
  char path[4096];
  snprintf(path, sizeof path, "%s_%s", program, fault);
  execv(path, arguments);
  fprintf(stderr, "no fault \"%s\" can be planted: %s is not there\n", fault, path);
  exit(2);
}

int main(int count, char **arguments) {
  static const struct option options[] = {{"seed", required_argument, NULL, 's'},
                                          {"events", required_argument, NULL, 'e'},
                                          {"plant", required_argument, NULL, 'p'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {0}};
  unsigned long long seed = 1, events = 10000;
  bool verbose = false;
  const char *fault = NULL;
  for (int option; (option = getopt_long(count, arguments, "", options, NULL)) >= 0;) {
    switch (option) {
    case 's': seed = strtoull(optarg, NULL, 10); break;
    case 'e': events = strtoull(optarg, NULL, 10); break;
    case 'p': fault = optarg; break;
    case 'v': verbose = true; break;
    default: return 2;
    }
  }
  if (fault && !getenv("EPOCHD_PLANTED")) {
    setenv("EPOCHD_PLANTED", fault, 1);
    fault_run(arguments[0], fault, arguments);
  }
  simulation_run(seed, events, verbose);
  return 0;
}
