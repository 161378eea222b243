#include "server/datasets/contents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/verify.h"
#include "engine/files/durable_file.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

void ep_contents_init(ep_contents *contents) {
  *contents = (ep_contents){0};
  ep_pins_init(&contents->pins);
}

void ep_contents_deinit(ep_contents *contents) {
  ep_pins_deinit(&contents->pins);
}

int64_t ep_contents_limit(int64_t file_bytes) {
  const int64_t ratio = 16;
  return file_bytes > INT64_MAX / ratio ? INT64_MAX : file_bytes * ratio;
}

void ep_contents_collect(ep_contents *contents, const char *sha256) {
  int64_t names = 0;
  bool damaged = true;
  ep_error error = {0};
  if (!ep_pins_claim(&contents->pins, sha256)) return;
  ep_status status = ep_store_dataset_names(contents->store, sha256, &names, &error);
  if (status == EP_OK && names == 0)
    status = ep_store_datasets_damaged(contents->store, &damaged, &error);
  if (status == EP_OK && names == 0 && !damaged)
    status = ep_data_dir_discard(contents->data_dir, "datasets", sha256, &error);
  if (status != EP_OK) { /* the next start does it */
    ep_log(EP_LOG_WARNING, "%s", error.message);
    ep_contents_mark(contents, sha256, NULL);
  }
  ep_pins_unclaim(&contents->pins, sha256);
}

static ep_status mark_path(const ep_contents *contents, const char *sha256,
                           char path[EP_PATH_BYTES], ep_error *error) {
  return ep_path_join(path, error, contents->data_dir, "datasets", sha256, EP_UNNAMED_FILE, NULL);
}

bool ep_contents_marked(const ep_contents *contents, const char *sha256) {
  char path[EP_PATH_BYTES];
  return mark_path(contents, sha256, path, NULL) == EP_OK && ep_data_dir_exists(path);
}

ep_status ep_contents_mark(const ep_contents *contents, const char *sha256, ep_error *error) {
  char path[EP_PATH_BYTES], folder[EP_PATH_BYTES];
  ep_status status = mark_path(contents, sha256, path, error);
  if (status == EP_OK)
    status = ep_path_join(folder, error, contents->data_dir, "datasets", sha256, NULL);
  if (status == EP_OK) status = ep_data_dir_write_file(path, "", 0, error);
  return status == EP_OK ? ep_durable_folder_sync(folder, error) : status;
}

void ep_contents_unmark(const ep_contents *contents, const char *sha256) {
  char path[EP_PATH_BYTES];
  ep_error error = {0};
  ep_status status = mark_path(contents, sha256, path, &error);
  if (status == EP_OK && unlink(path) != 0 && errno != ENOENT)
    ep_log(EP_LOG_WARNING, "%s cannot be removed: %s", path, strerror(errno));
}

void ep_contents_look(ep_contents *contents, const char *name, bool strange) {
  int64_t names = 0;
  ep_error error = {0};
  bool content = strlen(name) == EP_SHA256_HEX_BYTES - 1;
  if (content && !ep_pins_claim(&contents->pins, name)) return;
  ep_status status =
      content ? ep_store_dataset_names(contents->store, name, &names, &error) : EP_OK;
  if (status == EP_OK && names > 0) {
    ep_contents_unmark(contents, name);
  } else if (status == EP_OK) {
    bool marked = content && ep_contents_marked(contents, name);
    status = marked && !strange ? ep_data_dir_discard(contents->data_dir, "datasets", name, &error)
                                : ep_data_dir_keep(contents->data_dir, "datasets", name,
                                                   "has no row in the store", &error);
  }
  if (status != EP_OK) ep_log(EP_LOG_WARNING, "%s", error.message);
  if (content) ep_pins_unclaim(&contents->pins, name);
}

ep_status ep_contents_pin(ep_contents *contents, const ep_viewer *by, const char *name,
                          const char *pointer, char sha256[EP_SHA256_HEX_BYTES],
                          ep_problem *problem) {
  ep_dataset_row before, after;
  for (;;) {
    ep_error error = {0};
    ep_status status = ep_store_dataset_get(contents->store, name, &before, &error);
    bool hidden = status == EP_OK && !ep_viewer_sees(by, before.owner, before.private);
    if (status == EP_NOT_FOUND || hidden)
      return ep_problem_add(problem, EP_INVALID, pointer,
                            "dataset \"%s\" not found: upload it first", name);
    if (status != EP_OK) return ep_problem_from_error(problem, &error);
    if (!ep_pins_add(&contents->pins, before.sha256)) return ep_problem_fail_memory(problem);
    /* A pinned content stays, but it may have gone just before. */
    status = ep_store_dataset_get(contents->store, name, &after, NULL);
    if (status == EP_OK && strcmp(before.sha256, after.sha256) == 0) break;
    ep_pins_remove(&contents->pins, before.sha256);
  }
  snprintf(sha256, EP_SHA256_HEX_BYTES, "%s", before.sha256);
  return EP_OK;
}

