#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/rows.h"

enum { FIRST_ROWS = 32 };

void ep_job_rows_deinit(ep_job_rows *rows) {
  for (int64_t i = 0; i < rows->count; i++) ep_job_row_deinit(&rows->rows[i]);
  free(rows->rows);
  *rows = (ep_job_rows){0};
}

static ep_status row_append(ep_job_rows *out, sqlite3_stmt *s, ep_error *error) {
  if (out->count == out->capacity) {
    int64_t capacity = out->capacity == 0 ? FIRST_ROWS : out->capacity * 2;
    ep_job_row *rows = realloc(out->rows, (size_t)capacity * sizeof *rows);
    if (!rows) return ep_fail_memory(error);
    out->rows = rows;
    out->capacity = capacity;
  }
  ep_job_row *row = &out->rows[out->count];
  ep_status status = ep_store_row_take(s, row, error);
  if (status != EP_OK) return status;
  out->count++;
  out->bytes += (int64_t)(strlen(row->spec) + strlen(row->tags));
  if (row->result) out->bytes += (int64_t)strlen(row->result);
  return EP_OK;
}

/* Reads all rows of a statement with its parameters bound, as far as they have room. The mutex is
 * held. */
static ep_status rows_read(ep_store *store, sqlite3_stmt *s, ep_job_rows *out, ep_error *error) {
  *out = (ep_job_rows){0};
  ep_status status = EP_OK;
  int code = SQLITE_DONE;
  while (status == EP_OK && !out->cut && (code = sqlite3_step(s)) == SQLITE_ROW) {
    status = row_append(out, s, error);
    out->cut = out->bytes >= EP_LIMIT_LIST_BYTES;
  }
  if (status == EP_OK && !out->cut && code != SQLITE_DONE)
    status = ep_store_fail(store, code, error);
  if (status != EP_OK) ep_job_rows_deinit(out);
  return status;
}

/* Binds the page's parameters, which live as long as the statement runs. others: its further tags
 * as a JSON array, all of them where a text is looked for. */
static void page_bind(sqlite3_stmt *s, const ep_job_page *page, const char *others) {
  bool jobs = page->prefix && strcmp(page->prefix, EP_JOB_PREFIX) == 0;
  const char *last = jobs ? EP_JOB_PREFIX "~" : "~"; /* sorts after every such id */
  ep_store_text_bind(s, 1, page->after ? page->after : last);
  ep_store_text_bind(s, 6, page->prefix ? page->prefix : "");
  sqlite3_bind_int64(s, 2, page->limit);
  ep_store_text_bind(s, 5, others);
  ep_store_text_bind(s, 7, page->owner);
  ep_store_text_bind(s, 8, page->search);
  ep_store_viewer_bind(s, 9, &page->viewer);
  if (page->state >= 0) ep_store_text_bind(s, 3, ep_state_name(page->state));
  if (page->tags_count > 0) ep_store_text_bind(s, 4, page->tags[0]);
}

/* The statement for the page: `all`, or one of the three after it. */
static ep_sql page_sql(ep_sql all, const ep_job_page *page) {
  if (page->search) return all + 3;
  if (page->tags_count > 0) return all + 2;
  return page->state >= 0 ? all + 1 : all;
}

static ep_status others_format(const ep_job_page *page, char **others, ep_error *error) {
  bool tagged = page->tags_count > 0 && !page->search;
  *others = ep_tags_format(page->tags + tagged, page->tags_count - tagged);
  return *others ? EP_OK : ep_fail_memory(error);
}

ep_status ep_store_jobs_list(ep_store *store, const ep_job_page *page, ep_job_rows *out,
                             ep_error *error) {
  char *others = NULL;
  *out = (ep_job_rows){0};
  ep_status status = others_format(page, &others, error);
  if (status != EP_OK) return status;
  ep_sql all = page->summary ? EP_SQL_JOBS_SUMMARY : EP_SQL_JOBS_LIST;
  sqlite3_stmt *s = ep_store_lock_reader(&store, page_sql(all, page));
  page_bind(s, page, others);
  status = rows_read(store, s, out, error);
  ep_store_unlock(store, s);
  free(others);
  return status;
}

ep_status ep_store_jobs_versions(ep_store *store, const ep_job_page *page, ep_job_version *versions,
                                 int64_t *count, ep_error *error) {
  char *others = NULL;
  *count = 0;
  ep_status status = others_format(page, &others, error);
  if (status != EP_OK) return status;
  sqlite3_stmt *s = ep_store_lock_reader(&store, page_sql(EP_SQL_JOBS_VERSION, page));
  page_bind(s, page, others);
  int code = SQLITE_DONE;
  while (*count < page->limit && (code = sqlite3_step(s)) == SQLITE_ROW) {
    ep_job_version *version = &versions[(*count)++];
    const char *id = (const char *)sqlite3_column_text(s, 0);
    snprintf(version->id, sizeof version->id, "%s", id ? id : "");
    version->version = (uint64_t)sqlite3_column_int64(s, 1);
    if (!id) {
      code = SQLITE_NOMEM;
      break;
    }
  }
  if (code != SQLITE_DONE && code != SQLITE_ROW) status = ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  free(others);
  return status;
}

ep_status ep_store_jobs_unfinished(ep_store *store, const char *after, ep_job_rows *out,
                                   ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOBS_UNFINISHED);
  ep_store_text_bind(s, 1, after);
  ep_status status = rows_read(store, s, out, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_jobs_finished_last(ep_store *store, int64_t limit, ep_job_rows *out,
                                      ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_JOBS_FINISHED_LAST);
  sqlite3_bind_int64(s, 1, limit);
  ep_status status = rows_read(store, s, out, error);
  ep_store_unlock(store, s);
  return status;
}
