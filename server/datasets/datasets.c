#include "server/datasets/datasets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/job.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/parts.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

void ep_datasets_init(ep_datasets *datasets, ep_contents *contents) {
  datasets->contents = contents;
  pthread_mutex_init(&datasets->naming, NULL);
}

void ep_datasets_deinit(ep_datasets *datasets) {
  pthread_mutex_destroy(&datasets->naming);
}

ep_status ep_datasets_ingest(ep_datasets *datasets, const ep_ingest_task *task, const char *folder,
                             ep_ingest_abandoned *abandoned, void *context, ep_error *error) {
  return ep_ingest_run(&datasets->contents->ingest, task, folder, abandoned, context, error);
}

/* Marks the content of a name that is about to go, where that is its only one. *marked: it is. */
static ep_status content_mark(ep_contents *contents, const ep_dataset_row *row, bool *marked,
                              ep_error *error) {
  int64_t names = 0;
  ep_status status = ep_store_dataset_names(contents->store, row->sha256, &names, error);
  *marked = status == EP_OK && names == 1;
  return *marked ? ep_contents_mark(contents, row->sha256, error) : status;
}

/* Stores the row; its content loses its mark, and the one that it replaces gets one. */
static ep_status name_put(ep_contents *contents, const ep_dataset_row *row, ep_dataset_row *before,
                          ep_error *error) {
  bool marked = false;
  ep_dataset_row old;
  ep_status status = ep_store_dataset_get(contents->store, row->name, &old, error);
  if (status == EP_OK && strcmp(old.sha256, row->sha256) != 0)
    status = content_mark(contents, &old, &marked, error);
  if (status == EP_NOT_FOUND) status = EP_OK;
  if (status == EP_OK) status = ep_store_dataset_put(contents->store, row, before, error);
  if (status == EP_OK) ep_contents_unmark(contents, row->sha256);
  if (status != EP_OK && marked) ep_contents_unmark(contents, old.sha256);
  return status;
}

/* Stores the folder and names it. */
static ep_status folder_put(ep_contents *contents, const char *name, const char *ingested,
                            bool *created, ep_error *error) {
  ep_dataset_meta meta = {0};
  ep_dataset_row row = {.created_us = ep_clock_utc_us()}, before;
  *created = false;
  if (name[0] == 0 || strlen(name) > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_INVALID, "a dataset's name has 1 to %d bytes", EP_LIMIT_NAME_BYTES);
  ep_status status = ep_dataset_meta_read(ingested, &meta, error);
  if (status != EP_OK) return status;
  snprintf(row.name, sizeof row.name, "%s", name);
  memcpy(row.sha256, meta.sha256, sizeof row.sha256);
  if (!ep_pins_add(&contents->pins, row.sha256)) {
    ep_dataset_meta_deinit(&meta);
    return ep_fail_memory(error);
  }
  status = ep_contents_place(contents, ingested, &meta, error);
  if (status == EP_OK) status = name_put(contents, &row, &before, error);
  ep_pins_remove(&contents->pins, row.sha256);
  ep_dataset_meta_deinit(&meta);
  if (status != EP_OK) {
    /* Placed, but it has no name; a name that a crash may bring back needs it. */
    if (status != EP_UNKNOWN) ep_contents_collect(contents, row.sha256);
    return status;
  }
  *created = before.name[0] == 0;
  if (!*created && strcmp(before.sha256, row.sha256) != 0)
    ep_contents_collect(contents, before.sha256);
  return EP_OK;
}

ep_status ep_datasets_put(ep_datasets *datasets, const char *name, const char *ingested,
                          bool *created, ep_error *error) {
  pthread_mutex_lock(&datasets->naming);
  ep_status status = folder_put(datasets->contents, name, ingested, created, error);
  pthread_mutex_unlock(&datasets->naming);
  return status;
}

/* Adds the other parts that the name has to the folder. `naming` is held, so the name and its
 * content stay. */
static ep_status parts_complete(ep_contents *contents, const char *name, const char *ingested,
                                ep_error *error) {
  ep_dataset_row row;
  char before[EP_PATH_BYTES];
  ep_status status = ep_store_dataset_get(contents->store, name, &row, error);
  if (status == EP_NOT_FOUND) return ep_dataset_complete(ingested, NULL, error);
  if (status == EP_OK)
    status = ep_path_join(before, error, contents->data_dir, "datasets", row.sha256, NULL);
  return status == EP_OK ? ep_dataset_complete(ingested, before, error) : status;
}

ep_status ep_datasets_put_part(ep_datasets *datasets, const char *name, const char *ingested,
                               bool *created, ep_error *error) {
  *created = false;
  pthread_mutex_lock(&datasets->naming);
  ep_status status = parts_complete(datasets->contents, name, ingested, error);
  if (status == EP_OK) status = folder_put(datasets->contents, name, ingested, created, error);
  pthread_mutex_unlock(&datasets->naming);
  return status;
}

