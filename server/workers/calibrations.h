/* calibrations.h: what work costs on each device, by which `auto` chooses: kept in
 * DATA/calibration/<device>.json, and asked of a worker that has had nothing to do for a while
 * where there is no such file of this device and this program. One device measures at a time, so
 * that none disturbs another. A worker that is given a job while it measures starts with the job at
 * once, and is asked again later.
 *
 * `settle` belongs to the supervisor's thread; the others are thread-safe. */
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

/* What the last programs of an executor took, at best, over what its calibration said. */
typedef struct {
  uint64_t programs[EP_DRIFT_PROGRAMS];
  double ratios[EP_DRIFT_PROGRAMS];
  int count, next;
} ep_drift;

typedef struct {
  bool looked; /* for the file */
  bool known;
  int failures;    /* a worker that died of it, say: given up after a few */
  int64_t calm_us; /* since when the device has had nothing to do; 0 = it has */
  ep_calibration_key key;
  ep_calibration calibration;
  ep_drift drifts[EP_COST_EXECUTORS]; /* of calibration.executors */
  ep_known_program programs[EP_PROGRAMS_SEEN];
  int programs_next; /* the place of the next one */
} ep_device_calibration;

typedef struct {
  const char *data_dir;      /* lent */
  ep_supervisor *supervisor; /* lent */
  int asked;                 /* the device that measures; -1 = none; supervisor's thread */
  pthread_mutex_t mutex;     /* guards what follows */
  ep_device_calibration device[EP_LIMIT_DEVICES];
} ep_calibrations;

/* data_dir and supervisor are filled in before the first round. */
void ep_calibrations_init(ep_calibrations *calibrations);
void ep_calibrations_deinit(ep_calibrations *calibrations); /* after the supervisor's end */

/* A round of the supervisor: looks for files of devices that are new, and asks one that is calm to
 * measure. True to be called again within a second. */
bool ep_calibrations_settle(ep_calibrations *calibrations, const ep_device_list *devices);

/* What is known of programs, by their signature (0: unknown, which is ignored). index: the device's
 * number in the supervisor's list. A job on `auto` was submitted; a job began; a job ended that
 * took so long for an epoch, of which its calibration had said another time (0: nothing). */
void ep_calibrations_ask(ep_calibrations *calibrations, uint64_t program);
void ep_calibrations_compile(ep_calibrations *calibrations, int index, uint64_t program);
void ep_calibrations_time(ep_calibrations *calibrations, int index, uint64_t program,
                          const char *executor, double epoch_seconds, double said_seconds);

/* False when nothing was measured of the device. past: what it had to do with this program;
 * written. */
bool ep_calibrations_get(ep_calibrations *calibrations, int index, uint64_t program,
                         ep_calibration *out, ep_program_past *past);

#endif
