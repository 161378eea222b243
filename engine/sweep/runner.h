/* runner.h: a sweep that is under way, for the files of this room: setup.c makes it, results.c puts
 * the results in order, sweep.c trains. */
#ifndef EP_ENGINE_SWEEP_RUNNER_H
#define EP_ENGINE_SWEEP_RUNNER_H

#include <pthread.h>

#include "engine/sweep/sweep.h"
#include "engine/trials/sweep_search.h"
#include "engine/trials/trial_file.h"

typedef struct {
  const ep_sweep_run *run;
  int parts;   /* trainings of a trial */
  int threads; /* that train */
  ep_axis axes[EP_LIMIT_SWEEP_AXES];
  double start_seconds; /* of ep_seconds_now */
  int64_t parameters;   /* of the job at the first point */
  bool populations;     /* the device trains such trials together */

  ep_prepared
      *prepared; /* [folds or 1]: the rows of each fold; NULL: trials differ in them. Owned */
  ep_data_shape *shapes; /* [prepared_count]; owned */
  int prepared_count;

  pthread_mutex_t mutex; /* guards what follows; held after `out` where both are */
  pthread_cond_t told;   /* a result was told to the search, or the sweep stops */
  ep_search *search;
  ep_search_training current; /* of which parts are left to begin */
  int next_part;              /* parts: none is left */
  ep_trial_record *records;   /* [capacity], number n at n - 1; owned */
  bool *done;                 /* [capacity]: the record is there; owned */
  int64_t capacity;
  int64_t in_order;      /* all up to this number are done */
  int64_t under_way;     /* trainings */
  bool stops;            /* nothing more begins */
  ep_status status;      /* why it stops; EP_OK: it does not, or max_seconds are over */
  bool timed_out;        /* max_seconds are over */
  const char *elsewhere; /* the next trial is of this device: status EP_PAUSED; NULL = none is */
  ep_error error;

  pthread_mutex_t out; /* guards what follows, and the sink */
  ep_trial_file file;
  int64_t sent;        /* results told up to this number */
  double sent_seconds; /* when */
} ep_sweep_runner;

/* setup.c. deinit is safe after a failed init. */
ep_status ep_sweep_runner_init(ep_sweep_runner *runner, const ep_sweep_run *run, ep_error *error);
void ep_sweep_runner_deinit(ep_sweep_runner *runner);

/* results.c. The mutex is held: a result takes its place, and the search is told of a trial whose
 * parts are all there. */
ep_status ep_sweep_result_put(ep_sweep_runner *runner, const ep_trial_record *record,
                              ep_error *error);
/* Not held: writes and tells the results that are in order, if it is time or if `all`. While the
 * disk refuses them it waits, unless the sweep is to stop. */
ep_status ep_sweep_results_send(ep_sweep_runner *runner, bool all, ep_error *error);

/* sweep.c. Whether the sweep is to stop, and why: EP_CANCELLED, EP_PAUSED. */
ep_status ep_sweep_stop_check(const ep_sweep_run *run, ep_error *error);

/* sweep.c. Trains one trial; the record says how it ended. EP_DEVICE, EP_CANCELLED, EP_PAUSED:
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

/* sweep.c. Whether max_seconds are over, or the sweep is to stop: then nothing more begins. */
bool ep_sweep_stops(ep_sweep_runner *runner);

#endif
