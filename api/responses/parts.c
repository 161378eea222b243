#include "api/responses/parts.h"

#include <math.h>

#include "api/wire/metrics.h"

typedef double figure_of(const ep_trial_record *parts, int count, int split, int metric);

static double one_of(const ep_trial_record *parts, int count, int split, int metric) {
  (void)count;
  return parts->metrics[split][metric];
}

static double mean_of(const ep_trial_record *parts, int count, int split, int metric) {
  double sum = 0;
  int well = 0;
  for (int i = 0; i < count; i++) {
    if (parts[i].status != EP_OK) continue;
    sum += parts[i].metrics[split][metric];
    well++;
  }
  return well > 0 ? sum / well : NAN;
}

static double deviation_of(const ep_trial_record *parts, int count, int split, int metric) {
  double mean = mean_of(parts, count, split, metric), squares = 0;
  int well = 0;
  for (int i = 0; i < count; i++) {
    if (parts[i].status != EP_OK) continue;
    double away = parts[i].metrics[split][metric] - mean;
    squares += away * away;
    well++;
  }
  return well > 1 ? sqrt(squares / (well - 1)) : NAN;
}

/* A split without a loss is null, as it is elsewhere. */
static void splits_write(ep_writer *writer, const char *key, figure_of *figure,
                         const ep_trial_record *parts, int count) {
  ep_writer_member_open(writer, key, '{');
  for (int split = 0; split < EP_SPLIT_COUNT; split++) {
    ep_writer_key(writer, ep_split_name(split));
    if (isnan(mean_of(parts, count, split, 0))) {
      ep_writer_null(writer);
      continue;
    }
    ep_writer_open(writer, '{');
    for (int metric = 0; metric < EP_METRIC_COUNT; metric++)
      ep_writer_member_number_or_null(writer, ep_metric_name(metric),
                                      figure(parts, count, split, metric));
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, '}');
}

void ep_parts_write(ep_writer *writer, const ep_trial_record *parts, int count) {
  ep_writer_open(writer, '{');
  splits_write(writer, "mean", mean_of, parts, count);
  splits_write(writer, "deviation", deviation_of, parts, count);
  ep_writer_member_open(writer, "each", '[');
  for (int i = 0; i < count; i++) {
    ep_writer_open(writer, '{');
    ep_writer_member_integer(writer, "part", parts[i].part);
    ep_writer_member_string(writer, "outcome", ep_status_name((ep_status)parts[i].status));
    ep_writer_member_integer(writer, "epochs", parts[i].epochs_done);
    ep_writer_member_number(writer, "train_seconds", parts[i].seconds);
    splits_write(writer, "metrics", one_of, &parts[i], 1);
    ep_writer_close(writer, '}');
  }
  ep_writer_close(writer, ']');
  ep_writer_close(writer, '}');
}
