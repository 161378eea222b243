/* A row's shape is a text, "784" or "1,28,28". Its decision is a word, and behind it the threshold
 * where it has one, and the class that this is of: "positive 0.3 yes". */
#include "server/store/models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/process/log.h"
#include "server/store/sql.h"

enum { SHAPE_BYTES = 24 * EP_LIMIT_ROW_DIMENSIONS, DECISION_BYTES = 64 + EP_LIMIT_WORD_BYTES };

static void shape_format(const ep_model *model, char text[SHAPE_BYTES]) {
  text[0] = 0;
  for (int i = 0; i < model->row_dimensions; i++) {
    size_t used = strlen(text);
    snprintf(text + used, SHAPE_BYTES - used, "%s%lld", i ? "," : "", (long long)model->row[i]);
  }
}

/* False for a text that this program did not write. */
static bool shape_parse(const char *text, ep_model *model) {
  for (model->row_dimensions = 0; model->row_dimensions < EP_LIMIT_ROW_DIMENSIONS;) {
    char *end;
    long long size = strtoll(text, &end, 10);
    if (end == text || size < 1 || size > EP_LIMIT_FEATURES) return false;
    model->row[model->row_dimensions++] = size;
    if (*end == 0) return ep_model_columns(model) <= EP_LIMIT_FEATURES;
    if (*end != ',') return false;
    text = end + 1;
  }
  return false;
}

/* EP_DECISION_COUNT: a text that this program did not write. */
static ep_decision decision_parse(const char *text, ep_model *out) {
  char word[DECISION_BYTES], *end = NULL;
  size_t bytes = strcspn(text, " ");
  snprintf(word, sizeof word, "%.*s", (int)bytes, text);
  out->threshold = text[bytes] ? strtod(text + bytes, &end) : NAN;
  int decision = ep_decision_from_name(word);
  bool bad = decision < 0 ||
             (end && ((*end && *end != ' ') || !(out->threshold >= 0 && out->threshold <= 1)));
  if (end && *end) snprintf(out->positive, sizeof out->positive, "%s", end + 1);
  return bad ? EP_DECISION_COUNT : (ep_decision)decision;
}

static void decision_format(const ep_model *model, char text[DECISION_BYTES]) {
  const char *word = ep_decision_name(model->decision);
  if (isnan(model->threshold))
    snprintf(text, DECISION_BYTES, "%s", word);
  else
    snprintf(text, DECISION_BYTES, "%s %.17g%s%s", word, model->threshold,
             model->positive[0] ? " " : "", model->positive);
}

static const char *text_of(sqlite3_stmt *s, int column) {
  const char *text = (const char *)sqlite3_column_text(s, column);
  return text ? text : "";
}

static ep_status model_read(sqlite3_stmt *s, ep_model *out, ep_error *error) {
  *out = (ep_model){0};
  snprintf(out->name, sizeof out->name, "%s", text_of(s, 0));
  snprintf(out->job, sizeof out->job, "%s", text_of(s, 1));
  out->outputs = sqlite3_column_int64(s, 3);
  out->decision = decision_parse(text_of(s, 4), out);
  out->published_us = sqlite3_column_int64(s, 5);
  snprintf(out->owner, sizeof out->owner, "%s", text_of(s, 6));
  if (ep_store_row_short(s)) return ep_fail_memory(error);
  out->private = sqlite3_column_int(s, 7) != 0;
  if (sqlite3_column_int(s, 8) != 1)
    return ep_fail(error, EP_DAMAGED,
                   "the store's row of model \"%s\" is damaged: publish it again", out->name);
  if (out->decision == EP_DECISION_COUNT || out->outputs < 1 || !shape_parse(text_of(s, 2), out))
    return ep_fail(error, EP_IO, "the store's row of model \"%s\" cannot be read", out->name);
  return EP_OK;
}

/* The first row of a statement that is given `key`. EP_NOT_FOUND without one. The mutex is held. */
static ep_status model_find(ep_store *store, ep_sql sql, const char *key, ep_model *out,
                            ep_error *error) {
  sqlite3_stmt *s = store->statements[sql];
  sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
  int code = sqlite3_step(s);
  ep_status status = code == SQLITE_ROW ? model_read(s, out, error)
                     : code == SQLITE_DONE
                         ? ep_fail(error, EP_NOT_FOUND, "model \"%.128s\" not found", key)
                         : ep_store_fail(store, code, error);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return status;
}

