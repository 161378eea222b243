#include "api/responses/study.h"

#include <math.h>

enum { STUDY_TEXT_LIMIT = 512 << 20 };

static void axis_write(ep_writer *writer, const ep_sweep_axis *axis) {
  ep_writer_open(writer, '{');
  ep_writer_member_open(writer, "pointers", '[');
  for (int p = 0; p < axis->pointers_count; p++) ep_writer_string(writer, axis->pointers[p]);
  ep_writer_close(writer, ']');
  ep_writer_member_open(writer, "values", '[');
  for (int64_t i = 0; i < ep_study_levels(axis); i++)
    ep_sweep_value_write(writer, axis, 0,
                         axis->kind == EP_AXIS_VALUES ? (double)i : axis->low + (double)i);
  ep_writer_close(writer, ']');
  ep_writer_close(writer, '}');
}

/* The mean of a figure of the parts. */
static double mean_of(const ep_trial_record *parts, int count, size_t offset) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += *(const double *)((const char *)&parts[i] + offset);
  return sum / count;
}

static void cell_write(ep_writer *writer, const ep_study_view *view, const ep_trial_row *row) {
  static const struct {
    const char *key;
    size_t offset;
  } figures[] = {{"train_seconds", offsetof(ep_trial_record, seconds)},
                 {"test_seconds", offsetof(ep_trial_record, test_seconds)},
                 {"epoch_microseconds", offsetof(ep_trial_record, epoch_microseconds)},
                 {"samples_per_second", offsetof(ep_trial_record, samples_per_second)}};
  const ep_trial_record *parts = &view->records[row->first];
  int count = ep_sweep_parts(view->sweep);
  ep_writer_open(writer, '{');
  ep_writer_member_integer(writer, "trial", row->trial);
  ep_writer_key(writer, "values");
  ep_sweep_values_write(writer, view->sweep, parts->point);
  ep_writer_member_string(writer, "outcome", ep_status_name(row->outcome));
  ep_writer_member_integer(writer, "parameters", parts->parameters);
  ep_writer_member_number_or_null(writer, "mean", row->metric);
  ep_writer_member_number_or_null(writer, "deviation", row->deviation);
  ep_writer_member_open(writer, "each", '[');
  for (int i = 0; i < count; i++) ep_writer_number_or_null(writer, parts[i].metric);
  ep_writer_close(writer, ']');
  for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
    ep_writer_member_number_or_null(writer, figures[f].key,
                                    mean_of(parts, count, figures[f].offset));
  ep_writer_close(writer, '}');
}

static void interval_write(ep_writer *writer, double low, double high) {
  ep_writer_key(writer, "interval");
  if (isnan(low)) {
    ep_writer_null(writer);
    return;
  }
  ep_writer_open(writer, '[');
  ep_writer_number(writer, low);
  ep_writer_number(writer, high);
  ep_writer_close(writer, ']');
}

static double per_cent(double ratio) {
  return 100 * (ratio - 1);
}

static void effect_write(ep_writer *writer, const ep_study_effect *effect) {
  ep_writer_open(writer, '{');
  ep_writer_member_integer(writer, "axis", effect->axis);
  ep_writer_member_integer(writer, "level", effect->level);
  ep_writer_member_integer(writer, "against", 0);
  ep_writer_member_number_or_null(writer, "per_cent", per_cent(effect->ratio));
  interval_write(writer, per_cent(effect->low), per_cent(effect->high));
  ep_writer_member_integer(writer, "cells", effect->cells);
  ep_writer_close(writer, '}');
}

static void interaction_write(ep_writer *writer, const ep_study_interaction *pair) {
  ep_writer_open(writer, '{');
  ep_writer_member_open(writer, "axes", '[');
  for (int i = 0; i < 2; i++) ep_writer_integer(writer, pair->axes[i]);
  ep_writer_close(writer, ']');
  ep_writer_member_open(writer, "per_cent", '[');
  for (int64_t a = 0; a < pair->levels[0]; a++) {
    ep_writer_open(writer, '[');
    for (int64_t b = 0; b < pair->levels[1]; b++)
      ep_writer_number_or_null(writer, per_cent(pair->factors[a * pair->levels[1] + b]));
    ep_writer_close(writer, ']');
  }
  ep_writer_close(writer, ']');
  ep_writer_close(writer, '}');
}

static void crossover_write(ep_writer *writer, const ep_study_view *view,
                            const ep_study_crossover *crossover) {
  const ep_study *study = view->study;
  ep_writer_open(writer, '{');
  ep_writer_member_integer(writer, "axis", crossover->axis);
  ep_writer_member_open(writer, "levels", '[');
  for (int i = 0; i < 2; i++) ep_writer_integer(writer, crossover->levels[i]);
  ep_writer_close(writer, ']');
  ep_writer_member_string(writer, "over",
                          study->by_parameters ? "parameters"
                                               : view->sweep->axes[study->x_axis].pointers[0]);
  ep_writer_member_number(writer, "at", crossover->x);
  interval_write(writer, crossover->low, crossover->high);
  ep_writer_close(writer, '}');
}

char *ep_study_format(const ep_study_view *view) {
  const ep_study *study = view->study;
  ep_writer writer;
  ep_writer_init(&writer, STUDY_TEXT_LIMIT);
  ep_writer_open(&writer, '{');
  ep_writer_member_string(&writer, "object", "study");
  ep_writer_member_string(&writer, "sweep", view->id);
  ep_writer_member_string(&writer, "metric", view->sweep->metric);
  ep_writer_member_string(&writer, "mode", view->sweep->maximize ? "max" : "min");
  ep_writer_member_integer(&writer, "repeats", ep_sweep_parts(view->sweep));
  ep_writer_key(&writer, "controls");
  ep_sweep_controls_write(&writer, view->sweep);
  ep_writer_member_open(&writer, "axes", '[');
  for (int i = 0; i < view->sweep->axes_count; i++) axis_write(&writer, &view->sweep->axes[i]);
  ep_writer_close(&writer, ']');
  ep_writer_member_open(&writer, "cells", '[');
  for (int64_t i = 0; i < view->count; i++) cell_write(&writer, view, &view->rows[i]);
  ep_writer_close(&writer, ']');
  ep_writer_member_open(&writer, "effects", '[');
  for (int64_t i = 0; i < study->effects_count; i++) effect_write(&writer, &study->effects[i]);
  ep_writer_close(&writer, ']');
  ep_writer_member_open(&writer, "interactions", '[');
  for (int64_t i = 0; i < study->interactions_count; i++)
    interaction_write(&writer, &study->interactions[i]);
  ep_writer_close(&writer, ']');
  ep_writer_member_open(&writer, "crossovers", '[');
  for (int64_t i = 0; i < study->crossovers_count; i++)
    crossover_write(&writer, view, &study->crossovers[i]);
  ep_writer_close(&writer, ']');
  ep_writer_close(&writer, '}');
  return ep_writer_take(&writer);
}
