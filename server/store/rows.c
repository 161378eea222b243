#include "server/store/rows.h"

#include <stdlib.h>
#include <string.h>

#include "api/executor_name.h"

void ep_job_row_deinit(ep_job_row *row) {
  free(row->name);
  free(row->spec);
  free(row->tags);
  free(row->result);
  row->name = row->spec = row->tags = row->result = NULL;
}

/* Copies a text column into a fixed field; what does not fit is not this program's and is cut. */
static void text_read(sqlite3_stmt *s, int column, char *field, size_t bytes) {
  const char *text = (const char *)sqlite3_column_text(s, column);
  size_t length = text ? strlen(text) : 0;
  if (length >= bytes) length = bytes - 1;
  if (length > 0) memcpy(field, text, length);
  field[length] = 0;
}

/* Reads the columns of EP_JOB_COLUMNS; the texts are lent until the statement moves on. */
static void row_read(sqlite3_stmt *s, ep_job_row *row) {
  *row = (ep_job_row){0};
  text_read(s, 0, row->id, sizeof row->id);
  row->name = (char *)sqlite3_column_text(s, 1);
  const char *state = (const char *)sqlite3_column_text(s, 2);
  int value = state ? ep_state_from_name(state) : -1;
  row->state = value < 0 ? EP_STATE_FAILED : (ep_state)value;
  row->priority = sqlite3_column_int(s, 3);
  row->spec = (char *)sqlite3_column_text(s, 4);
  text_read(s, 5, row->dataset, sizeof row->dataset);
  text_read(s, 6, row->requested_device, sizeof row->requested_device);
  text_read(s, 7, row->device, sizeof row->device);
  text_read(s, 8, row->executor, sizeof row->executor);
  ep_executor_name_update(row->executor, sizeof row->executor);
  row->seconds_cpu = sqlite3_column_double(s, 9);
  row->seconds_cuda = sqlite3_column_double(s, 10);
  row->attempt = sqlite3_column_int(s, 11);
  row->epochs = sqlite3_column_int64(s, 12);
  row->parameters = sqlite3_column_int64(s, 13);
  row->bytes = sqlite3_column_int64(s, 14);
  row->result = (char *)sqlite3_column_text(s, 15);
  row->created_us = sqlite3_column_int64(s, 16);
  row->started_us = sqlite3_column_int64(s, 17);
  row->finished_us = sqlite3_column_int64(s, 18);
  row->version = (uint64_t)sqlite3_column_int64(s, 19);
  row->tags = (char *)sqlite3_column_text(s, 20);
  row->cores = sqlite3_column_int(s, 21);
  int intent = sqlite3_column_int(s, 22);
  row->intent = intent == EP_INTENT_PAUSE || intent == EP_INTENT_CANCEL ? (ep_intent)intent : 0;
  row->pinned = sqlite3_column_int(s, 23) != 0;
  row->ttl_seconds = sqlite3_column_int64(s, 24);
}

/* Replaces lent texts by owned copies. */
static ep_status row_own(ep_job_row *row, ep_error *error) {
  const char *name = row->name, *spec = row->spec, *tags = row->tags, *result = row->result;
  row->name = strdup(name ? name : "");
  row->spec = strdup(spec ? spec : "");
  row->tags = strdup(tags ? tags : "[]");
  row->result = result ? strdup(result) : NULL;
  if (row->name && row->spec && row->tags && (!result || row->result)) return EP_OK;
  ep_job_row_deinit(row);
  return ep_fail_memory(error);
}

ep_status ep_store_row_take(sqlite3_stmt *s, ep_job_row *row, ep_error *error) {
  row_read(s, row);
  return row_own(row, error);
}
