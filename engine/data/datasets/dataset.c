#include "engine/data/datasets/dataset.h"

#include <assert.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/reserve.h"

const char *ep_role_name(ep_role role) {
  static const char *const names[EP_ROLE_COUNT] = {"table", "x", "y"};
  assert(role < EP_ROLE_COUNT);
  return names[role];
}

static const char *const type_names[EP_COLUMN_TYPES] = {"number", "category", "date", "text"};

const char *ep_column_type_name(ep_column_type type) {
  assert(type < EP_COLUMN_TYPES);
  return type_names[type];
}

int ep_column_type_from_name(const char *name) {
  for (int type = 0; type < EP_COLUMN_TYPES; type++)
    if (strcmp(type_names[type], name) == 0) return type;
  return -1;
}

const char *ep_column_label(const ep_column *column, int64_t index,
                            char out[EP_COLUMN_LABEL_BYTES]) {
  const char *name = column[index].name;
  char shown[EP_EXCERPT_BYTES];
  if (name[0])
    snprintf(out, EP_COLUMN_LABEL_BYTES, "column %lld (\"%s\")", (long long)index + 1,
             ep_excerpt(shown, name, strlen(name)));
  else
    snprintf(out, EP_COLUMN_LABEL_BYTES, "column %lld", (long long)index + 1);
  return out;
}

void ep_words_deinit(ep_words *words) {
  for (int64_t i = 0; i < words->count; i++) free(words->word[i]);
  free(words->word);
  free(words->rows);
  *words = (ep_words){0};
}

bool ep_words_init(ep_words *out, int64_t count) {
  size_t room = (size_t)count + 1;
  *out =
      (ep_words){.word = calloc(room, sizeof *out->word), .rows = calloc(room, sizeof *out->rows)};
  if (out->word && out->rows)
    out->count = count;
  else
    ep_words_deinit(out);
  return out->word;
}

bool ep_words_copy(const ep_words *from, int64_t count, ep_words *out) {
  *out = (ep_words){0};
  if (count > 0 && !ep_words_init(out, count)) return false;
  for (int64_t i = 0; i < count; i++) {
    if (from->rows) out->rows[i] = from->rows[i];
    out->word[i] = strdup(from->word[i]);
    if (out->word[i]) continue;
    ep_words_deinit(out);
    return false;
  }
  return true;
}

ep_status ep_column_note_set(ep_column *column, const char *text, ep_error *error) {
  free(column->note);
  column->note = strdup(text);
  return column->note ? EP_OK : ep_fail_memory(error);
}

ep_status ep_column_note_add(ep_column *column, ep_error *error, const char *format, ...) {
  enum { NOTE_BYTES = 400 };
  char note[NOTE_BYTES] = "";
  if (column->note) snprintf(note, sizeof note, "%s; ", column->note);
  size_t used = strlen(note);
  va_list arguments;
  va_start(arguments, format);
  int bytes = vsnprintf(note + used, sizeof note - used, format, arguments);
  va_end(arguments);
  if (bytes < 0 || used + (size_t)bytes >= sizeof note) return EP_OK; /* no half a character */
  return ep_column_note_set(column, note, error);
}

void ep_columns_destroy(ep_column *column, int64_t columns) {
  for (int64_t i = 0; column && i < columns; i++) {
    ep_words_deinit(&column[i].words);
    ep_words_deinit(&column[i].missing_words);
    free(column[i].note);
    free(column[i].value);
  }
  free(column);
}

bool ep_column_values_copy(const ep_column *column, ep_column *out) {
  int64_t count = column->words.count > 0 ? column->words.count : column->distinct;
  out->value = column->value ? malloc((size_t)count * sizeof *out->value) : NULL;
  if (out->value) memcpy(out->value, column->value, (size_t)count * sizeof *out->value);
  return !column->value || out->value;
}

/* Columns that many descriptions refer to. */
typedef struct ep_shared_columns {
  atomic_llong references;
  int64_t columns;
  ep_column *column; /* [columns], owned */
} shared_columns;

static void columns_release(shared_columns *shared) {
  if (atomic_fetch_sub(&shared->references, 1) != 1) return;
  ep_columns_destroy(shared->column, shared->columns);
  free(shared);
}

/* False when memory is short, and then there is nothing to free. */
static bool column_copy(const ep_column *column, ep_column *out) {
  *out = *column;
  out->value = NULL;
  out->note = column->note ? strdup(column->note) : NULL;
  out->words = (ep_words){0};
  if ((!column->note || out->note) && ep_column_values_copy(column, out) &&
      ep_words_copy(&column->words, column->words.count, &out->words) &&
      ep_words_copy(&column->missing_words, column->missing_words.count, &out->missing_words))
    return true;
  ep_words_deinit(&out->words);
  free(out->value);
  free(out->note);
  return false;
}

