/* integrity.h: SQLite's check of the whole store. */
#ifndef EP_SERVER_STORE_INTEGRITY_H
#define EP_SERVER_STORE_INTEGRITY_H

#include "server/store/store.h"

/* Calls `visit` with a line about each fault of the store's pages and indices; reads all of it. */
ep_status ep_store_integrity(ep_store *store, void (*visit)(void *context, const char *text),
                             void *context, ep_error *error);

#endif