/* The JSON of one row. */
static ep_status row_format(const ep_contents *contents, const ep_dataset_row *row, char **text,
                            ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_dataset_meta meta = {0};
  *text = NULL;
  ep_status status = ep_path_join(path, error, contents->data_dir, "datasets", row->sha256, NULL);
  if (status == EP_OK) status = ep_dataset_meta_read(path, &meta, error);
  if (status != EP_OK) return status;
  *text = ep_dataset_meta_format(&meta, row->name, row->created_us);
  ep_dataset_meta_deinit(&meta);
  return *text ? EP_OK : ep_fail_memory(error);
}

/* Some rows of one row's content. */
static ep_status row_rows(const ep_contents *contents, const ep_dataset_row *row,
                          const ep_rows_page *page, char **text, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_dataset_meta meta = {0};
  ep_status status = ep_path_join(path, error, contents->data_dir, "datasets", row->sha256, NULL);
  if (status == EP_OK) status = ep_dataset_meta_read(path, &meta, error);
  if (status != EP_OK) return status;
  status = ep_dataset_rows_format(path, &meta, page, text, error);
  ep_dataset_meta_deinit(&meta);
  return status;
}

/* page: NULL for the description. */
static ep_status named_format(ep_datasets *datasets, const char *name, const ep_rows_page *page,
                              char **text, char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  ep_dataset_row row;
  *text = NULL;
  ep_status status = ep_store_dataset_get(datasets->contents->store, name, &row, error);
  if (status != EP_OK) return status;
  memcpy(sha256, row.sha256, sizeof row.sha256);
  status = page ? row_rows(datasets->contents, &row, page, text, error)
                : row_format(datasets->contents, &row, text, error);
  /* deleted in the meantime, or its row names a content that there never was */
  if (status == EP_NOT_FOUND &&
      ep_store_dataset_get(datasets->contents->store, name, &row, NULL) == EP_OK)
    return ep_fail(error, EP_DAMAGED,
                   "the store's row of dataset %s is damaged, or its content is gone: upload the "
                   "same data again",
                   name);
  return status;
}

ep_status ep_datasets_get(ep_datasets *datasets, const char *name, char **text,
                          char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  return named_format(datasets, name, NULL, text, sha256, error);
}

ep_status ep_datasets_rows(ep_datasets *datasets, const char *name, const ep_rows_page *page,
                           char **text, char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  return named_format(datasets, name, page, text, sha256, error);
}

ep_status ep_datasets_list(ep_datasets *datasets, char **text, ep_error *error) {
  ep_dataset_row *rows = NULL;
  int64_t count = 0, used = 0;
  *text = NULL;
  ep_status status = ep_store_dataset_list(datasets->contents->store, &rows, &count, error);
  if (status != EP_OK) return status;
  char **items = calloc((size_t)count + 1, sizeof *items);
  if (!items) status = ep_fail_memory(error);
  for (int64_t i = 0; status == EP_OK && i < count; i++) {
    ep_error why = {0};
    ep_status read = row_format(datasets->contents, &rows[i], &items[used], &why);
    if (read == EP_OK) {
      used++;
    } else { /* deleted in between, or damaged: the others are shown */
      ep_log(EP_LOG_WARNING, "dataset \"%s\": %s", rows[i].name, why.message);
    }
  }
  if (status == EP_OK) *text = ep_list_format((const char *const *)items, used, false, NULL);
  for (int64_t i = 0; i < used; i++) free(items[i]);
  free(items);
  free(rows);
  if (status == EP_OK && !*text) status = ep_fail_memory(error);
  return status;
}

static ep_status name_delete(ep_contents *contents, const char *name, ep_error *error) {
  ep_dataset_row row;
  int64_t names = 0;
  ep_status status = ep_store_dataset_get(contents->store, name, &row, error);
  if (status == EP_DAMAGED) return ep_store_dataset_delete(contents->store, name, error);
  if (status != EP_OK) return status;
  if (!ep_pins_claim(&contents->pins, row.sha256))
    return ep_fail(error, EP_CONFLICT,
                   "a queued or running job needs dataset \"%s\": cancel it, or wait", name);
  bool marked = false;
  status = content_mark(contents, &row, &marked, error);
  if (status == EP_OK) status = ep_store_dataset_delete(contents->store, name, error);
  if (status != EP_OK && marked) ep_contents_unmark(contents, row.sha256);
  if (status == EP_OK) status = ep_store_dataset_names(contents->store, row.sha256, &names, error);
  if (status == EP_OK && names == 0)
    status = ep_data_dir_discard(contents->data_dir, "datasets", row.sha256, error);
  ep_pins_unclaim(&contents->pins, row.sha256);
  return status;
}

ep_status ep_datasets_delete(ep_datasets *datasets, const char *name, ep_error *error) {
  pthread_mutex_lock(&datasets->naming);
  ep_status status = name_delete(datasets->contents, name, error);
  pthread_mutex_unlock(&datasets->naming);
  return status;
}
