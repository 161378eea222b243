#include "server/jobs/models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/positive.h"
#include "engine/files/verified.h"
#include "engine/weights/weights.h"
#include "server/jobs/files/results.h"
#include "server/jobs/live/live.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/id.h"
#include "server/store/models.h"

/* How a class is made of the outputs. With a binary loss and several outputs a row has no one
 * class. */
static ep_decision decision_of(ep_loss_type loss, int64_t outputs) {
  if (ep_loss_takes_classes(loss)) return EP_DECISION_GREATEST;
  if (!ep_loss_is_classifier(loss) || outputs != 1) return EP_DECISION_NONE;
  return loss == EP_LOSS_BCE ? EP_DECISION_HALF : EP_DECISION_POSITIVE;
}

static void plan_describe(const ep_plan *plan, ep_model *model) {
  ep_shape row = plan->program.stored;
  bool image = row.height * row.width > 1;
  model->row_dimensions = image ? 3 : 1;
  model->row[0] = row.channels;
  model->row[1] = row.height;
  model->row[2] = row.width;
  model->outputs = plan->program.out_features;
  model->decision = decision_of(plan->program.loss, model->outputs);
}

/* The plan of the training that wrote the weights, from the notes in their file. The caller
 * destroys it. */
static ep_status plan_read(const char *weights, ep_plan **out, ep_error *error) {
  char *text = NULL;
  ep_job_spec *spec = NULL;
  ep_data_shape shape;
  *out = NULL;
  ep_problem *problem = calloc(1, sizeof *problem);
  if (!problem) return ep_fail_memory(error);
  ep_status status = ep_weights_read_spec(weights, &text, error);
  if (status == EP_OK) status = ep_weights_read_shape(weights, &shape, error);
  if (status == EP_OK && (ep_job_spec_load(text, strlen(text), &spec, problem) != EP_OK ||
                          ep_plan_create(spec, &shape, out, problem) != EP_OK))
    status = ep_fail(error, problem->status, "%.400s", problem->detail);
  ep_job_spec_destroy(spec);
  free(text);
  free(problem);
  return status;
}

/* A row of a table that was encoded has the cells of the table. */
static ep_status columns_describe(const char *weights, ep_model *model, ep_error *error) {
  ep_encoding *encoding;
  ep_status status = ep_weights_read_encoding(weights, &encoding, error);
  if (status != EP_OK || !encoding) return status;
  int64_t length = encoding->window.length;
  model->row_dimensions = 1; /* of a window all cells, though its features may have a shape */
  model->row[0] = encoding->columns * (length > 0 ? length : 1);
  ep_encoding_deinit(encoding);
  free(encoding);
  return EP_OK;
}

/* The inputs and outputs of the job's weights, which are read whole. The job is pinned. */
static ep_status job_describe(ep_jobs *jobs, const ep_viewer *by, ep_model *model,
                              ep_error *error) {
  char weights[EP_PATH_BYTES], sha256[EP_SHA256_HEX_BYTES];
  ep_job_row row;
  ep_plan *plan = NULL;
  ep_error inner = {0};
  if (!ep_id_valid(model->job) || ep_jobs_see(jobs, by, EP_OWNED_JOB, model->job, NULL) != EP_OK ||
      ep_store_job_get(jobs->store, model->job, &row, NULL) != EP_OK)
    return ep_fail_at(error, EP_NOT_FOUND, "/job", "there is no job %.60s", model->job);
  ep_state state = row.state;
  if (!model->visibility_given) model->private = row.private;
  ep_status hashed = ep_job_row_weights_sha256(&row, sha256, &inner);
  ep_job_row_deinit(&row);
  if (state == EP_STATE_FAILED)
    return ep_fail_at(error, EP_CONFLICT, "/job", "job %s failed: its weights are not published",
                      model->job);
  ep_status status =
      ep_jobs_file(jobs, model->job, EP_WEIGHTS_FILE, weights, sizeof weights, &inner);
  if (status == EP_OK) status = hashed;
  if (status == EP_OK) status = ep_verified_sha256_at(weights, sha256, &inner);
  if (status == EP_OK) status = plan_read(weights, &plan, &inner);
  if (status == EP_OK) plan_describe(plan, model);
  if (status == EP_OK) status = columns_describe(weights, model, &inner);
  ep_plan_destroy(plan);
  if (status == EP_OK && !isnan(model->threshold) && !ep_model_has_two_classes(model))
    return ep_fail_at(error, EP_INVALID, "/threshold",
                      "a threshold is for two classes, which job %s does not have", model->job);
  if (status == EP_OK) return EP_OK;
  if (status == EP_NO_MEMORY || status == EP_IO || status == EP_DAMAGED)
    return ep_fail(error, status, "%.400s", inner.message);
  return ep_fail_at(error, EP_CONFLICT, "/job", "job %s cannot be published: %.400s", model->job,
                    inner.message);
}

/* The words of two classes, a loan from `meaning`; NULL: it has others. */
static const ep_words *binary_words(const ep_output_meaning *meaning, ep_words *own) {
  *own = (ep_words){.word = meaning->class_name, .count = meaning->classes};
  if (meaning->classes == 0) return &ep_binary_numbers;
  return meaning->classes == EP_BINARY_CLASSES ? own : NULL;
}

