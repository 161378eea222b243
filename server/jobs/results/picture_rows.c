/* Rows to predict as pictures, of the size that the job's had. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/data/inputs/picture_rows.h"
#include "engine/files/durable_file.h"
#include "engine/weights/stored_model.h"
#include "server/ingest/ingest.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/live/state.h"
#include "server/process/data_dir.h"

bool ep_jobs_are_pictures(const ep_data_shape *shape) {
  const ep_shape *row = &shape->row;
  bool bytes = shape->x_integer && shape->x_min >= 0 && shape->x_max > 1 && shape->x_max <= 255;
  return (row->channels == 1 || row->channels == 3) && row->height * row->width > 1 &&
         (shape->x_type == EP_X_UINT8 || shape->x_deep || bytes);
}

static ep_status shape_find(ep_jobs *jobs, const char *id, int64_t checkpoint, ep_data_shape *out,
                            ep_error *error) {
  char path[EP_PATH_BYTES] = "";
  ep_stored_model model = {0};
  ep_status status = ep_jobs_weights_path(jobs, id, checkpoint, path, error);
  if (status == EP_OK) status = ep_stored_model_open(path, &model, error);
  *out = model.shape;
  ep_stored_model_close(&model);
  if (status != EP_OK) status = ep_jobs_weights_explain(jobs, id, checkpoint, path, error);
  if (status != EP_OK || ep_jobs_are_pictures(out)) return status;
  return ep_fail(
      error, EP_CONFLICT,
      "the job did not train on pictures (bytes or 16 bits of one channel or three, with a "
      "height and a width): give \"x\", rows of numbers");
}

/* In the process that reads files of others, into the folder. file: of the bytes. */
static ep_status rows_ingest(ep_jobs *jobs, int file, const ep_data_shape *shape,
                             const char *folder, ep_picture_rows *out, ep_error *error) {
  ep_path_source source;
  const ep_shape *row = &shape->row;
  const ep_ingest_options options = {
      .channels = (int)row->channels, .height = (int)row->height, .width = (int)row->width};
  const ep_ingest_task task = {.source = &source,
                               .options = &options,
                               .predicts = true,
                               .deep = shape->x_deep,
                               .max_output_bytes = EP_LIMIT_PREDICT_BYTES};
  ep_path_source_init(&source);
  source.whole = true;
  source.file[EP_SPLIT_TRAIN][EP_ROLE_TABLE] = file;
  ep_status status = ep_ingest_run(&jobs->contents.ingest, &task, folder, NULL, NULL, error);
  return status == EP_OK
             ? ep_picture_rows_load(folder, row->channels * row->height * row->width, out, error)
             : status;
}

static ep_status rows_read(ep_jobs *jobs, const void *bytes, size_t size,
                           const ep_data_shape *shape, ep_picture_rows *out, ep_error *error) {
  char folder[EP_PATH_BYTES];
  int file = memfd_create("pictures", MFD_CLOEXEC);
  if (file < 0)
    return ep_fail(error, EP_UNAVAILABLE, "a file for the pictures cannot be created: %s",
                   strerror(errno));
  ep_status status = ep_file_write_all(file, bytes, size, error);
  if (status == EP_OK) status = ep_data_dir_temporary(jobs->data_dir, folder, error);
  if (status == EP_OK) {
    status = rows_ingest(jobs, file, shape, folder, out, error);
    ep_data_dir_remove(folder, NULL);
  }
  close(file);
  return status;
}

ep_status ep_jobs_pictures_read(ep_jobs *jobs, const char *id, int64_t checkpoint,
                                const void *bytes, size_t size, ep_prediction_rows *out,
                                ep_error *error) {
  ep_data_shape shape;
  ep_picture_rows rows;
  *out = (ep_prediction_rows){.windows = 1};
  ep_status status = shape_find(jobs, id, checkpoint, &shape, error);
  if (status == EP_OK) status = rows_read(jobs, bytes, size, &shape, &rows, error);
  if (status != EP_OK) return status;
  out->x = rows.x;
  out->rows = rows.count;
  out->columns = shape.features;
  out->name = rows.name;
  return EP_OK;
}
