#include "server/datasets/datasets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/writer.h"
#include "api/responses/job.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/parts.h"
#include "server/process/clock.h"
#include "server/process/data_dir.h"
#include "server/process/log.h"

void ep_datasets_init(ep_datasets *datasets, ep_contents *contents) {
  datasets->contents = contents;
  pthread_mutex_init(&datasets->naming, NULL);
  ep_summaries_init(&datasets->summaries);
}

void ep_datasets_deinit(ep_datasets *datasets) {
  ep_summaries_deinit(&datasets->summaries);
  pthread_mutex_destroy(&datasets->naming);
}

ep_status ep_datasets_ingest(ep_datasets *datasets, const ep_ingest_task *task, const char *folder,
                             ep_ingest_abandoned *abandoned, void *context, ep_error *error) {
  return ep_ingest_run(&datasets->contents->ingest, task, folder, abandoned, context, error);
}

/* Marks the content of a name that is about to go, where that is its only one. *marked: it is. */
static ep_status content_mark(ep_contents *contents, const ep_dataset_row *row, bool *marked,
                              ep_error *error) {
  int64_t names = 0;
  ep_status status = ep_store_dataset_names(contents->store, row->sha256, &names, error);
  *marked = status == EP_OK && names == 1;
  return *marked ? ep_contents_mark(contents, row->sha256, error) : status;
}

/* Stores the row; its content loses its mark, and the one that it replaces gets one. */
static ep_status name_put(ep_contents *contents, const ep_dataset_row *row, ep_dataset_row *before,
                          ep_error *error) {
  bool marked = false;
  ep_dataset_row old;
  ep_status status = ep_store_dataset_get(contents->store, row->name, &old, error);
  if (status == EP_OK && strcmp(old.sha256, row->sha256) != 0)
    status = content_mark(contents, &old, &marked, error);
  if (status == EP_NOT_FOUND) status = EP_OK;
  if (status == EP_OK) status = ep_store_dataset_put(contents->store, row, before, error);
  if (status == EP_OK) ep_contents_unmark(contents, row->sha256);
  if (status != EP_OK && marked) ep_contents_unmark(contents, old.sha256);
  return status;
}

/* Whether the name is theirs to give or take; of: written. EP_NOT_FOUND: nobody has it. `naming`
 * is held. */
static ep_status owner_check(ep_contents *contents, const char *name, const ep_uploader *by,
                             ep_ownership *of, ep_error *error) {
  ep_status status = ep_store_owner(contents->store, EP_OWNED_DATASET, name, of, error);
  if (status != EP_OK || by->admin || strcmp(of->owner, by->owner) == 0) return status;
  return ep_fail(error, EP_FORBIDDEN, "dataset \"%s\" belongs to another owner", name);
}

/* Whether the name is the uploader's to give, and its bytes are within the quota; measures them.
 * `naming` is held. */
static ep_status uploader_check(ep_contents *contents, const ep_uploader *by, const char *ingested,
                                ep_dataset_row *row, ep_error *error) {
  int64_t others = 0;
  ep_ownership of;
  ep_status status = owner_check(contents, row->name, by, &of, error);
  if (status == EP_OK) memcpy(row->owner, of.owner, sizeof row->owner);
  row->private = status == EP_OK && !by->visibility_given ? of.private : by->private;
  if (status == EP_OK || status == EP_NOT_FOUND)
    status = ep_data_dir_measure(ingested, &row->bytes, error);
  if (status != EP_OK || by->quota_bytes == 0) return status;
  status = ep_store_owner_bytes(contents->store, row->owner, row->name, &others, error);
  if (status == EP_OK && row->bytes > by->quota_bytes - others)
    status =
        ep_fail(error, EP_BUSY,
                "the datasets of %s would take %lld bytes, the limit is %lld: delete some of them",
                row->owner[0] ? row->owner : "nobody", (long long)(others + row->bytes),
                (long long)by->quota_bytes);
  return status;
}

