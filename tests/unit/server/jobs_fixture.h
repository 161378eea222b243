/* jobs_fixture.h: jobs on fake workers in a scratch folder, and short words for asking them. */
#ifndef EP_TESTS_UNIT_SERVER_JOBS_FIXTURE_H
#define EP_TESTS_UNIT_SERVER_JOBS_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/jobs/jobs.h"
#include "server/workers/supervisor.h"

ep_jobs_options jobs_options(const char *devices);
ep_jobs *jobs_open(const char *devices);

/* A linear layer on XOR; what the fake worker does is `name`. */
void spec_write(char *spec, size_t bytes, const char *name, int64_t epochs, const char *device,
                int priority);
void job_submit(ep_jobs *jobs, const char *name, int64_t epochs, char id[EP_ID_BYTES]);
void job_submit_with(ep_jobs *jobs, const char *name, int64_t epochs, const char *device,
                     int priority, char id[EP_ID_BYTES]);

/* Whether the job has that status; an end with another one fails the test. */
bool job_has(ep_jobs *jobs, const char *id, const char *status);
/* Waits until it has. */
void job_wait(ep_jobs *jobs, const char *id, const char *status);
char *job_text(ep_jobs *jobs, const char *id);   /* the caller's */
char *job_events(ep_jobs *jobs, const char *id); /* the whole log; the caller's */
/* The number after `key` in the job's text; -1 for null. */
int64_t job_number(ep_jobs *jobs, const char *id, const char *key);
/* When it finished, from its end event: microseconds since midnight. */
int64_t job_time(ep_jobs *jobs, const char *id);

int count_of(const char *text, const char *word);
int events_count(ep_jobs *jobs, const char *id, const char *type); /* in the job's log */
void events_check(const char *events); /* seqs and epochs in order, the last line is the end */
int jobs_folders(void);                /* entries of DATA/jobs */

char *devices_text(ep_jobs *jobs);                  /* the caller's */
int devices_count(ep_jobs *jobs, const char *word); /* how often the word is in it */
/* Waits until that is so often. */
void devices_wait(ep_jobs *jobs, const char *word, int count);
/* The number after `key` in it, of the first device. */
int64_t device_number(ep_jobs *jobs, const char *key);

/* Waits until the worker of that number has that state. */
ep_worker_status worker_wait(ep_jobs *jobs, int index, ep_device_state state);
/* Returns once the supervisor has given idle workers all that they may have of the queue as it is
 * now. A worker must be there, and answer probes. */
void supervisor_round(ep_jobs *jobs);

#endif
