/* training_fixture.h: a spec, a scratch job folder and a sink that records, for tests of
 * ep_train. */
#ifndef EP_TESTS_TRAINING_FIXTURE_H
#define EP_TESTS_TRAINING_FIXTURE_H

#include "engine/training/train.h"

enum { FIXTURE_RECORDS = 4096 };

typedef struct {
  char folder[64];
  ep_job_spec *spec;
  ep_training training;
  atomic_bool cancel, pause;
  int64_t cancel_at_epoch, pause_at_epoch; /* 0 = never */
  int64_t first_epoch, steps_per_epoch;    /* of the last start */
  char note[EP_MESSAGE_BYTES];             /* the same */
  char obstacle[128];  /* a folder in the place of a file, which the fixture removes when it is told
                          that the results wait; "" = none */
  bool cancel_waiting; /* it cancels the training instead */
  int waits;
  int started, alive, records_count;
  int records_sent; /* that the sink was told to send */
  ep_progress_record records[FIXTURE_RECORDS];
} fixture;

/* Parses `spec` (it must be valid) and makes the folder. The fixture must stay where it is. */
void fixture_open(fixture *f, const char *spec, const ep_backend_ops *ops, ep_backend *backend);
ep_job_result fixture_train(fixture *f); /* checks that the worker itself is not at fault */
char *fixture_read(const fixture *f, const char *file); /* owned; NULL when it is not there */
void fixture_close(fixture *f);

#endif