/* Says how many jobs read a content that no name means any more. */
static void jobs_tell(ep_contents *contents, const ep_uploader *by, const ep_dataset_row *row,
                      const char *rows, ep_dataset_told *told) {
  const ep_viewer viewer = {by->owner, !by->admin};
  int64_t jobs = 0, names = 0;
  if (ep_store_dataset_names(contents->store, row->sha256, &names, NULL) != EP_OK || names > 0 ||
      ep_store_dataset_jobs(contents->store, row->sha256, &viewer, &jobs, NULL) != EP_OK ||
      jobs == 0)
    return;
  snprintf(told->line[told->count++], EP_MESSAGE_BYTES,
           "%lld %s trained on %s: what %s learnt keeps working", (long long)jobs,
           jobs == 1 ? "job was" : "jobs were", rows, jobs == 1 ? "it" : "they");
}

/* Stores the folder and names it. */
static ep_status folder_put(ep_contents *contents, const char *name, const ep_uploader *by,
                            const char *ingested, ep_dataset_told *told, bool *created,
                            ep_error *error) {
  ep_dataset_meta meta = {0};
  ep_dataset_row row = {.created_us = ep_clock_utc_us()}, before;
  *created = false;
  if (name[0] == 0 || strlen(name) > EP_LIMIT_NAME_BYTES)
    return ep_fail(error, EP_INVALID, "a dataset name must have 1 to %d bytes",
                   EP_LIMIT_NAME_BYTES);
  ep_status status = ep_dataset_meta_read(ingested, &meta, error);
  if (status != EP_OK) return status;
  snprintf(row.name, sizeof row.name, "%s", name);
  memcpy(row.sha256, meta.sha256, sizeof row.sha256);
  snprintf(row.owner, sizeof row.owner, "%s", by->owner);
  status = uploader_check(contents, by, ingested, &row, error);
  if (status != EP_OK) {
    ep_dataset_meta_deinit(&meta);
    return status;
  }
  if (!ep_pins_add(&contents->pins, row.sha256)) {
    ep_dataset_meta_deinit(&meta);
    return ep_fail_memory(error);
  }
  status = ep_contents_place(contents, ingested, &meta, error);
  if (status == EP_OK) status = name_put(contents, &row, &before, error);
  ep_pins_remove(&contents->pins, row.sha256);
  ep_dataset_meta_deinit(&meta);
  if (status != EP_OK) {
    /* Placed, but it has no name; a name that a crash may bring back needs it. */
    if (status != EP_UNKNOWN) ep_contents_collect(contents, row.sha256);
    return status;
  }
  *created = before.name[0] == 0;
  if (*created || strcmp(before.sha256, row.sha256) == 0) return EP_OK;
  jobs_tell(contents, by, &before, "the rows that it had before", told);
  ep_contents_collect(contents, before.sha256);
  return EP_OK;
}

ep_status ep_datasets_put(ep_datasets *datasets, const char *name, const ep_uploader *by,
                          const char *ingested, ep_dataset_told *told, bool *created,
                          ep_error *error) {
  *told = (ep_dataset_told){0};
  pthread_mutex_lock(&datasets->naming);
  ep_status status = folder_put(datasets->contents, name, by, ingested, told, created, error);
  pthread_mutex_unlock(&datasets->naming);
  return status;
}

/* How a name that is there stands to an upload. */
typedef enum { FITS, HAS_THE_ROWS, OTHER_OWNER, OTHER_FILE, OTHER_READING } standing;

/* "delimiter, header": the options by which both read the same file differently. */
static void options_list(const ep_dataset_meta *a, const ep_dataset_meta *b, char *out,
                         size_t bytes) {
  size_t used = 0;
  snprintf(out, bytes, "other options");
  for (ep_dialect_key key = 0; a->dialect && b->dialect && key < EP_DIALECT_KEYS; key++) {
    char one[EP_DIALECT_VALUE_BYTES] = "", other[EP_DIALECT_VALUE_BYTES] = "";
    const ep_dialect *first = &a->dialect->dialect, *second = &b->dialect->dialect;
    if (ep_dialect_has(first, key)) ep_dialect_value(first, key, one);
    if (ep_dialect_has(second, key)) ep_dialect_value(second, key, other);
    if (strcmp(one, other) != 0 && used < bytes)
      used += (size_t)snprintf(out + used, bytes - used, "%s%s", used > 0 ? ", " : "another ",
                               ep_dialect_key_name(key));
  }
}

