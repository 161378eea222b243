/* datasets.c: see jobs.h: contents by SHA-256, and the names that people gave them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/dataset.h"
#include "engine/files/durable_file.h"
#include "server/jobs/state.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

void ep_jobs_content_collect(ep_jobs *jobs, const char *sha256) {
  int64_t names = 0;
  ep_error error = {0};
  if (!ep_pins_claim(&jobs->pins, sha256)) return;
  if (ep_store_dataset_names(jobs->store, sha256, &names, &error) == EP_OK && names == 0 &&
      ep_data_dir_discard(jobs->data_dir, "datasets", sha256, &error) != EP_OK)
    ep_log(EP_LOG_WARNING, "%s", error.message);
  ep_pins_unclaim(&jobs->pins, sha256);
}

ep_status ep_jobs_content_pin(ep_jobs *jobs, const char *name, const char *pointer,
                              char sha256[EP_PIN_BYTES], ep_problem *problem) {
  ep_dataset_row before, after;
  for (;;) {
    ep_error error = {0};
    ep_status status = ep_store_dataset_get(jobs->store, name, &before, &error);
    if (status == EP_NOT_FOUND)
      return ep_problem_add(problem, EP_INVALID, pointer,
                            "there is no dataset \"%s\": upload it with PUT /v1/datasets/%s", name,
                            name);
    if (status != EP_OK) return ep_problem_from_error(problem, &error);
    if (!ep_pins_add(&jobs->pins, before.sha256)) return ep_problem_fail_memory(problem);
    /* Pinned, it stays; but it may have gone just before. */
    status = ep_store_dataset_get(jobs->store, name, &after, NULL);
    if (status == EP_OK && strcmp(before.sha256, after.sha256) == 0) break;
    ep_pins_remove(&jobs->pins, before.sha256);
  }
  snprintf(sha256, EP_PIN_BYTES, "%s", before.sha256);
  return EP_OK;
}

/* True when both metas say the same of the same bytes: read with the same options. */
static bool meta_equal(const ep_dataset_meta *a, const ep_dataset_meta *b) {
  char *first = ep_dataset_meta_format(a, "", 0), *second = ep_dataset_meta_format(b, "", 0);
  bool equal = first && second && strcmp(first, second) == 0;
  free(first);
  free(second);
  return equal;
}

ep_status ep_jobs_content_place(ep_jobs *jobs, const char *ingested, const ep_dataset_meta *meta,
                                ep_error *error) {
  char path[EP_PATH_BYTES], parent[EP_PATH_BYTES];
  ep_dataset_meta there = {0};
  ep_status status = ep_data_dir_path(path, error, jobs->data_dir, "datasets", meta->sha256, NULL);
  if (status == EP_OK) status = ep_data_dir_path(parent, error, jobs->data_dir, "datasets", NULL);
  if (status != EP_OK) return status;
  if (ep_data_dir_exists(path)) {
    bool readable = ep_dataset_meta_read(path, &there, NULL) == EP_OK;
    bool equal = readable && meta_equal(&there, meta);
    if (readable) ep_dataset_meta_deinit(&there);
    if (equal) return ep_data_dir_remove(ingested, error);
    return ep_fail(error, EP_CONFLICT,
                   "these bytes are stored already, read in another way: delete that dataset "
                   "first");
  }
  status = ep_durable_folder_sync(ingested, error);
  if (status == EP_OK && rename(ingested, path) != 0)
    status = ep_fail(error, ep_status_from_errno(errno), "a dataset cannot be moved to %s: %s",
                     path, strerror(errno));
  if (status == EP_OK) status = ep_durable_folder_sync(parent, error);
  return status;
}

/* Stores the folder and names it. */
static ep_status folder_put(ep_jobs *jobs, const char *name, const char *ingested, bool *created,
                            ep_error *error) {
  ep_dataset_meta meta = {0};
  ep_dataset_row row = {.created_us = ep_clock_utc_us()}, before;
  *created = false;
  if (name[0] == 0 || strlen(name) > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_INVALID, "a dataset's name has 1 to %d bytes", EP_LIMIT_NAME_BYTES);
  ep_status status = ep_dataset_meta_read(ingested, &meta, error);
  if (status != EP_OK) return status;
  snprintf(row.name, sizeof row.name, "%s", name);
  memcpy(row.sha256, meta.sha256, sizeof row.sha256);
  if (!ep_pins_add(&jobs->pins, row.sha256)) {
    ep_dataset_meta_deinit(&meta);
    return ep_fail_memory(error);
  }
  status = ep_jobs_content_place(jobs, ingested, &meta, error);
  if (status == EP_OK) status = ep_store_dataset_put(jobs->store, &row, &before, error);
  ep_pins_remove(&jobs->pins, row.sha256);
  ep_dataset_meta_deinit(&meta);
  if (status != EP_OK) {
    ep_jobs_content_collect(jobs, row.sha256); /* placed, but it has no name */
    return status;
  }
  *created = before.name[0] == 0;
  if (!*created && strcmp(before.sha256, row.sha256) != 0)
    ep_jobs_content_collect(jobs, before.sha256);
  return EP_OK;
}

