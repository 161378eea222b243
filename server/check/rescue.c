/* A new store from the folders: first the jobs, then the datasets that they name. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/json/json.h"
#include "api/spec/labels.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/prepare/job.h"
#include "engine/files/durable_file.h"
#include "engine/files/mapping.h"
#include "engine/trials/sweep_search.h"
#include "server/check/check.h"
#include "server/check/checkup.h"
#include "server/datasets/contents.h"
#include "server/jobs/files/files.h"
#include "server/jobs/files/history.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/id.h"

#define RESCUED_STORE EP_STORE_FILE ".rescued"

/* What a folder's spec.json has. */
typedef struct {
  char *text;           /* owned */
  ep_job_spec *spec;    /* of a sweep: its job at the first point; owned */
  ep_sweep_spec *sweep; /* NULL = a job; owned */
  int64_t epochs;       /* of a sweep: its trainings */
} found_spec;

static void found_deinit(found_spec *found) {
  ep_job_spec_destroy(found->spec);
  ep_sweep_spec_destroy(found->sweep);
  free(found->text);
}

static ep_job_spec *labels_of(const found_spec *found) {
  return found->sweep ? &found->sweep->labels : found->spec;
}

/* What the spec says of a row. The texts are lent by the spec and by *tags. */
static void row_fill(const found_spec *found, char *tags, ep_job_row *row) {
  const ep_job_spec *spec = found->spec;
  row->name = labels_of(found)->name;
  row->spec = found->text;
  row->tags = tags;
  row->priority = labels_of(found)->priority;
  row->private = true; /* who may see it, the store alone knew */
  row->epochs = found->epochs;
  row->seconds_cpu = row->seconds_cuda = 0; /* not known: no device is left out */
  memcpy(row->dataset, spec->data.sha256, sizeof row->dataset);
  row->max_seconds = found->sweep ? found->sweep->max_seconds : spec->max_seconds;
  snprintf(row->dataset_name, sizeof row->dataset_name, "%s", spec->data.dataset);
  memcpy(row->requested_device, spec->device, sizeof row->requested_device);
}

/* Counts parameters and bytes, as at the submission. Of data that are not stored they stay 0. */
static void plan_count(const ep_checkup *rescue, const ep_job_spec *spec, ep_job_row *row) {
  ep_job job;
  const ep_job_source source = {.spec = spec, .data_dir = rescue->data_dir};
  if (ep_job_open(&source, &job, NULL) == EP_OK) {
    row->parameters = job.plan->parameters;
    row->bytes = job.plan->bytes;
  }
  ep_job_close(&job);
}

/* Gives a content the name that a spec has for it; a newer job's name stays. */
static ep_status content_name(ep_checkup *rescue, const char *name, const char *sha256,
                              ep_error *error) {
  char path[EP_PATH_BYTES];
  struct stat state;
  ep_dataset_row row = {0}, before;
  if (name[0] == 0 || sha256[0] == 0) return EP_OK;
  ep_status status = ep_path_join(path, error, rescue->data_dir, "datasets", sha256, NULL);
  if (status != EP_OK || stat(path, &state) != 0) return status;
  snprintf(row.name, sizeof row.name, "%s", name);
  snprintf(row.sha256, sizeof row.sha256, "%s", sha256);
  row.private = true; /* who may see it, the store alone knew */
  row.created_us = (int64_t)state.st_mtime * 1000000;
  return ep_store_dataset_put(rescue->store, &row, &before, error);
}

/* What "auto" chose: NULL where it chose nothing, or that cannot be read, which is no loss. Owned
 * by the caller. */
static char *choice_read(const ep_checkup *rescue, const char *id) {
  char path[EP_PATH_BYTES];
  ep_mapping file = {0};
  if (ep_checkup_path(rescue, id, EP_AUTO_FILE, path, NULL) != EP_OK ||
      ep_mapping_open(path, &file, NULL) != EP_OK)
    return NULL;
  const char *text = (const char *)file.bytes;
  bool whole = ep_json_check(text, file.size, EP_LIMIT_SPEC_BYTES, NULL) == EP_OK;
  char *copy = whole ? strndup(text, file.size) : NULL;
  ep_mapping_close(&file);
  return copy;
}