/* Of a name that is the uploader's. options: [EP_MESSAGE_BYTES / 2], written for OTHER_READING. */
static standing content_look(ep_contents *contents, const char *name, const ep_dataset_meta *meta,
                             char *options) {
  ep_dataset_row row;
  ep_dataset_meta there = {0};
  char path[EP_PATH_BYTES];
  int64_t jobs = 1;
  if (ep_store_dataset_get(contents->store, name, &row, NULL) != EP_OK) return OTHER_FILE;
  if (strcmp(row.sha256, meta->sha256) == 0) return FITS;
  if (ep_path_join(path, NULL, contents->data_dir, "datasets", row.sha256, NULL) != EP_OK ||
      ep_dataset_meta_read(path, &there, NULL) != EP_OK)
    return OTHER_FILE;
  standing found = OTHER_FILE;
  if (ep_dataset_same_file(&there, meta)) {
    bool unread = ep_store_dataset_jobs(contents->store, row.sha256, NULL, &jobs, NULL) == EP_OK;
    unread = unread && jobs == 0;
    found = ep_dataset_same_rows(&there, meta) ? HAS_THE_ROWS : unread ? FITS : OTHER_READING;
    options_list(&there, meta, options, EP_MESSAGE_BYTES / 2);
  }
  ep_dataset_meta_deinit(&there);
  return found;
}

/* How the name stands to the upload: whether it can have it without taking it from other rows. */
static ep_status name_look(ep_contents *contents, const char *name, const ep_dataset_meta *meta,
                           const ep_uploader *by, standing *out, char *options, ep_error *error) {
  ep_ownership of;
  ep_status status = owner_check(contents, name, by, &of, NULL);
  *out = status == EP_NOT_FOUND ? FITS : OTHER_OWNER;
  if (status == EP_OK) *out = content_look(contents, name, meta, options);
  if (status == EP_OK || status == EP_NOT_FOUND || status == EP_FORBIDDEN) return EP_OK;
  return ep_fail(error, status, "dataset \"%s\" cannot be looked up", name);
}

/* Says why the upload does not have the name that was asked for. */
static void beside_tell(const char *asked, const char *name, standing why, const char *options,
                        ep_dataset_told *told) {
  char *line = told->line[told->count++];
  if (why == OTHER_READING)
    snprintf(line, EP_MESSAGE_BYTES,
             "dataset \"%.128s\" is the same file, read with %.200s: this one is \"%.128s\"", asked,
             options, name);
  else
    snprintf(line, EP_MESSAGE_BYTES, "dataset \"%.128s\" is %s: this one is \"%.128s\"", asked,
             why == OTHER_OWNER ? "another owner's" : "another file", name);
  if (why != OTHER_OWNER) snprintf(told->beside, sizeof told->beside, "%s", asked);
}

/* The first of `name`, NAME-2, NAME-3, … that fits the ingested folder; name: written. *has: it has
 * these rows already. `naming` is held. */
static ep_status name_choose(ep_contents *contents, char name[EP_LIMIT_NAME_BYTES + 1],
                             const ep_uploader *by, const char *ingested, ep_dataset_told *told,
                             bool *has, ep_error *error) {
  char next[EP_LIMIT_NAME_BYTES + 1], options[EP_MESSAGE_BYTES / 2] = "", rest[sizeof options];
  ep_dataset_meta meta = {0};
  standing first = FITS, now = OTHER_FILE;
  ep_status status = ep_dataset_meta_read(ingested, &meta, error);
  snprintf(next, sizeof next, "%s", name);
  for (int i = 2; status == EP_OK && now > HAS_THE_ROWS && i <= EP_LIMIT_NUMBERED_NAMES + 1; i++) {
    status = name_look(contents, next, &meta, by, &now, i == 2 ? options : rest, error);
    if (i == 2) first = now;
    if (status == EP_OK && now > HAS_THE_ROWS) {
      char end[16];
      int bytes = snprintf(end, sizeof end, "-%d", i);
      snprintf(next, sizeof next, "%.*s%s", EP_LIMIT_NAME_BYTES - bytes, name, end);
    }
  }
  ep_dataset_meta_deinit(&meta);
  if (status != EP_OK) return status;
  if (now > HAS_THE_ROWS)
    return ep_fail(error, EP_CONFLICT,
                   "all names from \"%s\" to \"%s-%d\" are taken: choose another", name, name,
                   EP_LIMIT_NUMBERED_NAMES);
  if (first > HAS_THE_ROWS) beside_tell(name, next, first, options, told);
  *has = now == HAS_THE_ROWS;
  memcpy(name, next, sizeof next);
  return EP_OK;
}