ep_status ep_jobs_dataset_put(ep_jobs *jobs, const char *name, const char *ingested, bool *created,
                              ep_error *error) {
  pthread_mutex_lock(&jobs->naming);
  ep_status status = folder_put(jobs, name, ingested, created, error);
  pthread_mutex_unlock(&jobs->naming);
  return status;
}

/* Adds to the folder what the name has now; the name cannot be moved meanwhile, and nothing of its
 * content goes. */
static ep_status parts_complete(ep_jobs *jobs, const char *name, const char *ingested,
                                ep_error *error) {
  ep_dataset_row row;
  char before[EP_PATH_BYTES];
  ep_status status = ep_store_dataset_get(jobs->store, name, &row, error);
  if (status == EP_NOT_FOUND) return ep_dataset_complete(ingested, NULL, error);
  if (status == EP_OK)
    status = ep_data_dir_path(before, error, jobs->data_dir, "datasets", row.sha256, NULL);
  return status == EP_OK ? ep_dataset_complete(ingested, before, error) : status;
}

ep_status ep_jobs_dataset_part_put(ep_jobs *jobs, const char *name, const char *ingested,
                                   bool *created, ep_error *error) {
  *created = false;
  pthread_mutex_lock(&jobs->naming);
  ep_status status = parts_complete(jobs, name, ingested, error);
  if (status == EP_OK) status = folder_put(jobs, name, ingested, created, error);
  pthread_mutex_unlock(&jobs->naming);
  return status;
}

/* The answer for one row. */
static ep_status row_format(ep_jobs *jobs, const ep_dataset_row *row, char **text,
                            ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_dataset_meta meta = {0};
  *text = NULL;
  ep_status status = ep_data_dir_path(path, error, jobs->data_dir, "datasets", row->sha256, NULL);
  if (status == EP_OK) status = ep_dataset_meta_read(path, &meta, error);
  if (status != EP_OK) return status;
  *text = ep_dataset_meta_format(&meta, row->name, row->created_us);
  ep_dataset_meta_deinit(&meta);
  return *text ? EP_OK : ep_fail_memory(error);
}

ep_status ep_jobs_dataset_get(ep_jobs *jobs, const char *name, char **text,
                              char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  ep_dataset_row row;
  *text = NULL;
  ep_status status = ep_store_dataset_get(jobs->store, name, &row, error);
  if (status != EP_OK) return status;
  memcpy(sha256, row.sha256, sizeof row.sha256);
  return row_format(jobs, &row, text, error);
}

ep_status ep_jobs_dataset_list(ep_jobs *jobs, char **text, ep_error *error) {
  ep_dataset_row *rows = NULL;
  int64_t count = 0, used = 0;
  *text = NULL;
  ep_status status = ep_store_dataset_list(jobs->store, &rows, &count, error);
  if (status != EP_OK) return status;
  char **items = calloc((size_t)count + 1, sizeof *items);
  if (!items) status = ep_fail_memory(error);
  for (int64_t i = 0; status == EP_OK && i < count; i++) {
    ep_error why = {0};
    ep_status read = row_format(jobs, &rows[i], &items[used], &why);
    if (read == EP_OK) {
      used++;
    } else { /* deleted in between, or damaged: the others are still to be seen */
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

static ep_status name_delete(ep_jobs *jobs, const char *name, ep_error *error) {
  ep_dataset_row row;
  int64_t names = 0;
  ep_status status = ep_store_dataset_get(jobs->store, name, &row, error);
  if (status != EP_OK) return status;
  if (!ep_pins_claim(&jobs->pins, row.sha256))
    return ep_fail(error, EP_CONFLICT,
                   "a queued or running job needs dataset \"%s\": cancel it, or wait", name);
  status = ep_store_dataset_delete(jobs->store, name, error);
  if (status == EP_OK) status = ep_store_dataset_names(jobs->store, row.sha256, &names, error);
  if (status == EP_OK && names == 0)
    status = ep_data_dir_discard(jobs->data_dir, "datasets", row.sha256, error);
  ep_pins_unclaim(&jobs->pins, row.sha256);
  return status;
}

ep_status ep_jobs_dataset_delete(ep_jobs *jobs, const char *name, ep_error *error) {
  pthread_mutex_lock(&jobs->naming);
  ep_status status = name_delete(jobs, name, error);
  pthread_mutex_unlock(&jobs->naming);
  return status;
}