ep_status ep_models_positive_find(ep_jobs *jobs, const char *name, const char *job,
                                  char positive[EP_LIMIT_WORD_BYTES + 1], ep_error *error) {
  ep_output_meaning meaning, old = {0};
  ep_model model;
  ep_words own, before;
  int64_t kept = -1;
  positive[0] = 0;
  if (!ep_id_valid(job)) return EP_OK;
  ep_status status = ep_jobs_meaning_find(jobs, job, 0, &meaning, error);
  if (status != EP_OK) return status == EP_NO_MEMORY ? status : EP_OK;
  const ep_words *words = binary_words(&meaning, &own);
  if (words && ep_models_get(jobs, name, &model, NULL) == EP_OK && !isnan(model.threshold)) {
    /* a name from before has no word: its threshold is of class 1 */
    if (!model.positive[0] && ep_jobs_meaning_find(jobs, model.job, 0, &old, NULL) == EP_OK &&
        binary_words(&old, &before))
      snprintf(model.positive, sizeof model.positive, "%s", ep_output_positive(&old));
    kept = ep_positive_find(words, model.positive);
  }
  if (words) snprintf(positive, EP_LIMIT_WORD_BYTES + 1, "%s", words->word[kept == 0 ? 0 : 1]);
  ep_output_meaning_deinit(&old);
  ep_output_meaning_deinit(&meaning);
  return EP_OK;
}

ep_status ep_models_put(ep_jobs *jobs, const char *name, const ep_model_request *request,
                        double threshold, const char *positive, const ep_viewer *by, bool *created,
                        ep_error *error) {
  ep_model model = {.threshold = threshold,
                    .published_us = ep_clock_utc_us(),
                    .private = request->private,
                    .visibility_given = request->visibility_given};
  snprintf(model.name, sizeof model.name, "%s", name);
  snprintf(model.job, sizeof model.job, "%s", request->job);
  snprintf(model.owner, sizeof model.owner, "%s", by->owner ? by->owner : "");
  if (!isnan(threshold)) snprintf(model.positive, sizeof model.positive, "%s", positive);
  *created = false;
  /* The job cannot be deleted until the model is stored. */
  if (!ep_pins_add(&jobs->contents.pins, model.job)) return ep_fail_memory(error);
  ep_status status = job_describe(jobs, by, &model, error);
  if (status == EP_OK)
    status = ep_store_model_put(jobs->store, &model, !by->limited, created, error);
  ep_pins_remove(&jobs->contents.pins, model.job);
  return status;
}

ep_status ep_models_get(ep_jobs *jobs, const char *name, ep_model *out, ep_error *error) {
  return ep_store_model_get(jobs->store, name, out, error);
}

/* The columns that are features, of an encoded table where each has a name of its own, which stays
 * the encoding's. *out: [*count], the caller's. */
static ep_status columns_list(const ep_encoding *encoding, ep_model_column **out, int64_t *count,
                              ep_error *error) {
  *count = 0;
  *out = NULL;
  const char *repeated;
  if (!encoding || ep_encoding_is_plain(encoding) || encoding->window.length > 0) return EP_OK;
  ep_status status = ep_encoding_repeated_name(encoding, &repeated, error);
  if (status != EP_OK || repeated) return status;
  *out = calloc((size_t)encoding->columns, sizeof **out);
  if (!*out) return ep_fail_memory(error);
  for (int64_t i = 0; i < encoding->columns; i++) {
    const ep_column_encoding *column = &encoding->column[i];
    if (column->encode == EP_ENCODE_NONE) continue;
    (*out)[(*count)++] = (ep_model_column){column->name, column->type != EP_COLUMN_NUMBER};
  }
  return EP_OK;
}

ep_status ep_models_metadata(ep_jobs *jobs, const char *name, char **text, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_model model;
  ep_model_column *column = NULL;
  ep_encoding *encoding = NULL;
  ep_output_meaning meaning = {0};
  int64_t columns = 0;
  *text = NULL;
  ep_status status = ep_models_get(jobs, name, &model, error);
  if (status == EP_OK)
    status = ep_jobs_file(jobs, model.job, EP_WEIGHTS_FILE, path, sizeof path, error);
  if (status == EP_OK) status = ep_weights_read_encoding(path, &encoding, error);
  if (status == EP_OK) status = columns_list(encoding, &column, &columns, error);
  if (status == EP_OK) status = ep_jobs_meaning_find(jobs, model.job, 0, &meaning, error);
  if (status == EP_OK) {
    int64_t classes = ep_output_classes(&meaning, model.outputs);
    *text = ep_model_metadata_format(&model, column, columns, classes, meaning.classes > 0);
    if (!*text) status = ep_fail_memory(error);
  }
  ep_output_meaning_deinit(&meaning);
  free(column);
  if (encoding) ep_encoding_deinit(encoding);
  free(encoding);
  return status;
}

ep_status ep_models_show(ep_jobs *jobs, const char *name, const ep_viewer *by, bool private,
                         ep_error *error) {
  return ep_store_model_visibility(jobs->store, name, by->owner ? by->owner : "", !by->limited,
                                   private, error);
}

ep_status ep_models_delete(ep_jobs *jobs, const char *name, const char *owner, bool admin,
                           ep_error *error) {
  return ep_store_model_delete(jobs->store, name, owner, admin, error);
}

ep_status ep_models_list(ep_jobs *jobs, const ep_viewer *viewer, char **text, ep_error *error) {
  ep_model *models = NULL;
  int64_t count = 0;
  *text = NULL;
  ep_status status = ep_store_model_list(jobs->store, viewer, &models, &count, error);
  if (status != EP_OK) return status;
  *text = ep_models_format(models, count);
  free(models);
  return *text ? EP_OK : ep_fail_memory(error);
}
