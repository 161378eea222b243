/* clients.h: what clients do, each operation a task: submit, look, cancel, pause, resume, delete,
 * change a priority. Each result is held against the model. */
#ifndef EP_TEST_SIMULATOR_CLIENTS_H
#define EP_TEST_SIMULATOR_CLIENTS_H

#include "server/jobs/jobs.h"

void clients_begin(void);
/* Begins one, by chance. */
void client_start(ep_jobs *jobs);
int clients_active(void);
/* The daemon has died, and answers none of them. */
void clients_forget(void);

/* A round at a time when nothing fails: paused jobs go on, deletes that failed are repeated, and
 * all are looked at. In a task, as the next. */
void clients_quiet(ep_jobs *jobs);
/* Deletes ended jobs until so many are left. */
void clients_tidy(ep_jobs *jobs, int left);

#endif
