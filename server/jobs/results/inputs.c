/* What a row to predict has: by the weights alone, since the dataset may be another by now. */
#include <stdlib.h>

#include "api/json/memory.h"
#include "engine/data/columns/inputs_json.h"
#include "engine/weights/stored_model.h"
#include "server/jobs/checkpoints.h"

/* Rows are asked by name where each column that counts has a name of its own. */
static ep_status columns_make(const ep_encoding *encoding, json_t **out, ep_error *error) {
  const char *repeated = NULL;
  ep_status status = encoding ? ep_encoding_repeated_name(encoding, &repeated, error) : EP_OK;
  if (status != EP_OK) return status;
  *out = encoding && !repeated ? ep_encoding_inputs_json(encoding) : json_array();
  return *out ? EP_OK : ep_fail_memory(error);
}

static json_t *window_make(const ep_encoding *encoding) {
  if (!encoding || encoding->window.length == 0) return json_null();
  return json_pack("{s:I, s:I}", "length", (json_int_t)encoding->window.length, "horizon",
                   (json_int_t)encoding->window.horizon);
}

/* Of a model whose job the viewer does not see: names and types, and nothing of its rows. */
static void rows_hide(json_t *columns) {
  static const char *const hidden[] = {"categories", "distinct", "min", "max", "typical"};
  json_t *column;
  size_t index;
  json_array_foreach(columns, index, column) {
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) json_object_del(column, hidden[i]);
  }
}

static ep_status inputs_format(const char *id, bool sees, const ep_data_shape *shape,
                               const ep_encoding *encoding, char **text, ep_error *error) {
  json_t *columns = NULL;
  const ep_shape *row = &shape->row;
  ep_status status = columns_make(encoding, &columns, error);
  if (status != EP_OK) return status;
  if (!sees) rows_hide(columns);
  char form[EP_UNIT_FORM_BYTES], sign[EP_UNIT_BYTES];
  bool has_unit = encoding && ep_unit_form_parse(encoding->target_unit, form, sign) && sign[0];
  json_t *root =
      json_pack("{s:s, s:s, s:s?, s:s?, s:b, s:[I, I, I], s:o, s:o}", "object", "inputs", "job", id,
                "target", encoding && encoding->target[0] ? encoding->target : NULL, "unit",
                has_unit ? sign : NULL, "pictures", ep_jobs_are_pictures(shape), "shape",
                (json_int_t)row->channels, (json_int_t)row->height, (json_int_t)row->width,
                "window", window_make(encoding), "columns", columns);
  *text = root ? ep_json_write(root, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
  json_decref(root);
  return *text ? EP_OK : ep_fail_memory(error);
}

ep_status ep_jobs_inputs(ep_jobs *jobs, const ep_viewer *viewer, const char *id, int64_t checkpoint,
                         char **text, ep_error *error) {
  char path[EP_PATH_BYTES] = "";
  ep_stored_model model = {0};
  *text = NULL;
  ep_status status = ep_jobs_weights_path(jobs, id, checkpoint, path, error);
  if (status == EP_OK) status = ep_stored_model_open(path, &model, error);
  if (status != EP_OK) status = ep_jobs_weights_explain(jobs, id, checkpoint, path, error);
  if (status == EP_OK) {
    bool sees = ep_jobs_see(jobs, viewer, EP_OWNED_JOB, id, NULL) == EP_OK;
    status = inputs_format(id, sees, &model.shape, model.encoding, text, error);
  }
  ep_stored_model_close(&model);
  return status;
}