ep_status ep_datasets_put_beside(ep_datasets *datasets, char name[EP_LIMIT_NAME_BYTES + 1],
                                 const ep_uploader *by, const char *ingested, ep_dataset_told *told,
                                 bool *created, ep_error *error) {
  bool has = false;
  *created = false;
  *told = (ep_dataset_told){0};
  pthread_mutex_lock(&datasets->naming);
  ep_status status = name_choose(datasets->contents, name, by, ingested, told, &has, error);
  if (status == EP_OK && !has)
    status = folder_put(datasets->contents, name, by, ingested, told, created, error);
  else if (status == EP_OK && by->visibility_given)
    status = ep_store_dataset_visibility(datasets->contents->store, name, by->private, error);
  pthread_mutex_unlock(&datasets->naming);
  return status;
}

/* Adds the other parts that the name has to the folder. `naming` is held, so the name and its
 * content stay. */
static ep_status parts_complete(ep_contents *contents, const char *name, const char *ingested,
                                ep_error *error) {
  ep_dataset_row row;
  char before[EP_PATH_BYTES];
  ep_status status = ep_store_dataset_get(contents->store, name, &row, error);
  if (status == EP_NOT_FOUND) return ep_dataset_complete(ingested, NULL, error);
  if (status == EP_OK)
    status = ep_path_join(before, error, contents->data_dir, "datasets", row.sha256, NULL);
  return status == EP_OK ? ep_dataset_complete(ingested, before, error) : status;
}

ep_status ep_datasets_put_part(ep_datasets *datasets, const char *name, const ep_uploader *by,
                               const char *ingested, ep_dataset_told *told, bool *created,
                               ep_error *error) {
  *created = false;
  *told = (ep_dataset_told){0};
  pthread_mutex_lock(&datasets->naming);
  ep_status status = parts_complete(datasets->contents, name, ingested, error);
  if (status == EP_OK)
    status = folder_put(datasets->contents, name, by, ingested, told, created, error);
  pthread_mutex_unlock(&datasets->naming);
  return status;
}

/* The description with what is known of its name. Takes `text`; NULL when memory is short. */
static char *named_extend(char *text, int64_t jobs, const ep_dataset_told *told) {
  ep_writer writer;
  char *extended = NULL;
  ep_writer_init(&writer, EP_DATASET_LINES * 8 * EP_MESSAGE_BYTES);
  ep_writer_open(&writer, '{');
  ep_writer_member_integer(&writer, "jobs", jobs);
  if (told) {
    ep_writer_member_string(&writer, "beside", told->beside[0] ? told->beside : NULL);
    ep_writer_member_open(&writer, "warnings", '[');
    for (int i = 0; i < told->count; i++) ep_writer_string(&writer, told->line[i]);
    ep_writer_close(&writer, ']');
  }
  ep_writer_close(&writer, '}');
  char *more = ep_writer_take(&writer);
  if (text && more && asprintf(&extended, "%.*s,%s", (int)strlen(text) - 1, text, more + 1) < 0)
    extended = NULL;
  free(more);
  free(text);
  return extended;
}

/* The JSON of one row. */
static ep_status row_format(const ep_contents *contents, const ep_dataset_row *row, int64_t jobs,
                            const ep_dataset_told *told, char **text, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_dataset_meta meta = {0};
  *text = NULL;
  ep_status status = ep_path_join(path, error, contents->data_dir, "datasets", row->sha256, NULL);
  if (status == EP_OK) status = ep_dataset_meta_read(path, &meta, error);
  if (status != EP_OK) return status;
  *text = named_extend(
      ep_dataset_meta_format(&meta, row->name, row->owner, row->created_us, row->private), jobs,
      told);
  ep_dataset_meta_deinit(&meta);
  return *text ? EP_OK : ep_fail_memory(error);
}