ep_status ep_store_model_get(ep_store *store, const char *name, ep_model *out, ep_error *error) {
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_MODEL_GET);
  ep_status status = model_find(store, EP_SQL_MODEL_GET, name, out, error);
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_model_by_job(ep_store *store, const char *job, const char *owner, ep_model *out,
                                ep_error *error) {
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_MODEL_BY_JOB);
  sqlite3_bind_text(s, 2, owner, -1, SQLITE_STATIC);
  ep_status status = model_find(store, EP_SQL_MODEL_BY_JOB, job, out, error);
  ep_store_unlock(store, s);
  return status;
}

/* The mutex is held. */
static ep_status room_check(ep_store *store, ep_error *error) {
  sqlite3_stmt *s = store->statements[EP_SQL_MODEL_COUNT];
  int code = sqlite3_step(s);
  int64_t count = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
  ep_status status = code == SQLITE_ROW ? EP_OK : ep_store_fail(store, code, error);
  sqlite3_reset(s);
  if (status == EP_OK && count >= EP_LIMIT_MODELS)
    return ep_fail(error, EP_CONFLICT, "the limit of %d models is reached: delete one",
                   EP_LIMIT_MODELS);
  return status;
}

ep_status ep_store_model_put(ep_store *store, const ep_model *model, bool admin, bool *created,
                             ep_error *error) {
  char shape[SHAPE_BYTES], decision[DECISION_BYTES];
  ep_model before;
  /* One critical section: of two that put the same new name, one creates it. */
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_MODEL_PUT);
  ep_status status = model_find(store, EP_SQL_MODEL_GET, model->name, &before, NULL);
  *created = status == EP_NOT_FOUND;
  bool keeps = status == EP_OK && !model->visibility_given;
  bool others = status == EP_OK && !admin && strcmp(before.owner, model->owner) != 0;
  status = *created ? room_check(store, error) : EP_OK;
  if (others)
    status = ep_fail(error, EP_FORBIDDEN, "model \"%s\" belongs to another owner", model->name);
  if (status == EP_OK) {
    shape_format(model, shape);
    sqlite3_bind_text(s, 1, model->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, model->job, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, shape, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, model->outputs);
    decision_format(model, decision);
    sqlite3_bind_text(s, 5, decision, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 6, model->published_us);
    sqlite3_bind_text(s, 7, model->owner, -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 8, keeps ? before.private : model->private);
    status = ep_store_run(store, s, error);
  }
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_model_delete(ep_store *store, const char *name, const char *owner, bool admin,
                                ep_error *error) {
  ep_model before;
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_MODEL_DELETE);
  ep_status status = model_find(store, EP_SQL_MODEL_GET, name, &before, error);
  if (status == EP_IO || status == EP_DAMAGED)
    status = EP_OK; /* a row that cannot be read can be deleted */
  if (status == EP_OK && !admin && strcmp(before.owner, owner) != 0)
    status = ep_fail(error, EP_FORBIDDEN, "model \"%s\" belongs to another owner", name);
  if (status == EP_OK) {
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    status = ep_store_run_delete(store, s, error);
  }
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_model_visibility(ep_store *store, const char *name, const char *owner,
                                    bool admin, bool private, ep_error *error) {
  ep_model before;
  sqlite3_stmt *s = ep_store_lock(store, EP_SQL_MODEL_VISIBILITY);
  ep_status status = model_find(store, EP_SQL_MODEL_GET, name, &before, error);
  if (status == EP_OK && !admin && strcmp(before.owner, owner) != 0)
    status = ep_fail(error, EP_FORBIDDEN, "model \"%s\" belongs to another owner", name);
  if (status == EP_OK) {
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 2, private);
    status = ep_store_run(store, s, error);
  }
  ep_store_unlock(store, s);
  return status;
}

ep_status ep_store_model_list(ep_store *store, const ep_viewer *viewer, ep_model **models,
                              int64_t *count, ep_error *error) {
  *count = 0;
  *models = calloc(EP_LIMIT_MODELS, sizeof **models);
  if (!*models) return ep_fail_memory(error);
  ep_status status = EP_OK;
  int code = SQLITE_DONE;
  sqlite3_stmt *s = ep_store_lock_reader(&store, EP_SQL_MODEL_LIST);
  ep_store_viewer_bind(s, 1, viewer);
  while (*count < EP_LIMIT_MODELS && (code = sqlite3_step(s)) == SQLITE_ROW) {
    ep_error why = {0};
    if (model_read(s, &(*models)[*count], &why) == EP_OK)
      ++*count;
    else
      ep_log(EP_LOG_ERROR, "%s", why.message);
  }
  if (code != SQLITE_ROW && code != SQLITE_DONE) status = ep_store_fail(store, code, error);
  ep_store_unlock(store, s);
  if (status != EP_OK) {
    free(*models);
    *models = NULL;
    *count = 0;
  }
  return status;
}
