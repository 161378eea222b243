#include "server/datasets/path_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/meta.h"
#include "engine/data/sources/path_source.h"
#include "server/process/data_dir.h"

/* The folder becomes a content without a name, pinned. */
static ep_status folder_pin(ep_contents *contents, const char *folder, ep_data_spec *data,
                            const ep_dataset_meta *meta, ep_error *error) {
  if (!ep_pins_add(&contents->pins, meta->sha256)) return ep_fail_memory(error);
  ep_status status = ep_contents_place(contents, folder, meta, error);
  if (status == EP_OK) memcpy(data->sha256, meta->sha256, sizeof data->sha256);
  if (status != EP_OK) ep_pins_remove(&contents->pins, meta->sha256);
  return status;
}

/* Has the files read into the folder: as a content, or, where they can be mapped, as a description,
 * which has no hash. */
static ep_status files_read(ep_contents *contents, const ep_path_source *source, const char *folder,
                            ep_data_spec *data, ep_dataset_meta *meta, ep_error *error) {
  const ep_ingest_task task = {.source = source,
                               .max_output_bytes = ep_contents_limit(contents->max_path_bytes)};
  ep_status status = ep_ingest_run(&contents->ingest, &task, folder, NULL, NULL, error);
  if (status == EP_OK) status = ep_dataset_meta_read(folder, meta, error);
  if (status != EP_OK || !meta->sha256[0]) return status;
  status = folder_pin(contents, folder, data, meta, error);
  if (status != EP_OK) ep_dataset_meta_deinit(meta);
  return status;
}

static ep_status source_read(ep_contents *contents, const ep_path_source *source,
                             ep_data_spec *data, ep_dataset_meta *meta, ep_error *error) {
  char folder[EP_PATH_BYTES];
  ep_status status = ep_data_dir_temporary(contents->data_dir, folder, error);
  if (status != EP_OK) return status;
  status = files_read(contents, source, folder, data, meta, error);
  ep_data_dir_remove(folder, NULL); /* gone already if it was placed */
  return status;
}

ep_status ep_path_data_resolve(ep_contents *contents, ep_data_spec *data, ep_dataset_meta *meta,
                               ep_problem *problem) {
  ep_path_source source;
  ep_error error = {0};
  data->sha256[0] = 0;
  *meta = (ep_dataset_meta){0};
  ep_status status = ep_path_source_find(data->path, &source, &error);
  if (status == EP_OK) {
    status = source_read(contents, &source, data, meta, &error);
    ep_path_source_close(&source);
  }
  if (status == EP_OK) return EP_OK;
  if (status == EP_MEDIA_TYPE || status == EP_DATA || status == EP_TOO_LARGE) status = EP_INVALID;
  if (status == EP_INVALID)
    return ep_problem_add(problem, status, "/data/path", "%s", error.message);
  return ep_problem_from_error(problem, &error);
}
