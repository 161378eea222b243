/* rows.h: rows of `jobs` as structs. */
#ifndef EP_SERVER_STORE_ROWS_H
#define EP_SERVER_STORE_ROWS_H

#include "server/store/sql.h"
#include "server/store/store.h"

/* The row of EP_JOB_ROW, or without a spec, at which the statement stands, with copies of its
 * texts; the caller's to deinit. One that is not what was written is `damaged`. */
ep_status ep_store_row_take(sqlite3_stmt *statement, ep_job_row *row, ep_error *error);

#endif
