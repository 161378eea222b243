#include "server/curves/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/limits.h"
#include "api/reserve.h"

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

int64_t ep_curve_thin(const ep_curve_point *points, int64_t count, int64_t max_points,
                      ep_curve_point *out) {
  if (count <= max_points || max_points < 2) {
    if (out != points && count > 0) memcpy(out, points, (size_t)count * sizeof *out);
    return count;
  }
  int64_t buckets = max_points - 2, kept = 1;
  out[0] = points[0];
  /* A point is written at or before its own index, and buckets are read behind it. */
  for (int64_t bucket = 0; bucket < buckets; bucket++) {
    int64_t from = bucket_start(bucket, buckets, count);
    int64_t to = bucket_start(bucket + 1, buckets, count);
    int64_t next_to = bucket + 1 < buckets ? bucket_start(bucket + 2, buckets, count) : count;
    double epoch, loss;
    mean_find(points, to, next_to, &epoch, &loss);
    out[kept] = points[largest_find(points, from, to, &out[kept - 1], epoch, loss)];
    kept++;
  }
  out[kept++] = points[count - 1];
  return kept;
}

void ep_curve_deinit(ep_curve *curve) {
  free(curve->points);
  *curve = (ep_curve){.most = curve->most};
}

/* When the epoch ended: the time of the line is that of its batch, which many lines share. */
static double wall_seconds(const ep_curve *curve, const ep_event *event) {
  if (curve->start_us == 0) return (double)event->time_us / 1e6;
  return (double)curve->start_us / 1e6 + event->progress.elapsed_seconds;
}

static ep_status point_add(ep_curve *curve, const ep_event *event, ep_error *error) {
  const ep_progress_record *record = &event->progress;
  const int64_t most = curve->most > 0 ? curve->most : CURVE_MEMORY_POINTS;
  if (curve->count == most)
    curve->count = ep_curve_thin(curve->points, curve->count, most / 2, curve->points);
  if (curve->count == curve->capacity) {
    int64_t capacity = curve->capacity ? curve->capacity * 2 : 1024;
    const int64_t added = (capacity - curve->capacity) * (int64_t)sizeof *curve->points;
    ep_status status = added < EP_LIMIT_UNRESERVED_BYTES ? EP_OK : ep_reserve(added, error);
    if (status != EP_OK) return status;
    ep_curve_point *grown = realloc(curve->points, (size_t)capacity * sizeof *grown);
    if (!grown) return ep_fail_memory(error);
    curve->points = grown;
    curve->capacity = capacity;
  }
  curve->points[curve->count++] = (ep_curve_point){.epoch = record->epoch,
                                                   .loss = record->loss,
                                                   .error = record->error,
                                                   .validation_loss = record->validation_loss,
                                                   .validation_error = record->validation_error,
                                                   .elapsed_seconds = record->elapsed_seconds,
                                                   .wall_seconds = wall_seconds(curve, event)};
  return EP_OK;
}

static ep_status lines_add(ep_curve *curve, const char *text, size_t bytes, ep_error *error) {
  ep_status status = EP_OK;
  for (const char *end = text + bytes; text < end && status == EP_OK;) {
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    size_t length = stop ? (size_t)(stop - text) : (size_t)(end - text);
    ep_event event;
    status = ep_event_parse(text, length, &event, error);
    if (status == EP_OK && event.type == EP_EVENT_EPOCH) status = point_add(curve, &event, error);
    if (status != EP_OK) break;
    if (event.type == EP_EVENT_STARTED || event.type == EP_EVENT_RESTARTED)
      curve->start_us = event.time_us;
    curve->offset += (int64_t)length + 1;
    text += length + 1;
  }
  return status;
}

ep_status ep_curve_read(ep_curve *curve, ep_event_log *log, ep_curve_stop *stop, void *context,
                        ep_error *error) {
  ep_event_log_tail tail;
  ep_event_log_get_tail(log, &tail);
  if (curve->offset > tail.bytes) ep_curve_deinit(curve); /* it was damaged, and cut when opened */
  char *buffer = malloc(CURVE_READ_BYTES);
  ep_status status = buffer ? EP_OK : ep_fail_memory(error);
  while (status == EP_OK && !curve->ended) {
    size_t bytes = 0;
    bool ended = false;
    if (stop && stop(context))
      status = ep_fail(error, EP_CANCELLED, "the client disconnected before the curve was ready");
    if (status == EP_OK)
      status =
          ep_event_log_read(log, curve->offset, buffer, CURVE_READ_BYTES, &bytes, &ended, error);
    if (status == EP_OK && bytes > 0) status = lines_add(curve, buffer, bytes, error);
    if (status == EP_OK) curve->ended = ended;
    if (bytes == 0) break;
  }
  free(buffer);
  if (status != EP_OK && status != EP_CANCELLED) ep_curve_deinit(curve);
  return status;
}