/* Whether `old` is from before values were counted, and forms told. */
static bool column_lacks(const ep_column *old, const ep_column *new) {
  return (old->distinct == 0 && new->distinct > 0) ||
         (old->form == EP_CELL_NUMBER && new->form != EP_CELL_NUMBER) ||
         (!old->value && new->value);
}

/* A description from before that takes these over. */
static ep_status description_complete(ep_dataset_meta *there, const ep_dataset_meta *meta,
                                      ep_error *error) {
  for (int i = 0; i < EP_SPLIT_COUNT * EP_ROLE_COUNT; i++) {
    ep_part *old = &there->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT];
    const ep_part *new = &meta->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT];
    if (old->rows != new->rows || old->columns != new->columns || old->rows == 0) continue;
    for (int64_t j = 0; j < old->columns; j++) {
      if (!column_lacks(&old->column[j], &new->column[j])) continue;
      ep_status status = ep_part_columns_own(old, error);
      if (status != EP_OK) return status;
      if (old->column[j].distinct == 0) old->column[j].distinct = new->column[j].distinct;
      if (old->column[j].form == EP_CELL_NUMBER) old->column[j].form = new->column[j].form;
      if (!old->column[j].value) ep_column_values_copy(&new->column[j], &old->column[j]);
    }
  }
  return EP_OK;
}

/* Whether both metas are of the same bytes, read with the same options. */
static bool meta_equal(const ep_dataset_meta *a, const ep_dataset_meta *b) {
  char *first = ep_dataset_meta_format(a, "", "", 0, false),
       *second = ep_dataset_meta_format(b, "", "", 0, false);
  bool equal = first && second && strcmp(first, second) == 0;
  free(first);
  free(second);
  return equal;
}

/* Puts the ingested folder in the place of the same content, which the disk has damaged. What maps
 * the old files keeps them. */
static ep_status content_replace(const char *ingested, const char *path, const char *parent,
                                 ep_error *error) {
  ep_status status = ep_durable_folder_sync(ingested, error);
  if (status == EP_OK && renameat2(AT_FDCWD, ingested, AT_FDCWD, path, RENAME_EXCHANGE) != 0)
    status = ep_fail(error, ep_status_from_errno(errno), "a dataset cannot be moved to %s: %s",
                     path, strerror(errno));
  if (status == EP_OK) status = ep_durable_folder_sync(parent, error);
  return status == EP_OK ? ep_data_dir_remove(ingested, error) : status;
}

/* It says nothing about what was to be read. */
static bool memory_refused(ep_status status) {
  return status == EP_NO_MEMORY || status == EP_BUSY || status == EP_TOO_LARGE;
}

/* The content is there: what was ingested is thrown away, or replaces what is damaged. */
static ep_status content_again(const char *ingested, const ep_dataset_meta *meta, const char *path,
                               const char *parent, ep_error *error) {
  ep_dataset_meta there = {0};
  ep_error why = {0};
  ep_status status = ep_dataset_meta_read(path, &there, &why);
  if (status == EP_OK) status = description_complete(&there, meta, &why);
  bool equal = status == EP_OK && meta_equal(&there, meta);
  ep_dataset_meta_deinit(&there);
  if (memory_refused(status)) return ep_fail(error, status, "%s", why.message);
  if (status == EP_OK && !equal)
    return ep_fail(
        error, EP_CONFLICT,
        "this file is already stored with different reading options: delete that dataset first");
  if (status == EP_OK) status = ep_dataset_verify(path, NULL, NULL, NULL, &why);
  if (status == EP_OK) return ep_data_dir_remove(ingested, error);
  if (memory_refused(status)) return ep_fail(error, status, "%s", why.message);
  ep_log(EP_LOG_WARNING, "%s; it is replaced by what was uploaded", why.message);
  return content_replace(ingested, path, parent, error);
}

ep_status ep_contents_place(ep_contents *contents, const char *ingested,
                            const ep_dataset_meta *meta, ep_error *error) {
  char path[EP_PATH_BYTES], parent[EP_PATH_BYTES], mark[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, contents->data_dir, "datasets", meta->sha256, NULL);
  if (status == EP_OK) status = ep_path_join(parent, error, contents->data_dir, "datasets", NULL);
  if (status != EP_OK) return status;
  if (ep_data_dir_exists(path)) return content_again(ingested, meta, path, parent, error);
  status = ep_path_join(mark, error, ingested, EP_UNNAMED_FILE, NULL);
  if (status == EP_OK) status = ep_data_dir_write_file(mark, "", 0, error);
  if (status == EP_OK) status = ep_durable_folder_sync(ingested, error);
  if (status == EP_OK && rename(ingested, path) != 0)
    status = ep_fail(error, ep_status_from_errno(errno), "a dataset cannot be moved to %s: %s",
                     path, strerror(errno));
  if (status == EP_OK) status = ep_durable_folder_sync(parent, error);
  return status;
}