/* NULL when memory is short. */
static ep_column *columns_copy(const ep_column *column, int64_t columns) {
  ep_column *copy = malloc((size_t)columns * sizeof *copy);
  if (!copy) return NULL;
  for (int64_t i = 0; i < columns; i++) {
    if (column_copy(&column[i], &copy[i])) continue;
    ep_columns_destroy(copy, i);
    return NULL;
  }
  return copy;
}

ep_status ep_part_columns_own(ep_part *part, ep_error *error) {
  if (!part->shared) return EP_OK;
  ep_status status = ep_reserve(part->columns * (int64_t)sizeof *part->column, error);
  if (status != EP_OK) return status;
  ep_column *copy = columns_copy(part->column, part->columns);
  if (!copy) return ep_fail_memory(error);
  columns_release(part->shared);
  part->shared = NULL;
  part->column = copy;
  return EP_OK;
}

void ep_part_take(ep_part *from, ep_part *to) {
  *to = *from;
  from->column = NULL;
  from->shared = NULL;
}

bool ep_dataset_meta_share(ep_dataset_meta *meta) {
  for (int i = 0; i < EP_SPLIT_COUNT * EP_ROLE_COUNT; i++) {
    ep_part *part = &meta->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT];
    if (!part->column || part->shared) continue;
    part->shared = malloc(sizeof *part->shared);
    if (!part->shared) return false;
    *part->shared = (shared_columns){1, part->columns, part->column};
  }
  return true;
}

static int64_t words_bytes(const ep_words *words) {
  int64_t bytes = words->count * (int64_t)(sizeof *words->word + sizeof *words->rows);
  for (int64_t i = 0; i < words->count; i++)
    bytes += (int64_t)(malloc_usable_size(words->word[i]) + sizeof(size_t));
  return bytes;
}

int64_t ep_dataset_meta_bytes(const ep_dataset_meta *meta) {
  int64_t bytes = 0;
  for (int i = 0; i < EP_SPLIT_COUNT * EP_ROLE_COUNT; i++) {
    const ep_part *part = &meta->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT];
    for (int64_t j = 0; part->column && j < part->columns; j++) {
      const ep_column *column = &part->column[j];
      bytes += (int64_t)(sizeof *column + malloc_usable_size(column->value) +
                         malloc_usable_size(column->note)) +
               words_bytes(&column->words) + words_bytes(&column->missing_words);
    }
  }
  return bytes;
}

/* A copy of its own of `bytes` bytes, of NULL too; false when memory is short. */
static bool bytes_copy(const void *from, size_t bytes, void **out) {
  *out = from ? malloc(bytes) : NULL;
  if (*out) memcpy(*out, from, bytes);
  return !from || *out;
}

static bool owned_copy(const ep_dataset_meta *meta, ep_dataset_meta *out) {
  void *copy;
  for (int i = 0; i < EP_SPLIT_COUNT * EP_ROLE_COUNT; i++) {
    const ep_part *from = &meta->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT];
    ep_part *to = &out->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT];
    if (!from->column) continue;
    if (from->shared) {
      atomic_fetch_add(&from->shared->references, 1);
      to->shared = from->shared;
    }
    to->column = from->shared ? from->column : columns_copy(from->column, from->columns);
    if (!to->column) return false;
  }
  if (!bytes_copy(meta->class_name, (size_t)meta->classes * sizeof *meta->class_name, &copy))
    return false;
  out->class_name = copy;
  if (!bytes_copy(meta->dialect, sizeof *meta->dialect, &copy)) return false;
  out->dialect = copy;
  return true;
}

bool ep_dataset_meta_copy(const ep_dataset_meta *meta, ep_dataset_meta *out) {
  *out = *meta;
  out->class_name = NULL;
  out->dialect = NULL;
  for (int i = 0; i < EP_SPLIT_COUNT * EP_ROLE_COUNT; i++) {
    out->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT].column = NULL;
    out->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT].shared = NULL;
  }
  if (owned_copy(meta, out)) return true;
  ep_dataset_meta_deinit(out);
  return false;
}

void ep_dataset_meta_drop_columns(ep_dataset_meta *meta) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int role = 0; role < EP_ROLE_COUNT; role++) {
      ep_part *part = &meta->part[split][role];
      if (part->shared)
        columns_release(part->shared);
      else
        ep_columns_destroy(part->column, part->columns);
      part->column = NULL;
      part->shared = NULL;
    }
}

void ep_dataset_meta_deinit(ep_dataset_meta *meta) {
  ep_dataset_meta_drop_columns(meta);
  free(meta->class_name);
  free(meta->dialect);
  *meta = (ep_dataset_meta){0};
}
