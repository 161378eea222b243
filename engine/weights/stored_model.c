#include "engine/weights/stored_model.h"

#include <stdlib.h>
#include <string.h>

#include "engine/data/prepare/job.h"
#include "engine/weights/notes.h"

ep_status ep_stored_model_open(const char *path, ep_stored_model *out, ep_error *error) {
  *out = (ep_stored_model){0};
  ep_status status = ep_tensors_open(path, &out->file, error);
  if (status == EP_OK) status = ep_weights_notes_shape(&out->file, &out->shape, error);
  if (status == EP_OK)
    status = ep_weights_notes_encoding(&out->file, out->shape.features, &out->encoding, error);
  if (status == EP_OK && !out->encoding)
    status = ep_weights_notes_names(&out->file, &out->encoding, error);
  if (status == EP_OK) status = ep_weights_notes_classes(&out->file, &out->classes, error);
  return status;
}

ep_status ep_stored_model_spec_load(ep_stored_model *model, ep_error *error) {
  if (model->spec) return EP_OK;
  model->spec_text = ep_tensors_note(&model->file, "spec");
  if (!model->spec_text) return ep_fail(error, EP_DATA, "weights: the file has no spec");
  ep_error why = {0};
  if (ep_job_spec_load(model->spec_text, strlen(model->spec_text), &model->spec, &why) == EP_OK)
    return EP_OK;
  return ep_fail(error, EP_INTERNAL, "%.400s", why.message);
}

/* A batch of rows is all that is held. Rows come as numbers, where the job's own may have been
 * bytes. */
static void rows_limit(ep_data_shape *shape) {
  shape->x_type = EP_X_FLOAT32;
  if (shape->train_rows > 2) shape->train_rows = 2; /* batch_norm requires two */
  if (shape->validation_rows > 1) shape->validation_rows = 1;
  if (shape->test_rows > 1) shape->test_rows = 1;
}

ep_status ep_stored_model_plan(ep_stored_model *model, bool predicts, ep_error *error) {
  ep_data_shape shape = model->shape;
  ep_status status = ep_stored_model_spec_load(model, error);
  if (status != EP_OK) return status;
  ep_job_spec *spec = model->spec;
  if (spec->parallel.data > 1 || spec->parallel.model > 1) spec->executor[0] = 0;
  spec->parallel = (ep_parallel_spec){.data = 1, .model = 1};
  if (predicts) rows_limit(&shape);
  ep_job job;
  ep_error why = {0};
  status = ep_job_open(&(ep_job_source){.spec = spec, .shape = &shape}, &job, &why);
  model->plan = ep_job_take_plan(&job);
  if (status != EP_OK) return ep_fail(error, EP_INTERNAL, "the stored model: %.400s", why.message);
  const ep_program *program = &model->plan->program;
  status = ep_normalization_find(&spec->data, program->stored, model->shape.x_type == EP_X_UINT8,
                                 &model->normalization, error);
  if (status == EP_OK)
    status = ep_weights_notes_scaling(&model->file, ep_shape_count(program->stored),
                                      program->target_columns, &model->scaling, error);
  return status;
}

void ep_stored_model_close(ep_stored_model *model) {
  ep_normalization_deinit(&model->normalization);
  ep_scaling_deinit(&model->scaling);
  ep_plan_destroy(model->plan);
  ep_job_spec_destroy(model->spec);
  ep_words_deinit(&model->classes);
  if (model->encoding) ep_encoding_deinit(model->encoding);
  free(model->encoding);
  ep_tensors_close(&model->file);
  *model = (ep_stored_model){0};
}
