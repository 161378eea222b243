/* Rows to predict as pictures, of the size that the job's had. */
#include <stdlib.h>

#include "engine/data/inputs/picture_rows.h"
#include "engine/weights/weights.h"
#include "server/jobs/checkpoints.h"

/* Whether the job's rows were pictures: planes of bytes, grey or of three colours. */
static bool are_pictures(const ep_data_shape *shape) {
  const ep_shape *row = &shape->row;
  bool bytes = shape->x_integer && shape->x_min >= 0 && shape->x_max > 1 && shape->x_max <= 255;
  return (row->channels == 1 || row->channels == 3) && row->height * row->width > 1 &&
         (shape->x_type == EP_X_UINT8 || bytes);
}

static ep_status shape_find(ep_jobs *jobs, const char *id, int64_t checkpoint, ep_data_shape *out,
                            ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_jobs_weights_path(jobs, id, checkpoint, path, error);
  if (status == EP_OK) status = ep_weights_read_shape(path, out, error);
  if (status != EP_OK || are_pictures(out)) return status;
  return ep_fail(error, EP_CONFLICT,
                 "the job did not train on pictures (bytes of one channel or three, with a height "
                 "and a width): give \"x\", rows of numbers");
}

ep_status ep_jobs_pictures_read(ep_jobs *jobs, const char *id, int64_t checkpoint,
                                const void *bytes, size_t size, ep_prediction_rows *out,
                                ep_error *error) {
  ep_data_shape shape;
  ep_picture_rows rows;
  *out = (ep_prediction_rows){.windows = 1};
  ep_status status = shape_find(jobs, id, checkpoint, &shape, error);
  if (status == EP_OK)
    status =
        ep_picture_rows_read(bytes, size, shape.row.channels, shape.row.height, shape.row.width,
                             EP_LIMIT_PREDICT_BYTES / (int)sizeof *rows.x, &rows, error);
  if (status != EP_OK) return status;
  out->x = rows.x;
  out->rows = rows.count;
  out->columns = shape.features;
  out->name = rows.name;
  return EP_OK;
}