/* Some rows of one row's content. */
static ep_status row_rows(const ep_contents *contents, const ep_dataset_row *row,
                          const ep_rows_page *page, char **text, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_dataset_meta meta = {0};
  ep_status status = ep_path_join(path, error, contents->data_dir, "datasets", row->sha256, NULL);
  if (status == EP_OK) status = ep_dataset_meta_read(path, &meta, error);
  if (status != EP_OK) return status;
  status = ep_dataset_rows_format(path, &meta, page, text, error);
  ep_dataset_meta_deinit(&meta);
  return status;
}

/* page: NULL for the description. */
static ep_status named_format(ep_datasets *datasets, const char *name, const ep_viewer *viewer,
                              const ep_rows_page *page, const ep_dataset_told *told, char **text,
                              char etag[EP_DATASET_ETAG_BYTES], ep_error *error) {
  ep_dataset_row row;
  *text = NULL;
  ep_status status = ep_store_dataset_get(datasets->contents->store, name, &row, error);
  int64_t jobs = 0;
  if (status == EP_OK && !page)
    status = ep_store_dataset_jobs(datasets->contents->store, row.sha256, viewer, &jobs, error);
  if (status != EP_OK) return status;
  snprintf(etag, EP_DATASET_ETAG_BYTES, "%s", row.sha256);
  if (!page)
    snprintf(etag, EP_DATASET_ETAG_BYTES, "%s%s", row.sha256, row.private ? "-private" : "");
  if (!page && jobs > 0)
    snprintf(etag + strlen(etag), EP_DATASET_ETAG_BYTES - strlen(etag), "-%lld", (long long)jobs);
  status = page ? row_rows(datasets->contents, &row, page, text, error)
                : row_format(datasets->contents, &row, jobs, told, text, error);
  /* deleted in the meantime, or its row names a content that there never was */
  if (status == EP_NOT_FOUND &&
      ep_store_dataset_get(datasets->contents->store, name, &row, NULL) == EP_OK)
    return ep_fail(error, EP_DAMAGED,
                   "the store's row of dataset %s is damaged, or its content is gone: upload the "
                   "same data again",
                   name);
  return status;
}

ep_status ep_datasets_get(ep_datasets *datasets, const char *name, const ep_viewer *viewer,
                          const ep_dataset_told *told, char **text,
                          char etag[EP_DATASET_ETAG_BYTES], ep_error *error) {
  return named_format(datasets, name, viewer, NULL, told, text, etag, error);
}

ep_status ep_datasets_rows(ep_datasets *datasets, const char *name, const ep_rows_page *page,
                           char **text, char etag[EP_DATASET_ETAG_BYTES], ep_error *error) {
  return named_format(datasets, name, NULL, page, NULL, text, etag, error);
}

/* A page that is being made. */
typedef struct {
  char **items; /* [count], owned, and each too */
  int64_t count, bytes;
  int64_t read_bytes; /* of files, for it */
} list_page;

/* The item of a row. */
static ep_status item_make(ep_datasets *datasets, const ep_dataset_row *row, list_page *page,
                           ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_dataset_meta meta = {0};
  char *text = ep_summaries_format(&datasets->summaries, row->sha256, row->name, row->owner,
                                   row->created_us, row->private);
  ep_status status = EP_OK;
  if (!text) {
    const char *data_dir = datasets->contents->data_dir;
    int64_t read_bytes = 0;
    status = ep_path_join(path, error, data_dir, "datasets", row->sha256, NULL);
    if (status == EP_OK) status = ep_dataset_summary_read(path, &meta, &read_bytes, error);
    page->read_bytes += read_bytes;
    if (status != EP_OK) return status;
    text = ep_dataset_summary_format(&meta, row->name, row->owner, row->created_us, row->private);
    ep_summaries_add_take(&datasets->summaries, &meta);
  }
  if (!text) return ep_fail_memory(error);
  page->bytes += (int64_t)strlen(text);
  page->items[page->count++] = text;
  return EP_OK;
}

