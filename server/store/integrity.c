#include "server/store/integrity.h"

#include <string.h>

#include "server/store/sql.h"

ep_status ep_store_integrity(ep_store *store, void (*visit)(void *context, const char *text),
                             void *context, ep_error *error) {
  sqlite3_stmt *s = NULL;
  pthread_mutex_lock(&store->mutex);
  int code = sqlite3_prepare_v2(store->database, "PRAGMA integrity_check", -1, &s, NULL);
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(s);
    const char *text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    if (text && strcmp(text, "ok") != 0) visit(context, text);
  }
  ep_status status = code == SQLITE_DONE ? EP_OK : ep_store_fail(store, code, error);
  sqlite3_finalize(s);
  pthread_mutex_unlock(&store->mutex);
  return status;
}
