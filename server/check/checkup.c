#include "server/check/checkup.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine/files/path.h"
#include "engine/parallel.h"
#include "server/process/data_dir.h"

void ep_checkup_fault(ep_checkup *checkup, const char *what, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&checkup->mutex);
  fprintf(checkup->out, "%s: ", what);
  vfprintf(checkup->out, format, arguments);
  fputc('\n', checkup->out);
  checkup->faults++;
  pthread_mutex_unlock(&checkup->mutex);
  va_end(arguments);
}

/* What is checked beside each other. */
typedef struct {
  ep_checkup *checkup;
  ep_checkup_task *task;
  void *context;
  int64_t count;
  atomic_llong next;
} each;

/* One of the threads: the next one that none has taken. */
static void each_take(void *context, int64_t first, int64_t count) {
  each *all = context;
  (void)first, (void)count;
  for (int64_t i; (i = atomic_fetch_add(&all->next, 1)) < all->count;) {
    all->task(all->checkup, all->context, i);
    atomic_fetch_add(&all->checkup->done, 1);
  }
}

void ep_checkup_each(ep_checkup *checkup, int64_t count, ep_checkup_task *task, void *context) {
  each all = {.checkup = checkup, .task = task, .context = context, .count = count};
  const int64_t threads = count < EP_LIMIT_CHECK_THREADS ? count : EP_LIMIT_CHECK_THREADS;
  ep_parallel_for(threads, each_take, &all);
}

/* Rows that are visited. */
typedef struct {
  const ep_job_rows *list;
  ep_checkup_row *visit;
} visited_rows;

static void row_visit(ep_checkup *checkup, void *context, int64_t number) {
  const visited_rows *rows = context;
  rows->visit(checkup, &rows->list->rows[number]);
}

ep_status ep_checkup_rows(ep_checkup *checkup, ep_checkup_row *visit, ep_error *error) {
  char after[EP_ID_BYTES] = "~"; /* sorts after every id */
  ep_status status = EP_OK;
  for (bool more = true; status == EP_OK && more;) {
    ep_job_rows list;
    ep_job_page page = {.state = -1, .after = after, .limit = EP_LIMIT_LIST_JOBS};
    status = ep_store_jobs_list(checkup->store, &page, &list, error);
    more = status == EP_OK && list.count > 0;
    if (more) memcpy(after, list.rows[list.count - 1].id, sizeof after);
    if (more) ep_checkup_each(checkup, list.count, row_visit, &(visited_rows){&list, visit});
    ep_job_rows_deinit(&list);
  }
  return status;
}

static void name_add(void *context, const char *name) {
  ep_checkup_names *list = context;
  char **names = realloc(list->name, (list->count + 1) * sizeof *names);
  if (names) list->name = names;
  char *copy = names ? strdup(name) : NULL;
  if (copy) list->name[list->count++] = copy;
  list->failed = list->failed || !copy;
}

static int names_compare(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

ep_status ep_checkup_names_list(const ep_checkup *checkup, const char *folder,
                                ep_checkup_names *out, ep_error *error) {
  char path[EP_PATH_BYTES];
  *out = (ep_checkup_names){0};
  ep_status status = ep_path_join(path, error, checkup->data_dir, folder, NULL);
  if (status == EP_OK) status = ep_data_dir_list(path, name_add, out, error);
  if (status == EP_OK && out->failed) status = ep_fail_memory(error);
  if (out->count > 0) qsort(out->name, out->count, sizeof *out->name, names_compare);
  return status;
}

void ep_checkup_names_deinit(ep_checkup_names *names) {
  for (size_t i = 0; i < names->count; i++) free(names->name[i]);
  free(names->name);
}

ep_status ep_checkup_path(const ep_checkup *checkup, const char *id, const char *file, char *path,
                          ep_error *error) {
  return ep_path_join(path, error, checkup->data_dir, "jobs", id, file, NULL);
}
