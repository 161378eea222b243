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

/* Takes the next id of "a,b,c" and moves *at behind it. */
static ep_status id_read(const char **at, comparison *compared, ep_error *error) {
  size_t bytes = strcspn(*at, ",");
  if (compared->count == EP_LIMIT_COMPARED_JOBS)
    return ep_fail(error, EP_MALFORMED, "?jobs= names more than %d jobs", EP_LIMIT_COMPARED_JOBS);
  char *id = compared->ids[compared->count];
  if (bytes == 0 || bytes >= EP_ID_BYTES)
    return ep_fail(error, EP_MALFORMED, "?jobs= must be ids of jobs with commas between");
  memcpy(id, *at, bytes);
  id[bytes] = 0;
  for (int i = 0; i < compared->count; i++)
    if (strcmp(compared->ids[i], id) == 0)
      return ep_fail(error, EP_MALFORMED, "?jobs= names %s twice", id);
  compared->count++;
  *at += bytes;
  return EP_OK;
}

static ep_status ids_read(const char *text, comparison *compared, ep_error *error) {
  if (!text) return ep_fail(error, EP_MALFORMED, "?jobs= is needed: ids with commas between");
  ep_status status = id_read(&text, compared, error);
  while (status == EP_OK && *text == ',') {
    text++;
    status = id_read(&text, compared, error);
  }
  return status;
}

/* max_points 0: without curves. */
static ep_status jobs_read(ep_exchange *exchange, comparison *compared, int64_t max_points,
                           ep_error *error) {
  ep_jobs *jobs = exchange->server->jobs;
  const ep_viewer viewer = ep_exchange_viewer(exchange);
  ep_status status = EP_OK;
  for (int i = 0; status == EP_OK && i < compared->count; i++) {
    status = ep_jobs_see(jobs, &viewer, EP_OWNED_JOB, compared->ids[i], error);
    if (status != EP_OK) break;
    status = ep_jobs_copy(jobs, compared->ids[i], &compared->copies[i], error);
    if (status != EP_OK) break;
    ep_compared_job *job = &compared->jobs[i];
    job->job = ep_job_copy_view(compared->copies[i]);
    if (max_points > 0)
      status = ep_job_curve_read(exchange, compared->ids[i], max_points, &compared->points[i],
                                 &job->points_count, error);
    job->points = compared->points[i];
    if (status == EP_OK)
      status = ep_exchange_hold(exchange, job->points_count * POINT_BYTES, error);
    if (status == EP_OK && ep_exchange_is_abandoned(exchange))
      status = ep_fail(error, EP_CANCELLED, "the client has gone");
  }
  return status;
}

ep_route_result ep_route_compare_get(ep_exchange *exchange) {
  static const char *const FORMATS[] = {"json", "csv", NULL};
  const ep_request *request = &exchange->request;
  ep_error error = {0};
  int64_t max_points;
  int format, fallback = ep_request_names(request, "Accept", "text/csv");
  char *text = NULL;
  comparison *compared = calloc(1, sizeof *compared);
  if (!compared) return ep_exchange_fail_memory(exchange);
  ep_status status = ep_request_word(request, "format", FORMATS, fallback, &format, &error);
  if (status == EP_OK)
    status = ep_request_integer(request, "max_points", 2, EP_LIMIT_COMPARED_POINTS, POINTS,
                                &max_points, &error);
  if (status == EP_OK) status = ids_read(ep_request_query(request, "jobs"), compared, &error);
  if (status == EP_OK) status = jobs_read(exchange, compared, format == 0 ? max_points : 0, &error);
  if (status == EP_OK)
    status = format == 0 ? ep_comparison_format_json(compared->jobs, compared->count, &text, &error)
                         : ep_comparison_format_csv(compared->jobs, compared->count, &text, &error);
  comparison_destroy(compared);
  if (status != EP_OK) return ep_exchange_fail(exchange, &error);
  if (format == 0) return ep_exchange_json(exchange, text);
  ep_response_take_text(&exchange->response, 200, "text/csv; charset=utf-8", text);
  return EP_ROUTE_DONE;
}
