#include <stdio.h>
#include <string.h>

#include "api/json/nearest.h"
#include "server/store/sql.h"
#include "server/store/store.h"

/* The parameters of the three statements and of EP_SQL_NAMES_NEWEST. */
static sqlite3_stmt *statement_lock(ep_store **store, ep_sql sql, const ep_viewer *viewer,
                                    const char *prefix, const char *word, int limit) {
  sqlite3_stmt *s = ep_store_lock_reader(store, sql);
  ep_store_text_bind(s, 1, word);
  ep_store_text_bind(s, 2, prefix);
  ep_store_viewer_bind(s, 3, viewer);
  sqlite3_bind_int(s, 4, limit);
  ep_store_text_bind(s, 5, viewer ? viewer->owner : NULL); /* of one that has it */
  return s;
}

ep_status ep_store_ids_find(ep_store *store, ep_id_match match, const ep_viewer *viewer,
                            const char *prefix, const char *word, char (*ids)[EP_ID_BYTES],
                            int limit, int *count, ep_error *error) {
  static const ep_sql SQL[] = {[EP_ID_BY_NAME] = EP_SQL_IDS_BY_NAME,
                               [EP_ID_BY_OWN_NAME] = EP_SQL_IDS_BY_OWN_NAME,
                               [EP_ID_BY_START] = EP_SQL_IDS_BY_START,
                               [EP_ID_BY_END] = EP_SQL_IDS_BY_END};
  sqlite3_stmt *s = statement_lock(&store, SQL[match], viewer, prefix, word, limit);
  ep_status status = EP_OK;
  int code = SQLITE_DONE;
  *count = 0;
  while (*count < limit && (code = sqlite3_step(s)) == SQLITE_ROW) {
    const char *id = (const char *)sqlite3_column_text(s, 0);
    if (!id) {
      code = SQLITE_NOMEM;
      break;
    }
    snprintf(ids[(*count)++], EP_ID_BYTES, "%s", id);
  }
  if (code != SQLITE_DONE && code != SQLITE_ROW) status = ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_name_nearest(ep_store *store, const ep_viewer *viewer, const char *prefix,
                                const char *word, char nearest[EP_LIMIT_NAME_BYTES + 1],
                                ep_error *error) {
  sqlite3_stmt *s =
      statement_lock(&store, EP_SQL_NAMES_NEWEST, viewer, prefix, NULL, EP_LIMIT_LIST_JOBS);
  const char *names[2] = {nearest, NULL};
  int code;
  nearest[0] = 0;
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    names[1] = (const char *)sqlite3_column_text(s, 0);
    if (!names[1]) break;
    if (ep_nearest_name(word, names, 2) == names[1])
      snprintf(nearest, EP_LIMIT_NAME_BYTES + 1, "%s", names[1]);
  }
  ep_status status = code == SQLITE_DONE  ? EP_OK
                     : code == SQLITE_ROW ? ep_fail_memory(error)
                                          : ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  return status;
}
