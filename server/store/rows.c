#include "server/store/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/executor_name.h"
#include "api/wire/result.h"
#include "server/process/log.h"

void ep_job_row_deinit(ep_job_row *row) {
  free(row->name);
  free(row->spec);
  free(row->tags);
  free(row->automatic);
  free(row->remarks);
  free(row->result);
  row->name = row->spec = row->tags = row->automatic = row->remarks = row->result = NULL;
}

/* Copies a text column into a fixed field; what does not fit is not this program's and is cut. */
static void text_read(sqlite3_stmt *s, int column, char *field, size_t bytes) {
  const char *text = (const char *)sqlite3_column_text(s, column);
  size_t length = text ? strlen(text) : 0;
  if (length >= bytes) length = bytes - 1;
  if (length > 0) memcpy(field, text, length);
  field[length] = 0;
}

/* Reads the columns of EP_JOB_COLUMNS; the texts are lent until the statement moves on. False:
 * there is no such state. */
static bool row_read(sqlite3_stmt *s, ep_job_row *row) {
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
  row->intent = intent > 0 && intent <= EP_INTENT_RESUME ? (ep_intent)intent : EP_INTENT_NONE;
  row->pinned = sqlite3_column_int(s, 23) != 0;
  row->ttl_seconds = sqlite3_column_int64(s, 24);
  text_read(s, 25, row->owner, sizeof row->owner);
  row->private = sqlite3_column_int(s, 26) != 0;
  text_read(s, 27, row->dataset_name, sizeof row->dataset_name);
  row->max_seconds = sqlite3_column_double(s, 28);
  row->automatic = (char *)sqlite3_column_text(s, 29);
  row->remarks = (char *)sqlite3_column_text(s, 30);
  return value >= 0;
}

/* Replaces lent texts by owned copies. */
static ep_status row_own(ep_job_row *row, ep_error *error) {
  const char *name = row->name, *spec = row->spec, *tags = row->tags, *result = row->result;
  const char *automatic = row->automatic, *remarks = row->remarks;
  row->name = strdup(name ? name : "");
  row->spec = strdup(spec ? spec : "");
  row->tags = strdup(tags ? tags : "[]");
  row->automatic = automatic ? strdup(automatic) : NULL;
  row->remarks = strdup(remarks ? remarks : "");
  row->result = result ? strdup(result) : NULL;
  if (row->name && row->spec && row->tags && row->remarks && (!automatic || row->automatic) &&
      (!result || row->result))
    return EP_OK;
  ep_job_row_deinit(row);
  return ep_fail_memory(error);
}

/* What is shown of a damaged row: its id, and why. The texts are taken from it. */
static ep_status row_replace(ep_job_row *row, ep_error *error) {
  ep_job_row damaged = {.state = EP_STATE_FAILED, .damaged = true, .finished_us = row->finished_us};
  ep_job_result result = {.status = EP_DAMAGED};
  memcpy(damaged.id, row->id, sizeof damaged.id);
  snprintf(result.message, sizeof result.message,
           "the store's row of job %s is damaged: submit its spec again, which is in "
           "jobs/%s/spec.json, to compute the same results",
           row->id, row->id);
  ep_log(EP_LOG_ERROR, "%s", result.message);
  damaged.spec = "{}";
  char *text = damaged.result = ep_job_result_format(&result);
  ep_status status = text ? row_own(&damaged, error) : ep_fail_memory(error);
  free(text);
  *row = damaged;
  return status;
}

ep_status ep_store_row_take(sqlite3_stmt *s, ep_job_row *row, ep_error *error) {
  bool known = row_read(s, row);
  if (ep_store_row_short(s)) {
    *row = (ep_job_row){0}; /* its texts are lent */
    return ep_fail_memory(error);
  }
  bool whole = known && sqlite3_column_int(s, sqlite3_column_count(s) - 1) == 1;
  return whole ? row_own(row, error) : row_replace(row, error);
}
