/* calibrator.h: finds out what work costs on this device: times a few small programs with each
 * executor, through the same interface as a training, and fits the costs of engine/cost.h. In a
 * thread of its own, while there is nothing else to do: a training that begins stops it within one
 * measurement, and what was measured so far is not lost. */
#ifndef EP_ENGINE_WORKER_CALIBRATOR_H
#define EP_ENGINE_WORKER_CALIBRATOR_H

#include <stdatomic.h>

#include "engine/plan/cost.h"
#include "engine/worker/device.h"
#include "engine/worker/link.h"

enum { EP_CALIBRATOR_PROGRAMS = 48 };

typedef struct {
  const ep_device *device; /* lent */
  ep_link *link;           /* lent: where the answer goes */
  ep_device_info info;
  atomic_bool stops, running;
  uint64_t request; /* that is answered next */
  /* Of the thread while it runs. */
  int next; /* of all rounds: the program that is timed next */
  ep_cost_sample samples[EP_CALIBRATOR_PROGRAMS];
  bool timed[EP_CALIBRATOR_PROGRAMS];
} ep_calibrator;

/* info: with the device's id, by which the programs are chosen. */
void ep_calibrator_init(ep_calibrator *calibrator, const ep_device *device,
                        const ep_device_info *info, ep_link *link);

/* By the main thread. Begins, or goes on; the answer to `request` is sent when it is done, or
 * EP_BUSY when it was stopped, or when the last one has not stopped yet. */
ep_status ep_calibrator_start(ep_calibrator *calibrator, uint64_t request, ep_error *error);
/* By the main thread; does not wait. */
void ep_calibrator_stop(ep_calibrator *calibrator);

#endif
