/* runner.h: a sweep that is under way, for the files of this folder: setup.c makes it, points.c
 * names what is to be trained, trial.c and population.c train it, results.c puts the results in
 * order, and runner.c is what they all need. sweep.c has the threads.
 * sharing.c hands points to other workers; help.c is the sweep as such a worker sees it: without a
 * search and a file. */
#ifndef EP_ENGINE_SWEEP_RUNNER_H
#define EP_ENGINE_SWEEP_RUNNER_H

#include <pthread.h>
#include <time.h>

#include "engine/sweep/shares.h"
#include "engine/sweep/sharing.h"
#include "engine/sweep/sweep.h"
#include "engine/trials/sweep_search.h"
#include "engine/trials/trial_file.h"

/* Another worker that trains points of the sweep. */
typedef struct {
  uint64_t lease; /* 0 = the place is free */
  int64_t slots;  /* as of ep_share_worker; 0 = it is not ready */
  bool together;
  int64_t has, done;
  double seconds; /* that it had points for */
  double given;   /* of ep_seconds_now, when it had none last, or got what it has */
} ep_sweep_helper;

typedef struct {
  const ep_sweep_run *run;
  int parts;     /* trainings of a trial */
  int threads;   /* that train */
  int64_t slots; /* trainings at a time, of this worker */
  ep_axis axes[EP_LIMIT_SWEEP_AXES];
  double start_seconds; /* of ep_seconds_now */
  int64_t parameters;   /* of the job at the first point */
  bool shares;          /* helpers may come */
  bool populations;     /* the device trains such trials together */

  ep_prepared
      *prepared; /* [folds or 1]: the rows of each fold; NULL: trials differ in them. Owned */
  ep_data_shape *shapes; /* [prepared_count]; owned */
  int prepared_count;

  pthread_mutex_t mutex;      /* guards what follows; held after `out` where both are */
  pthread_cond_t told;        /* a result was told to the search, or the sweep stops */
  ep_search *search;          /* NULL: this worker is a helper */
  ep_search_training current; /* of which parts are left to begin */
  int next_part;              /* parts: none is left */
  ep_trial_record *records;   /* [capacity], number n at n - 1; owned */
  bool *done;                 /* [capacity]: the record is there; owned */
  uint8_t *holder; /* [capacity]: who trains it, a helper's place + 1; 0 = this worker; owned */
  int64_t capacity;
  int64_t named;          /* the highest number that was taken */
  int64_t in_order;       /* all up to this number are done; of a helper: results */
  ep_trial_point *points; /* [points_count] from points_first on: named, and nobody's; owned */
  int64_t points_first, points_count, points_capacity;
  ep_sweep_helper helpers[EP_LIMIT_SWEEP_WORKERS];
  int waiting;           /* threads that wait for a result */
  ep_sweep_helper own;   /* this worker's populations, as of a helper */
  bool closing;          /* of a helper: no more points come; of a sweep: sharing is over */
  bool stops;            /* nothing more begins */
  ep_status status;      /* why it stops; EP_OK: it does not, or max_seconds are over */
  bool timed_out;        /* max_seconds are over */
  const char *elsewhere; /* the next trial is of this device: status EP_PAUSED; NULL = none is */
  ep_error error;

  pthread_mutex_t out; /* guards what follows, and the sink */
  ep_trial_file file;
  int64_t sent;        /* results told up to this number; changed with the mutex held too */
  double sent_seconds; /* when */
} ep_sweep_runner;

/* runner.c. Whether the sweep is to stop, and why: EP_CANCELLED, EP_PAUSED. */
ep_status ep_sweep_stop_check(const ep_sweep_run *run, ep_error *error);
/* Whether max_seconds are over, or the sweep is to stop: then nothing more begins. */
bool ep_sweep_stops(ep_sweep_runner *runner);
/* The mutex is held: looks whether that is so. */
void ep_sweep_stops_look(ep_sweep_runner *runner);
/* The mutex is held: nothing more begins. The first reason stays. */
void ep_sweep_stop(ep_sweep_runner *runner, ep_status status, const ep_error *error);
/* The mutex is held. Room for the record of that number. */
ep_status ep_sweep_room_make(ep_sweep_runner *runner, int64_t number, ep_error *error);
/* So long from now, for a condition; less than a second. */
struct timespec ep_sweep_deadline(int milliseconds);
/* A point as a record without results. */
void ep_sweep_record_begin(const ep_trial_point *point, ep_trial_record *out);
/* The mutex is held. How many points helpers have. */
int64_t ep_sweep_helpers_have(const ep_sweep_runner *runner);
/* The mutex is held. The sweep's workers as of shares.h, this one first: [EP_LIMIT_SWEEP_WORKERS +
 * 1]; places: whose each is, [EP_LIMIT_SWEEP_WORKERS + 1], -1 for this one. */
