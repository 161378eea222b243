#include "engine/worker/plots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/spec/job_spec.h"
#include "engine/checkpoints/checkpoint.h"
#include "engine/checkpoints/list.h"
#include "engine/files/durable_file.h"
#include "engine/files/verified.h"
#include "engine/plots/plots.h"
#include "engine/weights/stored_model.h"
#include "engine/worker/paths.h"

enum { SQUARE_LEAST = 8 }; /* pixels a side, of rows that nobody says the shape of */
enum { CELLS = EP_LIMIT_PREDICT_BYTES * 8 / sizeof(double) }; /* of rows in memory */

/* A job whose plot is asked for. */
typedef struct {
  char folder[EP_PATH_BYTES], weights[EP_PATH_BYTES], file[EP_PATH_BYTES];
  bool checkpoint;         /* the weights are one */
  ep_predictor *predictor; /* lent */
  ep_stored_model stored;
  ep_layer_view layers[EP_LIMIT_LAYERS];
  ep_training_paths paths;
  double *output; /* [rows, outputs] */
  int64_t *moments;
  ep_plot_model model;
} plotted;

static ep_status rows_predict(void *context, const double *x, int64_t rows, double *output,
                              ep_error *error) {
  plotted *p = context;
  int64_t columns = p->model.rows.columns, outputs = p->model.outputs;
  int64_t at_once = EP_LIMIT_PREDICT_BYTES / (int64_t)sizeof *x / (columns + outputs + 1) + 1;
  ep_status status = EP_OK;
  for (int64_t row = 0; row < rows && status == EP_OK; row += at_once) {
    int64_t count = rows - row < at_once ? rows - row : at_once, answered;
    double *answer;
    status = ep_predictor_answer(p->predictor, p->weights, p->checkpoint, "", x + row * columns,
                                 count, columns, 1, &answer, &answered, error);
    if (status != EP_OK) return status;
    if (answered == outputs)
      memcpy(output + row * outputs, answer, (size_t)(count * outputs) * sizeof *output);
    else
      status = ep_fail(error, EP_INTERNAL, "the network has %lld outputs, not %lld",
                       (long long)answered, (long long)outputs);
    free(answer);
  }
  return status;
}

/* Another snapshot's weights follow. */
static ep_status moment_take(void *context, int64_t epoch, ep_error *error) {
  plotted *p = context;
  p->checkpoint = false;
  ep_status status = ep_snapshot_check(p->folder, epoch, error);
  return status == EP_OK ? ep_moment_path(p->folder, epoch, p->weights, error) : status;
}

/* What rows look like where they are pictures: as the spec says; of bytes without names, a square.
 */
static void picture_find(plotted *p) {
  int64_t *picture = p->model.picture, columns = p->model.rows.columns;
  int64_t side = (int64_t)lround(sqrt((double)columns));
  const ep_shape *row = &p->stored.shape.row;
  bool bytes = p->stored.shape.x_type == EP_X_UINT8;
  if (p->stored.spec->data.window.length > 0 || p->stored.encoding) return;
  if (row->height * row->width > 1)
    picture[0] = row->channels, picture[1] = row->height, picture[2] = row->width;
  else if (bytes && side >= SQUARE_LEAST && side * side == columns)
    picture[0] = 1, picture[1] = picture[2] = side;
  p->model.pixels_are_bytes = bytes;
}

/* How many outputs the network has: those of one row. */
static ep_status outputs_count(plotted *p, const char *sha256, ep_error *error) {
  double *answer;
  ep_status status =
      ep_predictor_answer(p->predictor, p->weights, p->checkpoint, sha256, p->model.rows.x, 1,
                          p->model.rows.columns, 1, &answer, &p->model.outputs, error);
  if (status == EP_OK) free(answer);
  return status;
}

