#include "engine/data/sources/table_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/data/arrays/table.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/data/sources/path_source.h"

/* path: [EP_PATH_BYTES], written, for messages. */
static ep_status file_open(const ep_data_spec *data, const ep_dataset_meta *meta, char *path,
                           int *file, ep_error *error) {
  ep_path_source source;
  if (meta->folder[0]) {
    ep_status status = ep_part_path(meta->folder, EP_SPLIT_TRAIN, EP_ROLE_TABLE, path, error);
    if (status != EP_OK) return status;
    *file = open(path, O_RDONLY | O_CLOEXEC);
    return *file >= 0 ? EP_OK : ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  }
  snprintf(path, EP_PATH_BYTES, "the file");
  ep_status status = ep_path_source_open(data->path, &source, error);
  if (status != EP_OK) return status;
  *file = source.file[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  source.file[EP_SPLIT_TRAIN][EP_ROLE_TABLE] = -1;
  ep_path_source_close(&source);
  return *file >= 0 ? EP_OK : ep_fail_at(error, EP_DATA, "/data/path", "the table is gone");
}

ep_status ep_main_table_walk(const ep_data_spec *data, const ep_dataset_meta *meta,
                             ep_status (*visit)(void *context, const uint8_t *row, ep_error *error),
                             void *context, ep_error *error) {
  const ep_part *part = &meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE];
  char path[EP_PATH_BYTES];
  ep_table table;
  size_t values_offset;
  int file;
  ep_status status = file_open(data, meta, path, &file, error);
  if (status != EP_OK) return status;
  status = ep_table_peek(file, path, &table, &values_offset, error);
  if (status == EP_OK &&
      (table.rows != part->rows || table.columns != part->columns || table.dtype != part->dtype))
    status = ep_fail(error, EP_DATA, "%s is not what was said of it", path);
  if (status == EP_OK) status = ep_table_walk(file, &table, values_offset, visit, context, error);
  close(file);
  return status;
}
