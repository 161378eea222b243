/* Sweeps and their trials as they are shown. The results are the worker's file, as far as the log
 * has told of them. */
#include "api/responses/sweep.h"
#include "api/responses/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/study.h"
#include "api/responses/sweep.h"
#include "engine/files/path.h"
#include "engine/trials/trial_file.h"
#include "server/jobs/live/live.h"
#include "server/jobs/sweeps.h"
#include "server/jobs/views/view.h"

/* What a sweep has found so far. */
typedef struct {
  ep_sweep_spec *sweep;     /* owned */
  ep_trial_record *records; /* owned */
  ep_trial_row *rows;       /* [count], owned */
  int64_t count;
} sweep_results;

static void results_deinit(sweep_results *results) {
  ep_sweep_spec_destroy(results->sweep);
  free(results->records);
  free(results->rows);
}

static ep_status spec_parse(const char *id, const char *spec, ep_sweep_spec **out,
                            ep_error *error) {
  ep_error why = {0};
  ep_status status = ep_sweep_spec_load(spec, out, &why);
  if (status == EP_NO_MEMORY) return ep_fail_memory(error);
  if (status == EP_OK) return EP_OK;
  return ep_fail(error, EP_DAMAGED, "%s is damaged: %.300s", id, why.message);
}

/* The caller deinits *out, also on failure. */
static ep_status results_read(ep_jobs *jobs, const ep_job_view *view, bool by_trial,
                              sweep_results *out, ep_error *error) {
  char folder[EP_PATH_BYTES];
  /* of one that has ended nothing is told any more: what is there counts */
  int64_t records = 0, known = view->finished_us != 0 ? EP_LIMIT_TRIAL_RECORDS : view->epoch;
  *out = (sweep_results){0};
  ep_status status = spec_parse(view->id, view->spec, &out->sweep, error);
  if (status == EP_OK) status = ep_path_join(folder, error, jobs->data_dir, "jobs", view->id, NULL);
  if (status == EP_OK) status = ep_trial_file_read(folder, known, &out->records, &records, error);
  if (status == EP_OK)
    status = ep_leaderboard_make(out->sweep, out->records, records, by_trial, &out->rows,
                                 &out->count, error);
  return status;
}

static ep_status sweep_text(ep_jobs *jobs, const ep_job_view *view, bool summary, char **text,
                            ep_error *error) {
  sweep_results results;
  ep_status status = results_read(jobs, view, false, &results, error);
  if (status == EP_OK) {
    ep_sweep_view sweep = {.job = view,
                           .sweep = results.sweep,
                           .records = results.records,
                           .best = results.count > 0 ? results.rows : NULL};
    *text = ep_sweep_format(&sweep, summary);
    if (!*text) status = ep_fail_memory(error);
  }
  results_deinit(&results);
  return status;
}

ep_status ep_sweeps_format(ep_jobs *jobs, const ep_job_copy *copy, char **text, ep_error *error) {
  *text = NULL;
  return sweep_text(jobs, ep_job_copy_view(copy), false, text, error);
}

ep_status ep_sweep_summary(ep_jobs *jobs, const ep_job_copy *copy, char **text, ep_error *error) {
  *text = NULL;
  return sweep_text(jobs, ep_job_copy_view(copy), true, text, error);
}

/* A sweep that cannot be read is left out of a list. */
static ep_status row_text(ep_jobs *jobs, const char *id, char **text, ep_error *error) {
  ep_job_copy *copy = NULL;
  ep_status status = ep_jobs_copy(jobs, id, &copy, error);
  if (status == EP_OK) status = ep_sweep_summary(jobs, copy, text, error);
  ep_job_copy_destroy(copy);
  return status == EP_NO_MEMORY ? status : EP_OK;
}