int ep_sweep_workers_list(const ep_sweep_runner *runner, ep_share_worker *workers, int *places);

/* setup.c. A helper has neither search nor file: run->folder is NULL. deinit is safe after a failed
 * init. */
ep_status ep_sweep_runner_init(ep_sweep_runner *runner, const ep_sweep_run *run, ep_error *error);
void ep_sweep_runner_deinit(ep_sweep_runner *runner);

/* results.c. The mutex is held: a result takes its place, and the search is told of a trial whose
 * parts are all there. */
ep_status ep_sweep_result_put(ep_sweep_runner *runner, const ep_trial_record *record,
                              ep_error *error);
/* Not held: writes and tells the results that are in order, if it is time or if `all`. While the
 * disk refuses them it waits, unless the sweep is to stop. */
ep_status ep_sweep_results_send(ep_sweep_runner *runner, bool all, ep_error *error);
/* Signs of life of a runner, of whichever thread comes first, and results that came just after
 * others. */
void ep_sweep_alive(void *runner);
/* Syncs the file, at the end; tried again as long as the disk refuses, as results are. */
ep_status ep_sweep_results_sync(ep_sweep_runner *runner, ep_error *error);
enum { EP_SWEEP_DISK_TRIES = 3 }; /* at what must be read: it may stumble once */
/* The disk has refused, as *error says, which is told: until it is to be tried again (EP_OK), or
 * the sweep is to stop. */
ep_status ep_sweep_disk_wait(const ep_sweep_run *run, ep_error *error);

/* points.c. The mutex is held. Names points until so many are nobody's, or no more can be named.
 * Returns how many there are. */
int64_t ep_sweep_points_fill(ep_sweep_runner *runner, int64_t most);
/* The next points, out of those: [count]. */
void ep_sweep_points_take(ep_sweep_runner *runner, ep_trial_point *out, int64_t count);
/* Nobody's again. EP_NO_MEMORY. */
ep_status ep_sweep_points_add(ep_sweep_runner *runner, const ep_trial_point *points, int64_t count,
                              ep_error *error);
/* The next training, as a record without results; false: there is none. waits: for what it depends
 * on. May leave the mutex in between. */
bool ep_sweep_training_take(ep_sweep_runner *runner, bool waits, ep_trial_record *out);
/* Several, of this worker's populations: its share of what is known, `most` at most; 0: none is
 * left. records: [most]. The mutex is not held. */
int64_t ep_sweep_trainings_take(ep_sweep_runner *runner, ep_trial_record *records, int64_t most);

/* sharing.c. Begins and ends the sharing of a sweep, which has a thread then. No mutex is held. */
bool ep_sweep_sharing_begin(ep_sweep_runner *runner, pthread_t *thread);
void ep_sweep_sharing_end(ep_sweep_runner *runner, pthread_t thread, bool threaded);

/* sweep.c. Trains all there is, on all threads. */
void ep_sweep_run_all(ep_sweep_runner *runner);

/* trial.c. Trains one trial; the record says how it ended. EP_DEVICE, EP_CANCELLED, EP_PAUSED:
 * there is no result. */
ep_status ep_sweep_trial_train(ep_sweep_runner *runner, ep_trial_record *record, ep_error *error);
/* A rung of ASHA ends before the job's last epoch; 0 = the trial has all of them. */
int64_t ep_sweep_epochs_most(const ep_sweep_spec *sweep, const ep_trial_record *record);
void ep_sweep_record_fill(const ep_sweep_spec *sweep, const ep_job_result *result,
                          ep_trial_record *record);

/* population.c. Trains all of them: [count], and puts and sends each result as it is there; as
 * above. runner->prepared is there. */
ep_status ep_sweep_population_train(ep_sweep_runner *runner, ep_trial_record *records,
                                    int64_t count, ep_error *error);
/* Whether nothing of the training is decided on the host. */
bool ep_sweep_population_takes(const ep_job_spec *spec);

#endif
