/* checkup.h: one check of a data_dir, for the files of this folder: a check is a file and a row of
 * EP_CHECKS. */
#ifndef EP_SERVER_CHECK_CHECKUP_H
#define EP_SERVER_CHECK_CHECKUP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "server/store/store.h"

typedef struct {
  const char *data_dir;
  ep_store *store;
  pthread_mutex_t mutex; /* guards: */
  FILE *out;
  int64_t faults;
  /* For who waits: what is checked, and how many of these have been. */
  const char *_Atomic stage;
  atomic_llong done;
} ep_checkup;

/* Prints "what: message" as a line, and counts it. From any thread. */
void ep_checkup_fault(ep_checkup *checkup, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Calls `task` with each number below `count`, from EP_LIMIT_CHECK_THREADS threads. */
typedef void ep_checkup_task(ep_checkup *checkup, void *context, int64_t number);
void ep_checkup_each(ep_checkup *checkup, int64_t count, ep_checkup_task *task, void *context);

/* Calls `visit` with each row of the jobs, in the same way. */
typedef void ep_checkup_row(ep_checkup *checkup, const ep_job_row *row);
ep_status ep_checkup_rows(ep_checkup *checkup, ep_checkup_row *visit, ep_error *error);

/* What lies in a folder of the data_dir, sorted. */
typedef struct {
  char **name; /* [count], owned */
  size_t count;
  bool failed; /* memory was short */
} ep_checkup_names;
ep_status ep_checkup_names_list(const ep_checkup *checkup, const char *folder,
                                ep_checkup_names *out, ep_error *error);
void ep_checkup_names_deinit(ep_checkup_names *names);

/* Writes the path of a job's file: [EP_PATH_BYTES]. */
ep_status ep_checkup_path(const ep_checkup *checkup, const char *id, const char *file, char *path,
                          ep_error *error);

/* X(function, stage): what goes by, in the order in which it is checked. Each prints the faults
 * that it finds, and fails only where it could not go on. */
#define EP_CHECKS(X)                             \
  X(ep_check_store, "the store")                 \
  X(ep_check_jobs, "folders of jobs")            \
  X(ep_check_specs, "specs of jobs")             \
  X(ep_check_logs, "logs of jobs")               \
  X(ep_check_trials, "trials of jobs")           \
  X(ep_check_results, "results of jobs")         \
  X(ep_check_checkpoints, "checkpoints of jobs") \
  X(ep_check_datasets, "datasets")               \
  X(ep_check_audit, "the audit log")

#define EP_CHECK_DECLARE(function, stage) ep_status function(ep_checkup *checkup, ep_error *error);
EP_CHECKS(EP_CHECK_DECLARE)
#undef EP_CHECK_DECLARE

#endif