ep_status ep_sweeps_list(ep_jobs *jobs, const ep_job_page *page, char **text, ep_error *error) {
  int64_t count = 0, used = 0;
  *text = NULL;
  ep_job_page more = *page; /* one more tells whether there is a next page */
  more.limit++;
  ep_job_version *rows = calloc((size_t)more.limit, sizeof *rows);
  char **items = calloc((size_t)more.limit, sizeof *items);
  ep_status status = rows && items ? EP_OK : ep_fail_memory(error);
  if (status == EP_OK) status = ep_store_jobs_versions(jobs->store, &more, rows, &count, error);
  int64_t shown = count < page->limit ? count : page->limit;
  for (int64_t i = 0; status == EP_OK && i < shown; i++) {
    status = row_text(jobs, rows[i].id, &items[used], error);
    if (items[used]) used++;
  }
  if (status == EP_OK) {
    bool has_more = count > page->limit;
    *text = ep_list_format((const char *const *)items, used, has_more,
                           has_more ? rows[shown - 1].id : NULL);
    if (!*text) status = ep_fail_memory(error);
  }
  for (int64_t i = 0; i < used; i++) free(items[i]);
  free(items);
  free(rows);
  return status;
}

ep_status ep_sweeps_trials(ep_jobs *jobs, const char *id, const ep_trials_page *page, char **text,
                           ep_error *error) {
  ep_job_copy *copy = NULL;
  sweep_results results = {0};
  *text = NULL;
  ep_status status = ep_jobs_copy(jobs, id, &copy, error);
  if (status == EP_OK)
    status = results_read(jobs, ep_job_copy_view(copy), page->by_trial, &results, error);
  if (status == EP_OK) {
    int64_t offset = page->offset < results.count ? page->offset : results.count;
    int64_t left = results.count - offset;
    ep_trials_view view = {.sweep = results.sweep,
                           .records = results.records,
                           .rows = results.rows,
                           .total = results.count,
                           .offset = offset,
                           .count = left < page->limit ? left : page->limit};
    *text = page->csv ? ep_trials_format_csv(&view) : ep_trials_format_json(&view);
    if (!*text) status = ep_fail_memory(error);
  }
  results_deinit(&results);
  ep_job_copy_destroy(copy);
  return status;
}

ep_status ep_sweeps_study(ep_jobs *jobs, const char *id, char **text, ep_error *error) {
  ep_job_copy *copy = NULL;
  sweep_results results = {0};
  ep_study study = {0};
  *text = NULL;
  ep_status status = ep_jobs_copy(jobs, id, &copy, error);
  if (status == EP_OK) status = results_read(jobs, ep_job_copy_view(copy), true, &results, error);
  if (status == EP_OK)
    status =
        ep_study_make(results.sweep, results.records, results.rows, results.count, &study, error);
  if (status == EP_OK) {
    ep_study_view view = {.id = id,
                          .sweep = results.sweep,
                          .records = results.records,
                          .rows = results.rows,
                          .count = results.count,
                          .study = &study};
    *text = ep_study_format(&view);
    if (!*text) status = ep_fail_memory(error);
  }
  ep_study_deinit(&study);
  results_deinit(&results);
  ep_job_copy_destroy(copy);
  return status;
}

static const ep_trial_row *trial_find(const sweep_results *results, int64_t trial) {
  for (int64_t i = 0; i < results->count; i++)
    if (results->rows[i].trial == trial) return &results->rows[i];
  return NULL;
}

/* Reads the sweep and finds a trial of it. The caller destroys *copy and deinits *results. */
static ep_status trial_read(ep_jobs *jobs, const char *id, int64_t trial, ep_job_copy **copy,
                            sweep_results *results, const ep_trial_row **row, ep_error *error) {
  *results = (sweep_results){0};
  ep_status status = ep_jobs_copy(jobs, id, copy, error);
  if (status == EP_OK) status = results_read(jobs, ep_job_copy_view(*copy), false, results, error);
  if (status != EP_OK) return status;
  *row = trial_find(results, trial);
  if (*row) return EP_OK;
  return ep_fail(error, EP_NOT_FOUND, "sweep %s has no trial %lld that has ended", id,
                 (long long)trial);
}

