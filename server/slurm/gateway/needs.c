#include "server/slurm/gateway/needs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/file_number.h"
#include "api/spec/spec.h"
#include "api/sweep/sweep_spec.h"
#include "engine/files/mapping.h"
#include "engine/files/path.h"

static ep_status need_add(ep_needs *needs, const char *folder, const char *name, bool is_folder,
                          ep_error *error) {
  if (needs->count == EP_NEEDS_MOST) return ep_fail(error, EP_TOO_LARGE, "too many files of a job");
  if (needs->count == needs->capacity) {
    int grown = needs->capacity == 0 ? 16 : needs->capacity * 2;
    ep_need *list = realloc(needs->needs, (size_t)grown * sizeof *list);
    if (!list) return ep_fail_memory(error);
    needs->needs = list;
    needs->capacity = grown;
  }
  ep_need *need = &needs->needs[needs->count];
  *need = (ep_need){0}; /* a record has the whole name: what is behind it goes over the network */
  int length = snprintf(need->name, sizeof need->name, "%s/%s", folder, name);
  if (length < 0 || length >= (int)sizeof need->name || !ep_record_name_valid(need->name))
    return ep_fail(error, EP_INVALID, "invalid name of a worker file: %.100s/%.100s", folder, name);
  need->folder = is_folder;
  needs->count++;
  return EP_OK;
}

static ep_status content_add(ep_needs *needs, const char *sha256, ep_error *error) {
  return sha256[0] ? need_add(needs, "datasets", sha256, true, error) : EP_OK;
}

/* One file of a job, where it is there. */
static ep_status file_add(ep_needs *needs, const char *data_dir, const char *job, const char *file,
                          ep_error *error) {
  char path[EP_PATH_BYTES], folder[EP_RECORD_NAME_BYTES];
  snprintf(folder, sizeof folder, "jobs/%s", job);
  ep_status status = ep_path_join(path, error, data_dir, folder, file, NULL);
  if (status != EP_OK || access(path, R_OK) != 0) return status;
  return need_add(needs, folder, file, false, error);
}

/* Where the training goes on: checkpoints, and results of a sweep; not what an end has left, nor
 * moments of a time-lapse. */
static ep_status own_add(ep_needs *needs, const char *data_dir, const char *job, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, data_dir, "jobs", job, NULL);
  if (status != EP_OK) return status;
  DIR *entries = opendir(path);
  if (!entries) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  for (struct dirent *entry; status == EP_OK && (entry = readdir(entries));) {
    const char *name = entry->d_name;
    bool goes_on = ep_record_result_valid(name) && strcmp(name, EP_WEIGHTS_FILE) != 0 &&
                   strcmp(name, EP_PREDICTIONS_JSON_FILE) != 0 &&
                   strcmp(name, EP_PREDICTIONS_CSV_FILE) != 0 &&
                   ep_file_number(EP_MOMENT_PREFIX, name) < 0;
    if (goes_on) status = file_add(needs, data_dir, job, name, error);
  }
  closedir(entries);
  if (status == EP_OK) status = file_add(needs, data_dir, job, EP_HANDOVER_FILE, error);
  if (status == EP_OK) status = file_add(needs, data_dir, job, EP_INIT_FILE, error);
  return status;
}

/* Data and first weights: engine/worker/paths.c has their names. */
static ep_status spec_add(ep_needs *needs, const char *data_dir, const ep_job_spec *spec,
                          ep_error *error) {
  ep_status status = content_add(needs, spec->data.sha256, error);
  if (status == EP_OK && spec->init_weights[0])
    status = content_add(needs, spec->init_sha256, error);
  if (status == EP_OK && spec->init_job[0] && spec->init_checkpoint == 0 && !spec->init_optimizer)
    status = file_add(needs, data_dir, spec->init_job, EP_WEIGHTS_FILE, error);
  return status;
}

/* A job that goes on where another ended may have to train that one again: engine/worker/replay.h.
 */
static ep_status source_add(ep_needs *needs, const char *data_dir, const char *source,
                            ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_mapping mapping;
  ep_job_spec *spec = NULL;
  ep_status status = ep_path_join(path, error, data_dir, "jobs", source, EP_SPEC_FILE, NULL);
  if (status == EP_OK) status = ep_mapping_open(path, &mapping, error);
  if (status != EP_OK) return status;
  status = ep_job_spec_load((const char *)mapping.bytes, mapping.size, &spec, error);
  ep_mapping_close(&mapping);
  if (status == EP_OK) status = file_add(needs, data_dir, source, EP_SPEC_FILE, error);
  if (status == EP_OK) status = file_add(needs, data_dir, source, EP_INIT_FILE, error);
  if (status == EP_OK) status = spec_add(needs, data_dir, spec, error);
  ep_job_spec_destroy(spec);
  return status;
}

static ep_status job_needs(ep_needs *needs, const char *data_dir, const ep_command *train,
                           const ep_job_spec *spec, ep_error *error) {
  ep_status status = own_add(needs, data_dir, train->job, error);
  if (status == EP_OK) status = spec_add(needs, data_dir, spec, error);
  if (status == EP_OK && spec->init_optimizer && spec->init_job[0])
    status = source_add(needs, data_dir, spec->init_job, error);
  return status;
}

static ep_status sweep_needs(ep_needs *needs, const char *data_dir, const ep_command *train,
                             bool help, ep_error *error) {
  ep_sweep_spec *sweep = NULL;
  ep_status status = ep_sweep_spec_load(train->spec, &sweep, error);
  if (status == EP_OK)
    status = help ? spec_add(needs, data_dir, sweep->base, error)
                  : job_needs(needs, data_dir, train, sweep->base, error);
  ep_sweep_spec_destroy(sweep);
  return status;
}

ep_status ep_needs_find(ep_needs *needs, const char *data_dir, const ep_command *train,
                        ep_error *error) {
  ep_job_spec *spec = NULL;
  if (strncmp(train->job, EP_SWEEP_PREFIX, EP_ID_PREFIX_BYTES) == 0)
    return sweep_needs(needs, data_dir, train, false, error);
  ep_status status = ep_job_spec_load(train->spec, strlen(train->spec), &spec, error);
  if (status == EP_OK) status = job_needs(needs, data_dir, train, spec, error);
  ep_job_spec_destroy(spec);
  return status;
}

ep_status ep_needs_find_help(ep_needs *needs, const char *data_dir, const ep_command *help,
                             ep_error *error) {
  ep_job_spec *spec = NULL;
  if (strncmp(help->job, EP_SWEEP_PREFIX, EP_ID_PREFIX_BYTES) == 0)
    return sweep_needs(needs, data_dir, help, true, error);
  ep_status status = ep_job_spec_load(help->spec, strlen(help->spec), &spec, error);
  if (status == EP_OK) status = spec_add(needs, data_dir, spec, error);
  if (status == EP_OK) status = file_add(needs, data_dir, help->job, EP_INIT_FILE, error);
  ep_job_spec_destroy(spec);
  return status;
}

ep_status ep_needs_add_folder(ep_needs *needs, const char *data_dir, const char *folder,
                              ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_path_join(path, error, data_dir, folder, NULL);
  DIR *entries = status == EP_OK ? opendir(path) : NULL;
  if (status == EP_OK && !entries) status = ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  for (struct dirent *entry; status == EP_OK && (entry = readdir(entries));)
    if (entry->d_name[0] != '.') status = need_add(needs, folder, entry->d_name, false, error);
  if (entries) closedir(entries);
  return status;
}

void ep_needs_deinit(ep_needs *needs) {
  free(needs->needs);
  *needs = (ep_needs){0};
}
