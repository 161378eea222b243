#include "server/curves/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/responses/curve.h"

enum { CURVE_MEMORY_POINTS = 1 << 20, CURVE_READ_BYTES = 256 << 10 };

/* The mean epoch and finite loss of points [from, to), the corner of the triangle to come. */
static void mean_find(const ep_curve_point *points, int64_t from, int64_t to, double *epoch,
                      double *loss) {
  double epoch_sum = 0, loss_sum = 0;
  int64_t finite = 0;
  for (int64_t i = from; i < to; i++) {
    epoch_sum += (double)points[i].epoch;
    if (!isfinite(points[i].loss)) continue;
    loss_sum += points[i].loss;
    finite++;
  }
  *epoch = epoch_sum / (double)(to - from);
  *loss = finite ? loss_sum / (double)finite : 0;
}

/* First point of bucket `bucket` when points 1 … count - 2 go into `buckets`. */
static int64_t bucket_start(int64_t bucket, int64_t buckets, int64_t count) {
  return 1 + (int64_t)((double)bucket * ((double)(count - 2) / (double)buckets));
}

/* The point of [from, to) that spans the largest triangle with `before` and (epoch, loss). */
static int64_t largest_find(const ep_curve_point *points, int64_t from, int64_t to,
                            const ep_curve_point *before, double epoch, double loss) {
  int64_t best = from;
  double best_area = -1;
  double before_loss = isfinite(before->loss) ? before->loss : loss;
  for (int64_t i = from; i < to; i++) {
    if (!isfinite(points[i].loss)) return i;
    double area = fabs(((double)before->epoch - epoch) * (points[i].loss - before_loss) -
                       ((double)before->epoch - (double)points[i].epoch) * (loss - before_loss));
    if (area > best_area) {
      best_area = area;
      best = i;
    }
  }
  return best;
}

int64_t ep_curve_thin(ep_curve_point *points, int64_t count, int64_t max_points) {
  if (count <= max_points || max_points < 2) return count;
  int64_t buckets = max_points - 2, kept = 1;
  /* A point is written at or before its own index, and buckets are read behind it. */
  for (int64_t bucket = 0; bucket < buckets; bucket++) {
    int64_t from = bucket_start(bucket, buckets, count);
    int64_t to = bucket_start(bucket + 1, buckets, count);
    int64_t next_to = bucket + 1 < buckets ? bucket_start(bucket + 2, buckets, count) : count;
    double epoch, loss;
    mean_find(points, to, next_to, &epoch, &loss);
    points[kept] = points[largest_find(points, from, to, &points[kept - 1], epoch, loss)];
    kept++;
  }
  points[kept++] = points[count - 1];
  return kept;
}

typedef struct {
  ep_curve_point *points; /* [capacity], owned */
  int64_t count, capacity;
  int64_t start_us; /* of the attempt that is being read; 0 = none was seen */
} curve;

/* When the epoch ended: the time of the line is that of its batch, which many lines share. */
static double wall_seconds(const curve *read, const ep_event *event) {
  if (read->start_us == 0) return (double)event->time_us / 1e6;
  return (double)read->start_us / 1e6 + event->progress.elapsed_seconds;
}

static ep_status point_add(curve *out, const ep_event *event, ep_error *error) {
  const ep_progress_record *record = &event->progress;
  if (out->count == CURVE_MEMORY_POINTS)
    out->count = ep_curve_thin(out->points, out->count, CURVE_MEMORY_POINTS / 2);
  if (out->count == out->capacity) {
    int64_t capacity = out->capacity ? out->capacity * 2 : 1024;
    ep_curve_point *grown = realloc(out->points, (size_t)capacity * sizeof *grown);
    if (!grown) return ep_fail_memory(error);
    out->points = grown;
    out->capacity = capacity;
  }
  out->points[out->count++] = (ep_curve_point){.epoch = record->epoch,
                                               .loss = record->loss,
                                               .error = record->error,
                                               .validation_loss = record->validation_loss,
                                               .validation_error = record->validation_error,
                                               .elapsed_seconds = record->elapsed_seconds,
                                               .wall_seconds = wall_seconds(out, event)};
  return EP_OK;
}

static ep_status lines_add(curve *out, const char *text, size_t bytes, ep_error *error) {
  ep_status status = EP_OK;
  for (const char *end = text + bytes; text < end && status == EP_OK;) {
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    size_t length = stop ? (size_t)(stop - text) : (size_t)(end - text);
    ep_event event;
    status = ep_event_parse(text, length, &event, error);
    if (status == EP_OK && event.type == EP_EVENT_EPOCH) status = point_add(out, &event, error);
    if (status == EP_OK && (event.type == EP_EVENT_STARTED || event.type == EP_EVENT_RESTARTED))
      out->start_us = event.time_us;
    text += length + 1;
  }
  return status;
}

ep_status ep_curve_read(ep_event_log *log, int64_t max_points, ep_curve_point **points,
                        int64_t *count, ep_error *error) {
  curve read = {0};
  char *buffer = malloc(CURVE_READ_BYTES);
  ep_status status = buffer ? EP_OK : ep_fail_memory(error);
  int64_t offset = 0;
  bool ended = false;
  while (status == EP_OK && !ended) {
    size_t bytes = 0;
    status = ep_event_log_read(log, offset, buffer, CURVE_READ_BYTES, &bytes, &ended, error);
    if (status != EP_OK || bytes == 0) break;
    status = lines_add(&read, buffer, bytes, error);
    offset += (int64_t)bytes;
  }
  free(buffer);
  if (status != EP_OK) {
    free(read.points);
    return status;
  }
  *points = read.points;
  *count = ep_curve_thin(read.points, read.count, max_points);
  return EP_OK;
}
