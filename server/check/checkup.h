/* checkup.h: one check of a data_dir, for the files of this folder: a check is a file and a row of
 * EP_CHECKS. */
#ifndef EP_SERVER_CHECK_CHECKUP_H
#define EP_SERVER_CHECK_CHECKUP_H

#include <stdio.h>

#include "server/store/store.h"

typedef struct {
  const char *data_dir;
  ep_store *store;
  FILE *out;
  int64_t faults;
} ep_checkup;

/* Prints "what: message" as a line, and counts it. */
void ep_checkup_fault(ep_checkup *checkup, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Calls `visit` with each row of the jobs. */
typedef void ep_checkup_row(ep_checkup *checkup, const ep_job_row *row);
ep_status ep_checkup_rows(ep_checkup *checkup, ep_checkup_row *visit, ep_error *error);

/* Writes the path of a job's file: [EP_PATH_BYTES]. */
ep_status ep_checkup_path(const ep_checkup *checkup, const char *id, const char *file, char *path,
                          ep_error *error);

/* X(function): what goes by, in the order in which it is checked. Each prints the faults that it
 * finds, and fails only where it could not go on. */
#define EP_CHECKS(X)   \
  X(ep_check_store)    \
  X(ep_check_jobs)     \
  X(ep_check_specs)    \
  X(ep_check_logs)     \
  X(ep_check_trials)   \
  X(ep_check_weights)  \
  X(ep_check_datasets) \
  X(ep_check_audit)

#define EP_CHECK_DECLARE(function) ep_status function(ep_checkup *checkup, ep_error *error);
EP_CHECKS(EP_CHECK_DECLARE)
#undef EP_CHECK_DECLARE

#endif