static ep_status rows_read(plotted *p, const ep_command *command, ep_error *error) {
  ep_plot_model *model = &p->model;
  const char *dataset = p->paths.dataset[0] ? p->paths.dataset : NULL;
  ep_status status = ep_raw_rows_read(&p->stored.spec->data, p->stored.spec->loss, dataset, CELLS,
                                      &model->rows, error);
  if (status == EP_OK) status = outputs_count(p, command->weights_sha256, error);
  if (status != EP_OK) return status;
  bool vectors = p->stored.shape.row.height * p->stored.shape.row.width <= 1 &&
                 p->stored.spec->data.shape[0] == 0;
  model->loss = p->stored.spec->loss;
  model->rows_stand_alone = vectors && p->stored.spec->data.window.length == 0;
  model->classes = p->stored.classes.count > 0 ? &p->stored.classes : NULL;
  model->encoding = p->stored.encoding;
  model->predict = rows_predict;
  model->context = p;
  model->moment_take = moment_take;
  ep_plan_layers(p->stored.plan, p->stored.spec, p->layers);
  model->layers = p->layers;
  model->layers_count = p->stored.spec->layers_count;
  model->weights = &p->stored.file;
  picture_find(p);
  status = ep_moments_list(p->folder, &p->moments, &model->moments_count, error);
  model->moments = p->moments;
  if (status != EP_OK) return status;
  int kind = ep_plot_kind_from_name(command->plot.name);
  if (kind < 0 || !ep_plot_needs_output((ep_plot_kind)kind)) return EP_OK;
  size_t values = (size_t)(model->rows.rows * model->outputs);
  model->output = p->output = malloc((values + 1) * sizeof *p->output);
  if (!p->output) return ep_fail_memory(error);
  return rows_predict(p, model->rows.x, model->rows.rows, p->output, error);
}

static ep_status text_write(const char *path, const char *text, size_t bytes, ep_error *error) {
  ep_durable_file *file;
  ep_status status = ep_durable_file_create(path, &file, error);
  if (status != EP_OK) return status;
  status = ep_durable_file_write(file, text, bytes, error);
  if (status == EP_OK) return ep_durable_file_commit(file, NULL, NULL, error);
  ep_durable_file_abandon(file);
  return status;
}

static ep_status numbers_write(const plotted *p, const ep_command *command, ep_error *error) {
  ep_writer writer;
  ep_status status = EP_OK;
  ep_writer_init(&writer, EP_LIMIT_PLOT_BYTES);
  if (command->plot.name[0])
    status = ep_plot_write(&p->model, command->job, &command->plot, &writer, error);
  else
    ep_plot_list_write(&p->model, command->job, command->plot.base, &writer);
  ep_writer_bytes(&writer, "\n", 1);
  if (status == EP_OK && writer.failed)
    status = ep_fail(
        error, EP_TOO_LARGE,
        "the plot's numbers exceed %d bytes: reduce ?count= or ?size=", EP_LIMIT_PLOT_BYTES);
  if (status == EP_OK) status = text_write(p->file, writer.text, writer.count, error);
  ep_writer_deinit(&writer);
  return status;
}

static void plotted_deinit(plotted *p) {
  free(p->output);
  free(p->moments);
  ep_raw_rows_deinit(&p->model.rows);
  ep_stored_model_close(&p->stored);
}

/* Which file the network is in. */
static ep_status weights_find(plotted *p, const ep_command *command, ep_error *error) {
  if (command->plot.epoch >= 0)
    return ep_moment_path(p->folder, command->plot.epoch, p->weights, error);
  if (p->checkpoint) return ep_checkpoint_path(p->folder, command->checkpoint, p->weights, error);
  return ep_path_join(p->weights, error, p->folder, EP_WEIGHTS_FILE, NULL);
}

static ep_status weights_verify(const plotted *p, const ep_command *command, ep_error *error) {
  if (p->checkpoint) return ep_checkpoint_check(p->weights, error);
  if (command->plot.epoch >= 0) return ep_snapshot_check(p->folder, command->plot.epoch, error);
  if (!command->weights_sha256[0]) return EP_OK;
  return ep_verified_sha256_at(p->weights, command->weights_sha256, error);
}

ep_status ep_plots_write(const char *data_dir, const ep_command *command, ep_predictor *predictor,
                         ep_error *error) {
  plotted p = {.predictor = predictor, .checkpoint = command->checkpoint > 0};
  ep_status status = ep_path_join(p.folder, error, data_dir, "jobs", command->job, NULL);
  if (status == EP_OK) status = weights_find(&p, command, error);
  if (status == EP_OK) status = ep_path_join(p.file, error, data_dir, command->file, NULL);
  if (status == EP_OK) status = weights_verify(&p, command, error);
  if (status == EP_OK) status = ep_stored_model_open(p.weights, &p.stored, error);
  if (status == EP_OK) status = ep_stored_model_plan(&p.stored, false, error);
  if (status == EP_OK)
    status = ep_training_paths_find(data_dir, command->job, p.stored.spec, &p.paths, error);
  if (status == EP_OK) status = rows_read(&p, command, error);
  if (status == EP_OK) status = numbers_write(&p, command, error);
  plotted_deinit(&p);
  return status;
}
