/* The datasets of fake_jobs.c: all that is asked of them is there, and none is stored. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/reserve.h"
#include "engine/data/formats/ingest.h"
#include "server/datasets/datasets.h"

ep_status ep_datasets_ingest(ep_datasets *datasets, const ep_ingest_task *task, const char *folder,
                             ep_ingest_abandoned *abandoned, void *context, ep_error *error) {
  (void)datasets, (void)abandoned, (void)context;
  ep_dataset_meta meta = {0};
  ep_status status = ep_dataset_ingest(task->source->file[EP_SPLIT_TRAIN][EP_ROLE_TABLE], folder,
                                       task->options, task->max_output_bytes, &meta, error);
  if (status == EP_OK) ep_dataset_meta_deinit(&meta);
  return status;
}

ep_status ep_datasets_put(ep_datasets *datasets, const char *name, const ep_uploader *by,
                          const char *ingested, ep_dataset_told *told, bool *created,
                          ep_error *error) {
  (void)datasets, (void)name, (void)by, (void)ingested, (void)error;
  *told = (ep_dataset_told){0};
  *created = true;
  return EP_OK;
}

ep_status ep_datasets_put_part(ep_datasets *datasets, const char *name, const ep_uploader *by,
                               const char *ingested, ep_dataset_told *told, bool *created,
                               ep_error *error) {
  return ep_datasets_put(datasets, name, by, ingested, told, created, error);
}

ep_status ep_datasets_put_beside(ep_datasets *datasets, char name[EP_LIMIT_NAME_BYTES + 1],
                                 const ep_uploader *by, const char *ingested, ep_dataset_told *told,
                                 bool *created, ep_error *error) {
  return ep_datasets_put(datasets, name, by, ingested, told, created, error);
}

ep_status ep_datasets_get(ep_datasets *datasets, const char *name, const ep_viewer *viewer,
                          const ep_dataset_told *told, char **text,
                          char etag[EP_DATASET_ETAG_BYTES], ep_error *error) {
  (void)datasets, (void)viewer, (void)told;
  char buffer[256];
  *text = NULL;
  /* one that takes 1 MiB to describe, and one whose text grows to that */
  if (strcmp(name, "wide") == 0 && ep_reserve(1 << 20, error) != EP_OK) return error->status;
  if (strcmp(name, "long") == 0 && ep_reserve(1 << 20, NULL) != EP_OK) return ep_fail_memory(error);
  snprintf(buffer, sizeof buffer, "{\"object\":\"dataset\",\"name\":\"%s\"}", name);
  *text = strdup(buffer);
  snprintf(etag, EP_DATASET_ETAG_BYTES, "d5");
  return EP_OK;
}

ep_status ep_datasets_rows(ep_datasets *datasets, const char *name, const ep_rows_page *page,
                           char **text, char etag[EP_DATASET_ETAG_BYTES], ep_error *error) {
  (void)datasets, (void)name, (void)page, (void)text, (void)etag;
  return ep_fail(error, EP_NOT_FOUND, "none");
}

ep_status ep_datasets_list(ep_datasets *datasets, const ep_viewer *viewer, const char *after,
                           int64_t limit, char **text, ep_error *error) {
  (void)datasets, (void)viewer, (void)after, (void)limit, (void)error;
  *text = strdup("{}");
  return EP_OK;
}

ep_status ep_datasets_show(ep_datasets *datasets, const char *name, const ep_uploader *by,
                           ep_error *error) {
  (void)datasets, (void)by;
  return ep_fail(error, EP_NOT_FOUND, "there is no dataset \"%s\"", name);
}

ep_status ep_datasets_delete(ep_datasets *datasets, const char *name, const ep_uploader *by,
                             ep_dataset_told *told, ep_error *error) {
  (void)datasets, (void)name, (void)by, (void)told;
  return ep_fail(error, EP_CONFLICT, "a job needs it");
}