/* Fills the page from rows[*at] on; *at: the first row that is not on it. */
static void page_fill(ep_datasets *datasets, const ep_dataset_row *rows, int64_t count,
                      int64_t limit, int64_t *at, list_page *page) {
  for (; *at < count && page->count < limit; ++*at) {
    ep_error why = {0};
    if (page->bytes >= EP_LIMIT_LIST_BYTES || page->read_bytes >= EP_LIMIT_LIST_READ_BYTES) return;
    if (item_make(datasets, &rows[*at], page, &why) != EP_OK)
      /* deleted in between, or damaged: the others are shown */
      ep_log(EP_LOG_WARNING, "dataset \"%s\": %s", rows[*at].name, why.message);
  }
}

ep_status ep_datasets_list(ep_datasets *datasets, const ep_viewer *viewer, const char *after,
                           int64_t limit, char **text, ep_error *error) {
  ep_dataset_row *rows = NULL;
  int64_t count = 0, at = 0;
  *text = NULL;
  ep_status status = ep_store_dataset_list(datasets->contents->store, viewer, &rows, &count, error);
  if (status != EP_OK) return status;
  list_page page = {.items = calloc((size_t)limit, sizeof *page.items)};
  while (after && at < count && strcmp(rows[at].name, after) <= 0) at++;
  if (page.items) {
    page_fill(datasets, rows, count, limit, &at, &page);
    *text = ep_list_format((const char *const *)page.items, page.count, at < count,
                           at < count ? rows[at - 1].name : NULL);
  }
  for (int64_t i = 0; i < page.count; i++) free(page.items[i]);
  free(page.items);
  free(rows);
  return *text ? EP_OK : ep_fail_memory(error);
}

ep_status ep_datasets_show(ep_datasets *datasets, const char *name, const ep_uploader *by,
                           ep_error *error) {
  ep_ownership of;
  ep_contents *contents = datasets->contents;
  pthread_mutex_lock(&datasets->naming); /* an upload reads what it is, and writes it later */
  ep_status status = owner_check(contents, name, by, &of, error);
  if (status == EP_OK)
    status = ep_store_dataset_visibility(contents->store, name, by->private, error);
  pthread_mutex_unlock(&datasets->naming);
  return status;
}

static ep_status name_delete(ep_contents *contents, const char *name, const ep_uploader *by,
                             ep_dataset_told *told, ep_error *error) {
  ep_dataset_row row;
  int64_t names = 0;
  ep_ownership of;
  ep_status status = owner_check(contents, name, by, &of, error);
  if (status != EP_OK) return status;
  status = ep_store_dataset_get(contents->store, name, &row, error);
  if (status == EP_DAMAGED) return ep_store_dataset_delete(contents->store, name, error);
  if (status != EP_OK) return status;
  if (!ep_pins_claim(&contents->pins, row.sha256))
    return ep_fail(error, EP_CONFLICT,
                   "a queued or running job needs dataset \"%s\": cancel it, or wait", name);
  bool marked = false;
  status = content_mark(contents, &row, &marked, error);
  if (status == EP_OK) status = ep_store_dataset_delete(contents->store, name, error);
  if (status != EP_OK && marked) ep_contents_unmark(contents, row.sha256);
  if (status == EP_OK) status = ep_store_dataset_names(contents->store, row.sha256, &names, error);
  if (status == EP_OK && names == 0)
    status = ep_data_dir_discard(contents->data_dir, "datasets", row.sha256, error);
  ep_pins_unclaim(&contents->pins, row.sha256);
  if (status == EP_OK) jobs_tell(contents, by, &row, "it", told);
  return status;
}

ep_status ep_datasets_delete(ep_datasets *datasets, const char *name, const ep_uploader *by,
                             ep_dataset_told *told, ep_error *error) {
  *told = (ep_dataset_told){0};
  pthread_mutex_lock(&datasets->naming);
  ep_status status = name_delete(datasets->contents, name, by, told, error);
  pthread_mutex_unlock(&datasets->naming);
  return status;
}
