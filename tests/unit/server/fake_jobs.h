/* fake_jobs.h: jobs that nobody trains, for tests of what is above server/jobs/jobs.h: one log on
 * disk that the test appends to, answers that are fixed texts. */
#ifndef EP_TESTS_UNIT_SERVER_FAKE_JOBS_H
#define EP_TESTS_UNIT_SERVER_FAKE_JOBS_H

#include "server/jobs/jobs.h"

/* A list of so many jobs is so long. */
enum { FAKE_LONG_LIMIT = 777, FAKE_LONG_BYTES = 16 << 20 };

#define FAKE_JOB "job_0000000000000000000000000"
#define FAKE_NAME "fake" /* of that job */

/* Makes the one job that there is, its files below `folder`. */
ep_jobs *fake_jobs_create(const char *folder);
void fake_jobs_destroy(ep_jobs *jobs);

/* Appends `count` epoch events, the first of `epoch`, each `step` epochs on. */
void fake_jobs_epochs(ep_jobs *jobs, int64_t epoch, int64_t step, int count);
/* Appends the end event; the job is "succeeded" from now on. */
void fake_jobs_end(ep_jobs *jobs);
/* Logs that are retained now. */
int fake_jobs_logs(ep_jobs *jobs);
/* While held, submissions that name a file and predictions wait, and no log can be retained. */
void fake_jobs_hold(ep_jobs *jobs, bool held);
/* The job's network has one output, which decides between two classes. */
void fake_jobs_classify(ep_jobs *jobs);
/* Of these, so many wait. */
int fake_jobs_waiting(ep_jobs *jobs);
/* Whether the next change of the job wakes somebody. */
bool fake_jobs_watched(ep_jobs *jobs);
/* Cancels that were asked for. */
int fake_jobs_cancels(ep_jobs *jobs);

#endif
