/* jobs_fixture.h: jobs on fake workers in a scratch folder, and short words for asking them. */
#ifndef EP_TESTS_UNIT_SERVER_JOBS_FIXTURE_H
#define EP_TESTS_UNIT_SERVER_JOBS_FIXTURE_H

#include <stdint.h>

#include "server/jobs/jobs.h"

ep_jobs_options jobs_options(const char *devices);
ep_jobs *jobs_open(const char *devices);

/* A linear layer on XOR; what the fake worker does is `name`. */
void spec_write(char *spec, size_t bytes, const char *name, int64_t epochs, const char *device,
                int priority);
void job_submit(ep_jobs *jobs, const char *name, int64_t epochs, char id[EP_ID_BYTES]);
void job_submit_with(ep_jobs *jobs, const char *name, int64_t epochs, const char *device,
                     int priority, char id[EP_ID_BYTES]);

/* Until the job has that status, at most 60 s; another end fails the test. */
void job_wait(ep_jobs *jobs, const char *id, const char *status);
char *job_text(ep_jobs *jobs, const char *id);   /* the caller's */
char *job_events(ep_jobs *jobs, const char *id); /* the whole log; the caller's */
/* The number after `key` in the job's text; -1 for null. */
int64_t job_number(ep_jobs *jobs, const char *id, const char *key);
/* When it finished, from its end event: microseconds since midnight. */
int64_t job_time(ep_jobs *jobs, const char *id);

int count_of(const char *text, const char *word);
void events_check(const char *events); /* seqs and epochs in order, the last line is the end */
int jobs_folders(void);                /* entries of DATA/jobs */
double median(double *values, int count);

char *devices_text(ep_jobs *jobs); /* the caller's */
/* Until `word` stands so many times in it. */
void devices_wait(ep_jobs *jobs, const char *word, int count);
/* The number after `key` in it, of the first device. */
int64_t device_number(ep_jobs *jobs, const char *key);

#endif