/* part: as in ep_sweeps_promote. */
static char *request_format(const sweep_results *results, const ep_job_view *view,
                            const ep_trial_row *row, int part) {
  char name[EP_LIMIT_NAME_BYTES + 1];
  const char *sweep = view->name ? view->name : "";
  const double *point = results->records[row->first].point;
  /* a name may be cut within a character, and must not be */
  int bytes = strlen(sweep) < 64 ? (int)strlen(sweep) : 64;
  while (bytes > 0 && ((unsigned char)sweep[bytes] & 0xc0) == 0x80) bytes--;
  int used = snprintf(name, sizeof name, "%.*s%strial %lld%s%s", bytes, sweep, *sweep ? ", " : "",
                      (long long)row->trial, *sweep ? "" : " of ", *sweep ? "" : view->id);
  if (part >= 0) snprintf(name + used, sizeof name - (size_t)used, ", part %d", part);
  return ep_sweep_trial_format(results->sweep, point, part, name, view->id, view->private);
}

ep_status ep_sweeps_trial(ep_jobs *jobs, const char *id, int64_t trial, char **text,
                          ep_error *error) {
  ep_job_copy *copy = NULL;
  sweep_results results;
  const ep_trial_row *row;
  *text = NULL;
  ep_status status = trial_read(jobs, id, trial, &copy, &results, &row, error);
  if (status == EP_OK) {
    char *job = request_format(&results, ep_job_copy_view(copy), row, -1);
    if (job) *text = ep_trial_format(results.sweep, results.records, row, job);
    if (!*text) status = ep_fail_memory(error);
    free(job);
  }
  results_deinit(&results);
  ep_job_copy_destroy(copy);
  return status;
}

/* The submission of a trial is told by a key that no client can send. */
static ep_status trial_submit(ep_jobs *jobs, const char *id, int64_t trial, int part,
                              const char *request, const ep_viewer *by, char job[EP_ID_BYTES],
                              bool *repeated, ep_problem *problem) {
  char key[EP_ID_BYTES + 64];
  snprintf(key, sizeof key, "%c%s/%lld/%d", EP_OWN_KEY, id, (long long)trial, part);
  ep_submission submission = {.json = request,
                              .bytes = strlen(request),
                              .idempotency_key = key,
                              .owner = by->owner,
                              .limited = by->limited,
                              .same_data = true};
  return ep_jobs_submit(jobs, &submission, job, repeated, problem);
}

ep_status ep_sweeps_promote(ep_jobs *jobs, const char *id, int64_t trial, int part,
                            const ep_viewer *by, char job[EP_ID_BYTES], bool *repeated,
                            ep_problem *problem) {
  ep_job_copy *copy = NULL;
  sweep_results results;
  const ep_trial_row *row;
  ep_error error = {0};
  ep_status status = trial_read(jobs, id, trial, &copy, &results, &row, &error);
  if (status != EP_OK) {
    ep_problem_from_error(problem, &error);
  } else if (part >= ep_sweep_parts(results.sweep)) {
    status = ep_problem_set(problem, EP_NOT_FOUND, "the trials of sweep %s have %d parts, from 0",
                            id, ep_sweep_parts(results.sweep));
  } else {
    char *request = request_format(&results, ep_job_copy_view(copy), row, part);
    const ep_job_view *view = ep_job_copy_view(copy);
    const ep_viewer owner = {view->private ? view->owner : by->owner, by->limited};
    status = request ? trial_submit(jobs, id, trial, part, request, &owner, job, repeated, problem)
                     : ep_problem_fail_memory(problem);
    free(request);
  }
  results_deinit(&results);
  ep_job_copy_destroy(copy);
  return status;
}
