#include "server/jobs/models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/columns/positive.h"
#include "engine/files/verified.h"
#include "engine/weights/stored_model.h"
#include "server/jobs/checkpoints.h"
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

/* A row of a table that was encoded has the cells of the table. */
static void columns_describe(const ep_encoding *encoding, ep_model *model) {
  if (!encoding) return;
  int64_t length = encoding->window.length;
  model->row_dimensions = 1; /* of a window all cells, though its features may have a shape */
  model->row[0] = encoding->columns * (length > 0 ? length : 1);
}

/* The inputs and outputs of the job's weights, which are read whole. The job is pinned. */
static ep_status job_describe(ep_jobs *jobs, const ep_viewer *by, ep_model *model,
                              ep_error *error) {
  char weights[EP_PATH_BYTES], sha256[EP_SHA256_HEX_BYTES];
  ep_job_row row;
  ep_stored_model stored = {0};
  ep_error inner = {0};
  if (!ep_id_valid(model->job) || ep_jobs_see(jobs, by, EP_OWNED_JOB, model->job, NULL) != EP_OK ||
      ep_store_job_get(jobs->store, model->job, &row, NULL) != EP_OK)
    return ep_fail_at(error, EP_NOT_FOUND, "/job", "job %.60s not found", model->job);
  ep_state state = row.state;
  if (!model->visibility_given) model->private = row.private;
  ep_status hashed = ep_job_row_weights_sha256(&row, sha256, &inner);
  ep_job_row_deinit(&row);
  if (state == EP_STATE_FAILED)
    return ep_fail_at(error, EP_CONFLICT, "/job", "job %s failed: its weights cannot be published",
                      model->job);
  ep_status status =
      ep_jobs_file(jobs, model->job, EP_WEIGHTS_FILE, weights, sizeof weights, &inner);
  if (status == EP_OK) status = hashed;
  if (status == EP_OK) status = ep_verified_sha256_at(weights, sha256, &inner);
  if (status == EP_OK) status = ep_stored_model_open(weights, &stored, &inner);
  if (status == EP_OK) status = ep_stored_model_plan(&stored, false, &inner);
  if (status == EP_OK) {
    plan_describe(stored.plan, model);
    columns_describe(stored.encoding, model);
  }
  ep_stored_model_close(&stored);
  if (status == EP_OK && !isnan(model->threshold) && !ep_model_has_two_classes(model))
    return ep_fail_at(error, EP_INVALID, "/threshold",
                      "a threshold requires a target of two classes, which job %s does not have",
                      model->job);
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

/* What a job predicts. */
typedef struct {
  char target[EP_LIMIT_NAME_BYTES + 1]; /* "": not known */
  ep_output_meaning meaning;            /* owned */
  int64_t classes;                      /* of which a row has one; 0: none */
} predicted;

static ep_status predicted_read(ep_jobs *jobs, const char *job, predicted *out, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_stored_model stored = {0};
  *out = (predicted){0};
  ep_status status = ep_jobs_weights_path(jobs, job, 0, path, error);
  if (status == EP_OK) status = ep_stored_model_open(path, &stored, error);
  if (status == EP_OK) status = ep_stored_model_plan(&stored, false, error);
  if (status == EP_OK && stored.encoding)
    memcpy(out->target, stored.encoding->target, sizeof out->target);
  if (status == EP_OK) status = ep_jobs_meaning_find(jobs, job, 0, &out->meaning, error);
  if (status == EP_OK)
    out->classes = ep_output_classes(&out->meaning, stored.plan->program.out_features);
  ep_stored_model_close(&stored);
  return status;
}

static bool class_known(const ep_output_meaning *meaning, const char *word) {
  for (int64_t i = 0; i < meaning->classes; i++)
    if (strcmp(meaning->class_name[i], word) == 0) return true;
  return false;
}

/* In any order. */
static bool classes_equal(const predicted *a, const predicted *b) {
  bool equal = a->classes == b->classes && a->meaning.classes == b->meaning.classes;
  for (int64_t i = 0; equal && i < a->meaning.classes; i++)
    equal = class_known(&b->meaning, a->meaning.class_name[i]);
  return equal;
}

/* "no, yes", "10 classes", "a number". */
static void answers_list(const predicted *from, char *out, size_t bytes) {
  enum { LISTED = 4 };
  const ep_output_meaning *meaning = &from->meaning;
  size_t used = 0;
  if (from->classes > 0)
    snprintf(out, bytes, "%lld classes", (long long)from->classes);
  else
    snprintf(out, bytes, "a number");
  for (int64_t i = 0; i < meaning->classes && i < LISTED && used < bytes; i++)
    used += (size_t)snprintf(out + used, bytes - used, "%s%.60s", i > 0 ? ", " : "",
                             meaning->class_name[i]);
  if (meaning->classes > LISTED && used < bytes) snprintf(out + used, bytes - used, ", …");
}

ep_status ep_models_changes_find(ep_jobs *jobs, const char *name, const char *job,
                                 ep_model_changes *out, bool *keeps, ep_error *error) {
  predicted was = {0}, is = {0};
  ep_model model;
  *out = (ep_model_changes){0};
  *keeps = true;
  if (ep_models_get(jobs, name, &model, NULL) != EP_OK || strcmp(model.job, job) == 0) return EP_OK;
  ep_status status = predicted_read(jobs, model.job, &was, error);
  if (status == EP_OK) status = predicted_read(jobs, job, &is, error);
  if (status == EP_OK && strcmp(was.target, is.target) != 0 && was.target[0] && is.target[0])
    snprintf(out->line[out->count++], EP_MESSAGE_BYTES,
             "%s predicted \"%.128s\" before, and predicts \"%.128s\" from here on", model.name,
             was.target, is.target);
  if (status == EP_OK && !classes_equal(&was, &is)) {
    char before[EP_MESSAGE_BYTES / 3], after[EP_MESSAGE_BYTES / 3];
    answers_list(&was, before, sizeof before);
    answers_list(&is, after, sizeof after);
    snprintf(out->line[out->count++], EP_MESSAGE_BYTES, "%.60s answered %s before, and answers %s",
             model.name, before, after);
  }
  *keeps = status == EP_OK && out->count == 0;
  ep_output_meaning_deinit(&was.meaning);
  ep_output_meaning_deinit(&is.meaning);
  return status == EP_NO_MEMORY ? status : EP_OK; /* who publishes says what is wrong */
}

ep_status ep_models_put(ep_jobs *jobs, const char *name, const ep_model_request *request,
                        double threshold, const char *positive, const ep_viewer *by, bool *created,
                        ep_error *error) {
  ep_model model = {.threshold = threshold,
                    .published_us = ep_clock_utc_us(),
                    .private = request->private,
                    .visibility_given = request->visibility_given};
  snprintf(model.name, sizeof model.name, "%s", name);
  snprintf(model.job, sizeof model.job, "%.*s", EP_ID_BYTES - 1, request->job);
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
  ep_stored_model stored = {0};
  ep_output_meaning meaning = {0};
  int64_t columns = 0;
  *text = NULL;
  ep_status status = ep_models_get(jobs, name, &model, error);
  if (status == EP_OK) status = ep_jobs_weights_path(jobs, model.job, 0, path, error);
  if (status == EP_OK) status = ep_stored_model_open(path, &stored, error);
  if (status == EP_OK) status = columns_list(stored.encoding, &column, &columns, error);
  if (status == EP_OK) status = ep_jobs_meaning_find(jobs, model.job, 0, &meaning, error);
  if (status == EP_OK) {
    int64_t classes = ep_output_classes(&meaning, model.outputs);
    *text = ep_model_metadata_format(&model, column, columns, classes, meaning.classes > 0);
    if (!*text) status = ep_fail_memory(error);
  }
  ep_output_meaning_deinit(&meaning);
  free(column);
  ep_stored_model_close(&stored);
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
