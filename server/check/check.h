/* check.h: what is done to a data_dir that no daemon has: it is checked, or its store is built
 * anew.
 */
#ifndef EP_SERVER_CHECK_CHECK_H
#define EP_SERVER_CHECK_CHECK_H

#include <stdint.h>
#include <stdio.h>

#include "api/status.h"

/* epochd --check: reads everything and prints a line a fault. Changes nothing but the store, where
 * its schema is older. *faults: how many. EP_CONFLICT: a daemon has the data_dir. */
ep_status ep_check_run(const char *data_dir, FILE *out, int64_t *faults, ep_error *error);

/* epochd --rescue: builds a new store from the folders of jobs and datasets and keeps the old one
 * in DATA/lost+found. A job whose log has its end gets its row from spec.json and that line;
 * another one is queued again. A dataset gets the name that the newest job's spec has for it, else
 * its SHA-256. Prints a line for each folder that could not be used, *faults: how many. */
ep_status ep_rescue_run(const char *data_dir, FILE *out, int64_t *faults, ep_error *error);

#endif
