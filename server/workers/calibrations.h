/* calibrations.h: what work costs on each device, by which `auto` chooses. It is cached in
 * DATA/calibration/<device>.json. Where no such file is of this device and this program, a worker
 * that has been idle for a while measures. One device measures at a time, so that none disturbs
 * another, and one GPU of a kind for all. A worker that gets a job while it measures begins the job
 * at once and measures later.
 *
 * `settle` is the supervisor's thread's; the other functions are thread-safe. */
#ifndef EP_SERVER_WORKERS_CALIBRATIONS_H
#define EP_SERVER_WORKERS_CALIBRATIONS_H

#include <pthread.h>

#include "api/wire/calibration.h"
#include "engine/plan/plan.h"
#include "server/workers/supervisor.h"

enum { EP_PROGRAMS_SEEN = 256, EP_DRIFT_PROGRAMS = 31 };

typedef struct {
  uint64_t signature; /* 0 = none */
  ep_program_past past;
} ep_known_program;

/* The times that the last programs of an executor took, at best, over those of its calibration. */
typedef struct {
  uint64_t programs[EP_DRIFT_PROGRAMS];
  double ratios[EP_DRIFT_PROGRAMS];
  int count, next;
} ep_drift;

typedef struct {
  bool looked; /* for the file */
  bool known;
  int failures;    /* of measurements: after a few there are no more */
  int64_t calm_us; /* since when the device has been idle; 0 = it is not */
  ep_calibration_key key;
  ep_calibration calibration;
  ep_drift drifts[EP_COST_EXECUTORS]; /* of calibration.executors */
  ep_known_program programs[EP_PROGRAMS_SEEN];
  int programs_next; /* the oldest, which the next one replaces */
} ep_device_calibration;

typedef struct {
  const char *data_dir;      /* lent */
  ep_supervisor *supervisor; /* lent */
  int measuring;             /* the device that measures; -1 = none; supervisor's thread */
  pthread_mutex_t mutex;     /* guards what follows */
  ep_device_calibration device[EP_LIMIT_DEVICES];
} ep_calibrations;

/* data_dir and supervisor are filled in before the first round. */
void ep_calibrations_init(ep_calibrations *calibrations);
void ep_calibrations_deinit(ep_calibrations *calibrations); /* after the supervisor's end */

/* A round of the supervisor: reads the files of new devices, and has one calm device measure. True
 * to be called again within a second. */
bool ep_calibrations_settle(ep_calibrations *calibrations, const ep_device_list *devices);

/* Events of a program, by its signature (0 is ignored); index: the device's in the supervisor's
 * list. A job on `auto` was submitted. */
void ep_calibrations_note_submit(ep_calibrations *calibrations, uint64_t program);
/* A job began: the device has its program compiled. */
void ep_calibrations_note_start(ep_calibrations *calibrations, int index, uint64_t program);
/* A job ended. said_seconds: what the calibration said of an epoch; 0 = nothing. */
void ep_calibrations_note_end(ep_calibrations *calibrations, int index, uint64_t program,
                              const char *executor, double epoch_seconds, double said_seconds);

/* False: nothing was measured of the device. *past, the device's past with this program, is written
 * in any case. */
bool ep_calibrations_get(ep_calibrations *calibrations, int index, uint64_t program,
                         ep_calibration *out, ep_program_past *past);

#endif
