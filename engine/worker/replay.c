#include "engine/worker/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/names.h"
#include "engine/checkpoints/list.h"
#include "engine/files/mapping.h"
#include "engine/files/path.h"
#include "engine/training/train.h"
#include "engine/worker/paths.h"

static const char folder_name[] = "replay";

/* The spec of the job in that folder, and its text; both the caller's. */
static ep_status spec_read(const char *folder, ep_job_spec **spec, char **text, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_mapping mapping;
  ep_status status = ep_path_join(path, error, folder, EP_SPEC_FILE, NULL);
  if (status == EP_OK) status = ep_mapping_open(path, &mapping, error);
  if (status != EP_OK) return status;
  *text = mapping.size > 0 ? strndup((const char *)mapping.bytes, mapping.size) : strdup("");
  ep_mapping_close(&mapping);
  return *text ? ep_job_spec_load(*text, strlen(*text), spec, error) : ep_fail_memory(error);
}

/* Moves the checkpoint that the training left. */
static ep_status checkpoint_move(const char *folder, const char *path, ep_error *error) {
  int64_t *steps, count;
  char from[EP_PATH_BYTES];
  ep_status status = ep_checkpoints_list(folder, &steps, &count, error);
  if (status != EP_OK) return status;
  if (count == 0) status = ep_fail(error, EP_INTERNAL, "a repeated training left no checkpoint");
  if (status == EP_OK) status = ep_checkpoint_path(folder, steps[0], from, error);
  if (status == EP_OK && rename(from, path) != 0)
    status = ep_fail(error, ep_status_from_errno(errno), "%s: %s", path, strerror(errno));
  free(steps);
  return status;
}

static void folder_remove(const char *folder) {
  static const char *const names[] = {EP_WEIGHTS_FILE, EP_PREDICTIONS_JSON_FILE,
                                      EP_PREDICTIONS_CSV_FILE};
  char path[EP_PATH_BYTES];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (ep_path_join(path, NULL, folder, names[i], NULL) == EP_OK) unlink(path);
  ep_checkpoints_remove_after(folder, -1, NULL);
  ep_moments_remove_after(folder, -1, NULL);
  rmdir(folder);
}

/* Trains in `folder`. */
static ep_status source_train(const ep_training *job, const ep_training_paths *paths,
                              ep_job_spec *spec, const char *text, const char *folder,
                              ep_error *error) {
  ep_job_result result;
  ep_training again = *job;
  again.spec = spec;
  again.spec_text = text;
  again.dataset_folder = paths->dataset[0] ? paths->dataset : NULL;
  again.init_weights = paths->init_weights[0] ? paths->init_weights : NULL;
  again.job_folder = folder;
  again.epochs_logged = -1;
  again.checkpoint_after_seconds = 0;
  again.pause = NULL;
  again.sink = (ep_train_sink){.context = job->sink.context, .alive = job->sink.alive};
  spec->checkpoint_every_seconds = 1e9; /* the last one alone */
  spec->timelapse_every = 0;            /* nobody looks at it */
  spec->report.layers = false;
  ep_status status = ep_train(&again, &result, error);
  if (status == EP_OK && result.status != EP_OK)
    status = ep_fail(error, result.status, "the job to go on from, trained again: %.300s",
                     result.message);
  ep_job_result_deinit(&result);
  return status;
}

ep_status ep_replay_make(const ep_training *job, const char *data_dir, ep_error *error) {
  const char *source = job->spec->init_job, *path = job->init_weights;
  char folder[EP_PATH_BYTES];
  ep_job_spec *spec = NULL;
  char *text = NULL;
  ep_training_paths paths;
  if (!job->spec->init_optimizer || access(path, F_OK) == 0) return EP_OK;
  ep_status status = ep_path_join(paths.job, error, data_dir, "jobs", source, NULL);
  if (status == EP_OK) status = spec_read(paths.job, &spec, &text, error);
  if (status == EP_OK) status = ep_training_paths_find(data_dir, source, spec, &paths, error);
  if (status == EP_OK) status = ep_path_join(folder, error, job->job_folder, folder_name, NULL);
  if (status == EP_OK && mkdir(folder, 0700) != 0 && errno != EEXIST)
    status = ep_fail(error, ep_status_from_errno(errno), "%s: %s", folder, strerror(errno));
  if (status == EP_OK) {
    status = source_train(job, &paths, spec, text, folder, error);
    if (status == EP_OK) status = checkpoint_move(folder, path, error);
    folder_remove(folder);
  }
  ep_job_spec_destroy(spec);
  free(text);
  return status;
}
