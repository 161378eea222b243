#include "engine/data/sources/table_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/arrays/table.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/data/sources/path_source.h"
#include "engine/data/sources/target.h"

static ep_status described_read(const ep_data_spec *data, const char *dataset_folder, bool values,
                                ep_dataset_meta *out, ep_error *error) {
  ep_path_source source;
  if (dataset_folder) return ep_dataset_meta_read(dataset_folder, out, error);
  ep_status status = ep_path_source_open(data->path, &source, error);
  if (status != EP_OK) return status;
  if (!source.mappable)
    status = ep_fail_at(error, EP_INVALID, "/data/path", "the files cannot be used in place");
  if (status == EP_OK) status = ep_path_source_measure(&source, values, out, error);
  ep_path_source_close(&source);
  return status;
}

ep_status ep_data_describe(const ep_data_spec *data, const char *dataset_folder, bool values,
                           bool *there, ep_dataset_meta *out, ep_error *error) {
  *out = (ep_dataset_meta){0};
  *there = dataset_folder || data->source == EP_DATA_PATH;
  if (!*there) return EP_OK;
  ep_status status = described_read(data, dataset_folder, values, out, error);
  if (status != EP_OK) return status;
  status = ep_data_retype(data, out, error);
  if (status != EP_OK) ep_dataset_meta_deinit(out);
  return status;
}

/* path: [EP_PATH_BYTES], written, for messages. */
static ep_status file_open(const ep_data_spec *data, const ep_dataset_meta *meta, ep_role role,
                           char *path, int *file, ep_error *error) {
  ep_path_source source;
  if (meta->folder[0]) {
    ep_status status = ep_part_path(meta->folder, EP_SPLIT_TRAIN, role, path, error);
    if (status != EP_OK) return status;
    *file = open(path, O_RDONLY | O_CLOEXEC);
    return *file >= 0 ? EP_OK : ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  }
  snprintf(path, EP_PATH_BYTES, "the file");
  ep_status status = ep_path_source_open(data->path, &source, error);
  if (status != EP_OK) return status;
  *file = source.file[EP_SPLIT_TRAIN][role];
  source.file[EP_SPLIT_TRAIN][role] = -1;
  ep_path_source_close(&source);
  return *file >= 0 ? EP_OK : ep_fail_at(error, EP_DATA, "/data/path", "the file no longer exists");
}

ep_status ep_main_part_walk(const ep_data_spec *data, const ep_dataset_meta *meta, ep_role role,
                            ep_status (*visit)(void *context, const uint8_t *row, ep_error *error),
                            void *context, ep_error *error) {
  const ep_part *part = &meta->part[EP_SPLIT_TRAIN][role];
  char path[EP_PATH_BYTES];
  ep_table table;
  size_t values_offset;
  int file;
  ep_status status = file_open(data, meta, role, path, &file, error);
  if (status != EP_OK) return status;
  status = ep_table_peek(file, path, &table, &values_offset, error);
  if (status == EP_OK &&
      (table.rows != part->rows || table.columns != part->columns || table.dtype != part->dtype))
    status = ep_fail(error, EP_DATA, "%s does not match its metadata", path);
  if (status == EP_OK) status = ep_table_walk(file, &table, values_offset, visit, context, error);
  close(file);
  return status;
}
