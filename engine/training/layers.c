#include "engine/training/layers.h"

#include <stdlib.h>
#include <time.h>

#include "engine/training/report.h"

/* Rows of the sample; fewer where a look would take more than so many operations, but no fewer than
 * a batch_norm needs to say something. */
enum { SAMPLE_ROWS = 64, SAMPLE_ROWS_LEAST = 8 };
static const double sample_operations = 5e7;
/* Operations in a second: a guess, until the first look has been timed. */
static const double operations_per_second = 2e9;

static double row_operations(const ep_trainer *t) {
  return (double)t->plan->operations / (double)t->data.rows[EP_SPLIT_TRAIN] + 1;
}

static int64_t sample_rows(const ep_trainer *t) {
  double rows = sample_operations / row_operations(t);
  if (rows > SAMPLE_ROWS) rows = SAMPLE_ROWS;
  return rows < SAMPLE_ROWS_LEAST ? SAMPLE_ROWS_LEAST : (int64_t)rows;
}

/* Of this thread: what a look costs, however busy the machine is. */
static double processor_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Whether one more look, at the end of an epoch, would stay within the share of so many seconds of
 * training. */
static bool affordable(const ep_trainer *t, int64_t epoch, double seconds) {
  const ep_layers_course *course = &t->layers;
  double cost = course->cost_seconds;
  if (cost == 0) cost = (double)sample_rows(t) * row_operations(t) / operations_per_second;
  double all = course->spent_seconds + cost;
  bool end = epoch == 1 || epoch == t->job->spec->epochs;
  return all <= EP_LAYERS_SHARE * seconds || (end && all <= EP_LAYERS_SECONDS);
}

/* The next epoch that is reported, and far enough from the last line. */
static int64_t next_epoch(const ep_trainer *t) {
  const ep_job_spec *spec = t->job->spec;
  int64_t epoch = t->step / t->steps_per_epoch + 1, every = spec->report_every;
  int64_t apart = spec->epochs / EP_LIMIT_LAYERS_LINES;
  if (epoch == 1) return 1;
  if (t->layers.last_epoch > 0 && epoch < t->layers.last_epoch + apart)
    epoch = t->layers.last_epoch + apart;
  epoch = (epoch + every - 1) / every * every;
  return epoch < spec->epochs ? epoch : spec->epochs;
}

void ep_layers_plan(ep_trainer *t) {
  t->layers.due = 0;
  if (!t->job->spec->report.layers || t->layers.failed || t->job->last_alone) return;
  int64_t next = next_epoch(t), last = t->job->spec->epochs;
  if (next == 1 || affordable(t, next, t->seconds))
    t->layers.due = next;
  else if (affordable(t, last, t->seconds))
    t->layers.due = last;
}

static ep_status inspection_open(ep_trainer *t, ep_error *error) {
  ep_layers_course *course = &t->layers;
  if (course->inspection) return EP_OK;
  course->records = calloc(EP_LIMIT_REPORTED_LAYERS, sizeof *course->records);
  if (!course->records) return ep_fail_memory(error);
  return ep_inspection_create(&t->plan->program, t->plan->names, t->data.x[EP_SPLIT_TRAIN],
                              ep_prepared_targets(&t->data, EP_SPLIT_TRAIN), sample_rows(t),
                              &course->inspection, error);
}

ep_status ep_layers_report(ep_trainer *t, int64_t epoch, double seconds, ep_error *error) {
  ep_layers_course *course = &t->layers;
  /* the first may take half of what all epochs are expected to leave for looks */
  double epochs = (double)t->steps_total / (double)t->steps_per_epoch;
  if (epoch == 1 && !affordable(t, epoch, seconds * epochs / 2)) return EP_OK;
  double start = processor_seconds();
  course->failed = inspection_open(t, NULL) != EP_OK;
  if (course->failed) return EP_OK;
  ep_status status = ep_trainer_export(t, error);
  if (status != EP_OK) return status;
  ep_trainer_alive(t);
  int count = ep_inspection_run(course->inspection, t->state, epoch, course->records);
  for (int i = 0; i < count; i++)
    course->records[i].elapsed_seconds = ep_nanoseconds_round(seconds);
  if (count > 0 && t->job->sink.report)
    t->job->sink.report(t->job->sink.context, course->records, count);
  course->last_epoch = epoch;
  double cost = processor_seconds() - start;
  course->spent_seconds += cost;
  /* the first one allocates, and any may meet a busy machine */
  if (course->cost_seconds == 0 || cost < course->cost_seconds) course->cost_seconds = cost;
  ep_trainer_alive(t);
  return EP_OK;
}

void ep_layers_deinit(ep_trainer *t) {
  ep_inspection_destroy(t->layers.inspection);
  free(t->layers.records);
}
