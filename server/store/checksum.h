/* checksum.h: the checksums of rows, by which a row that the disk has damaged is known. For this
 * folder's files alone.
 *
 * SQLite has none of its pages. Here each row of `jobs`, `datasets` and `models` has one in
 * row_sum, NULL where another program has written it anew; that of a job's spec is apart, in
 * spec_sum, so that what does not read the spec need not. Triggers of this connection keep them. */
#ifndef EP_SERVER_STORE_CHECKSUM_H
#define EP_SERVER_STORE_CHECKSUM_H

#include "server/store/sql.h"

/* Defines row_checksum(…), a text, for the connection. */
int ep_store_checksum_define(sqlite3 *database);
/* Creates the triggers, once the tables are there. */
int ep_store_checksum_keep(sqlite3 *database);

#endif