static ep_status spec_insert(ep_checkup *rescue, const char *id, const found_spec *found,
                             ep_error *error) {
  const ep_job_spec *spec = found->spec, *labels = labels_of(found);
  ep_job_row row = {.state = EP_STATE_QUEUED, .version = (uint64_t)ep_clock_utc_us()};
  char *tags = ep_tags_format((const char *const *)labels->tags, labels->tags_count);
  if (!tags) return ep_fail_memory(error);
  snprintf(row.id, sizeof row.id, "%s", id);
  row_fill(found, tags, &row);
  plan_count(rescue, spec, &row);
  ep_status status = ep_job_history_read(rescue->data_dir, &row, error);
  if (status == EP_NOT_FOUND) status = EP_OK; /* its lines are written again */
  if (row.created_us == 0) row.created_us = ep_clock_utc_us();
  row.automatic = choice_read(rescue, id);
  if (status == EP_OK) status = ep_store_job_insert(rescue->store, &row, NULL, NULL, error);
  free(row.automatic);
  free(row.result);
  free(tags);
  if (status == EP_OK) status = content_name(rescue, spec->data.dataset, spec->data.sha256, error);
  if (status == EP_OK) status = content_name(rescue, spec->init_weights, spec->init_sha256, error);
  return status;
}

static ep_status sweep_load(found_spec *found, ep_problem *problem) {
  double point[EP_LIMIT_SWEEP_AXES];
  ep_status status = ep_sweep_spec_load(found->text, &found->sweep, NULL);
  if (status != EP_OK) return status;
  ep_sweep_first_point(found->sweep, point);
  status = ep_sweep_count(found->sweep, &found->epochs, problem);
  return status == EP_OK ? ep_sweep_trial_make(found->sweep, point, 0, &found->spec, problem)
                         : status;
}

static ep_status job_load(found_spec *found) {
  ep_status status = ep_job_spec_load(found->text, strlen(found->text), &found->spec, NULL);
  if (status == EP_OK) found->epochs = found->spec->epochs;
  return status;
}

static ep_status spec_load(const ep_checkup *rescue, const char *id, found_spec *found,
                           ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_mapping file = {0};
  ep_status status = ep_checkup_path(rescue, id, EP_SPEC_FILE, path, error);
  if (status == EP_OK) status = ep_mapping_open(path, &file, error);
  if (status != EP_OK) return status;
  found->text = strndup((const char *)file.bytes, file.size);
  ep_mapping_close(&file);
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!found->text || !problem)
    status = ep_fail_memory(error);
  else if ((ep_id_is_sweep(id) ? sweep_load(found, problem) : job_load(found)) != EP_OK)
    status = ep_fail(error, EP_IO, EP_SPEC_FILE " is damaged");
  free(problem);
  return status;
}

static void job_rescue(ep_checkup *rescue, const char *name) {
  char id[EP_ID_BYTES];
  found_spec found = {0};
  ep_error error = {0};
  ep_job_folder_kind kind = ep_job_folder_look(rescue->data_dir, name, id);
  if (kind == EP_JOB_FOLDER_MARKED || kind == EP_JOB_FOLDER_UNACCEPTED) return;
  ep_status status = kind == EP_JOB_FOLDER_STRANGE ? ep_fail(&error, EP_INVALID, "not a job folder")
                                                   : spec_load(rescue, id, &found, &error);
  if (status == EP_OK) status = spec_insert(rescue, id, &found, &error);
  if (status != EP_OK) ep_checkup_fault(rescue, name, "%s", error.message);
  found_deinit(&found);
}

