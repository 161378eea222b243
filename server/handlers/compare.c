/* Jobs beside each other. */
#include <stdlib.h>
#include <string.h>

#include "api/responses/compare.h"
#include "api/responses/curve.h"
#include "server/handlers/handlers.h"
#include "server/process/id.h"

enum {
  POINTS = 1000,    /* of a curve, by default */
  POINT_BYTES = 320 /* of one as numbers and as text, which is copied as it grows */
};

/* The jobs that are compared. */
typedef struct {
  char ids[EP_LIMIT_COMPARED_JOBS][EP_ID_BYTES];
  ep_job_copy *copies[EP_LIMIT_COMPARED_JOBS];    /* owned */
  ep_compared_job jobs[EP_LIMIT_COMPARED_JOBS];   /* their views */
  ep_curve_point *points[EP_LIMIT_COMPARED_JOBS]; /* owned */
  int count;
} comparison;

static void comparison_destroy(comparison *compared) {
  for (int i = 0; i < compared->count; i++) {
    ep_job_copy_destroy(compared->copies[i]);
    free(compared->points[i]);
  }
  free(compared);
}

/* The job that a word means, of so many bytes. */
static ep_status word_find(ep_exchange *exchange, const char *text, size_t bytes,
                           ep_job_found *found, ep_error *error) {
  const ep_viewer viewer = ep_exchange_viewer(exchange);
  char word[EP_REQUEST_ID_BYTES];
  if (bytes == 0 || bytes >= sizeof word)
    return ep_fail(error, EP_MALFORMED, "?jobs= must be ids or names of jobs with commas between");
  memcpy(word, text, bytes);
  word[bytes] = 0;
  return ep_jobs_find(exchange->server->jobs, &viewer, EP_JOB_PREFIX, false, word, found, error);
}

/* Takes the next job of "a,b,c" and moves *at behind it. A name may have commas, as those of trials
 * do: the longest word that means a job is taken. */
static ep_status id_read(ep_exchange *exchange, const char **at, comparison *compared,
                         ep_error *error) {
  ep_job_found found;
  if (compared->count == EP_LIMIT_COMPARED_JOBS)
    return ep_fail(error, EP_MALFORMED, "?jobs= names more than %d jobs", EP_LIMIT_COMPARED_JOBS);
  size_t first = strcspn(*at, ","), bytes = strlen(*at);
  bool longer = false;
  while (bytes > first && !longer) {
    longer = bytes < EP_REQUEST_ID_BYTES && word_find(exchange, *at, bytes, &found, NULL) == EP_OK;
    while (!longer && (*at)[--bytes] != ',') {
    }
  }
  ep_status status = longer ? EP_OK : word_find(exchange, *at, bytes, &found, error);
  if (status != EP_OK) return status;
  const char *id = memcpy(compared->ids[compared->count], found.id, EP_ID_BYTES);
  for (int i = 0; i < compared->count; i++)
    if (strcmp(compared->ids[i], id) == 0)
      return ep_fail(error, EP_MALFORMED, "?jobs= names %s twice", id);
  compared->count++;
  *at += bytes;
  return EP_OK;
}

static ep_status ids_read(ep_exchange *exchange, comparison *compared, ep_error *error) {
  const char *text = ep_request_query(&exchange->request, "jobs");
  if (!text)
    return ep_fail(error, EP_MALFORMED, "?jobs= is required: ids or names, separated by commas");
  ep_status status = id_read(exchange, &text, compared, error);
  while (status == EP_OK && *text == ',') {
    text++;
    status = id_read(exchange, &text, compared, error);
  }
  return status;
}

/* How many points each curve may have: what is wanted, and what half of the memory of all requests
 * holds, so that curves are thinned rather than refused, whatever their number. */
static int64_t points_fit(const ep_exchange *exchange, const comparison *compared, int64_t wanted) {
  const int64_t most = exchange->server->held.limit_bytes / 2 / POINT_BYTES / compared->count;
  return wanted < most ? wanted : most;
}

/* The job of ids[at]. max_points 0: without its curve. */
static ep_status job_read(ep_exchange *exchange, comparison *compared, int at, int64_t max_points,
                          ep_error *error) {
  ep_jobs *jobs = exchange->server->jobs;
  const ep_viewer viewer = ep_exchange_viewer(exchange);
  ep_compared_job *job = &compared->jobs[at];
  ep_status status = ep_jobs_see(jobs, &viewer, EP_OWNED_JOB, compared->ids[at], error);
  if (status == EP_OK) status = ep_jobs_copy(jobs, compared->ids[at], &compared->copies[at], error);
  if (status != EP_OK) return status;
  job->job = ep_job_copy_view(compared->copies[at]);
  if (max_points > 0)
    status = ep_job_curve_read(exchange, compared->ids[at], max_points, &compared->points[at],
                               &job->points_count, error);
  job->points = compared->points[at];
  if (status == EP_OK) status = ep_exchange_hold(exchange, job->points_count * POINT_BYTES, error);
  if (status == EP_OK && ep_exchange_is_abandoned(exchange))
    status = ep_fail(error, EP_CANCELLED, "the client disconnected");
  return status;
}

/* max_points 0: without curves. */
static ep_status jobs_read(ep_exchange *exchange, comparison *compared, int64_t max_points,
                           ep_error *error) {
  for (int i = 0; i < compared->count; i++)
    if (job_read(exchange, compared, i, max_points, error) != EP_OK) {
      ep_exchange_explain(exchange, compared->ids[i], error);
      return error->status;
    }
  return EP_OK;
}

ep_route_result ep_route_compare_get(ep_exchange *exchange) {
  static const char *const FORMATS[] = {"json", "csv", NULL};
  const ep_request *request = &exchange->request;
  ep_error error = {0};
  int64_t max_points;
  int format, fallback = ep_accepts_csv(request);
  char *text = NULL;
  comparison *compared = calloc(1, sizeof *compared);
  if (!compared) return ep_exchange_fail_memory(exchange);
  ep_status status = ep_request_word(request, "format", FORMATS, fallback, &format, &error);
  if (status == EP_OK)
    status = ep_request_integer(request, "max_points", 2, EP_LIMIT_COMPARED_POINTS, POINTS,
                                &max_points, &error);
  if (status == EP_OK) status = ids_read(exchange, compared, &error);
  if (status == EP_OK)
    status = jobs_read(exchange, compared,
                       format == 0 ? points_fit(exchange, compared, max_points) : 0, &error);
  if (status == EP_OK)
    status = format == 0 ? ep_comparison_format_json(compared->jobs, compared->count, &text, &error)
                         : ep_comparison_format_csv(compared->jobs, compared->count, &text, &error);
  comparison_destroy(compared);
  if (status != EP_OK) return ep_exchange_fail(exchange, &error);
  if (format == 0) return ep_exchange_json(exchange, text);
  return ep_csv_respond(exchange, text);
}