/* A content without a name gets its hash as one, unless no name meant it before. */
static void content_rescue(void *context, const char *sha256) {
  ep_checkup *rescue = context;
  ep_contents contents = {.data_dir = rescue->data_dir};
  ep_dataset_meta meta = {0};
  char path[EP_PATH_BYTES];
  int64_t names = 0;
  ep_error error = {0};
  ep_status status = ep_store_dataset_names(rescue->store, sha256, &names, &error);
  if (status == EP_OK && (names > 0 || ep_contents_marked(&contents, sha256))) return;
  if (status == EP_OK)
    status = ep_path_join(path, &error, rescue->data_dir, "datasets", sha256, NULL);
  if (status == EP_OK) status = ep_dataset_meta_read(path, &meta, &error);
  if (status == EP_OK) ep_dataset_meta_deinit(&meta);
  if (status == EP_OK) status = content_name(rescue, sha256, sha256, &error);
  if (status != EP_OK) ep_checkup_fault(rescue, sha256, "%s", error.message);
}

/* Oldest first, as their ids sort. */
static ep_status jobs_rescue(ep_checkup *rescue, ep_error *error) {
  ep_checkup_names list;
  ep_status status = ep_checkup_names_list(rescue, "jobs", &list, error);
  for (size_t i = 0; status == EP_OK && i < list.count; i++) job_rescue(rescue, list.name[i]);
  ep_checkup_names_deinit(&list);
  return status;
}

static ep_status store_fill(ep_checkup *rescue, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = jobs_rescue(rescue, error);
  if (status == EP_OK) status = ep_path_join(path, error, rescue->data_dir, "datasets", NULL);
  return status == EP_OK ? ep_data_dir_list(path, content_rescue, rescue, error) : status;
}

/* Keeps the files of the old store and puts the new one in their place. */
static ep_status store_replace(const char *data_dir, const char *made, ep_error *error) {
  static const char *const old[] = {EP_STORE_FILE, EP_STORE_FILE "-wal", EP_STORE_FILE "-shm"};
  char path[EP_PATH_BYTES];
  ep_status status = EP_OK;
  for (size_t i = 0; status == EP_OK && i < sizeof old / sizeof *old; i++) {
    status = ep_path_join(path, error, data_dir, old[i], NULL);
    if (status == EP_OK && ep_data_dir_exists(path))
      status = ep_data_dir_keep(data_dir, ".", old[i], "is rebuilt", error);
  }
  if (status == EP_OK) status = ep_path_join(path, error, data_dir, EP_STORE_FILE, NULL);
  if (status == EP_OK && rename(made, path) != 0)
    status = ep_fail(error, EP_IO, "%s cannot be renamed: %s", made, strerror(errno));
  return status == EP_OK ? ep_durable_folder_sync(data_dir, error) : status;
}

ep_status ep_rescue_run(const char *data_dir, FILE *out, int64_t *faults, ep_error *error) {
  static const char *const suffixes[] = {"", "-wal", "-shm"};
  char made[EP_PATH_BYTES], leftover[EP_PATH_BYTES + 8];
  int lock = -1;
  ep_checkup rescue = {.data_dir = data_dir, .out = out, .mutex = PTHREAD_MUTEX_INITIALIZER};
  ep_status status = ep_data_dir_lock(data_dir, &lock, error);
  if (status == EP_OK) status = ep_path_join(made, error, data_dir, RESCUED_STORE, NULL);
  for (size_t i = 0; status == EP_OK && i < sizeof suffixes / sizeof *suffixes; i++) {
    snprintf(leftover, sizeof leftover, "%s%s", made, suffixes[i]); /* of one that was cut short */
    unlink(leftover);
  }
  if (status == EP_OK) status = ep_store_open(made, &rescue.store, error);
  if (status == EP_OK) status = store_fill(&rescue, error);
  ep_store_close(rescue.store); /* which writes all into the one file */
  if (status == EP_OK) status = store_replace(data_dir, made, error);
  if (lock >= 0) close(lock);
  *faults = rescue.faults;
  return status;
}
