#include "api/vocabulary.h"

#include <assert.h>
#include <string.h>

static int word_find(const char *const *names, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], name) == 0) return i;
  return -1;
}

#define NAME_ROW(code, name, ...) name,
#define WORDS_DEFINE(TABLE, PREFIX, word)                      \
  static const char *const word##_names[] = {TABLE(NAME_ROW)}; \
  const char *ep_##word##_name(int value) {                    \
    assert(value >= 0 && value < EP_##PREFIX##_COUNT);         \
    return word##_names[value];                                \
  }                                                            \
  int ep_##word##_from_name(const char *name) {                \
    return word_find(word##_names, EP_##PREFIX##_COUNT, name); \
  }

WORDS_DEFINE(EP_LAYER_TABLE, LAYER, layer_type)
WORDS_DEFINE(EP_LAYER_GROUP_TABLE, LAYER_GROUP, layer_group)
WORDS_DEFINE(EP_LOSS_TABLE, LOSS, loss_type)
WORDS_DEFINE(EP_OPTIMIZER_TABLE, OPTIMIZER, optimizer_type)
WORDS_DEFINE(EP_SCHEDULE_TABLE, SCHEDULE, schedule_type)
WORDS_DEFINE(EP_INIT_TABLE, INIT, init_type)
WORDS_DEFINE(EP_PRECISION_TABLE, PRECISION, precision)
WORDS_DEFINE(EP_WEBHOOK_TABLE, WEBHOOK, webhook)
WORDS_DEFINE(EP_GENERATOR_TABLE, GENERATOR, generator)
WORDS_DEFINE(EP_TASK_TABLE, TASK, task)
WORDS_DEFINE(EP_COLUMN_AS_TABLE, COLUMN_AS, column_as)
WORDS_DEFINE(EP_FILL_TABLE, FILL, fill)
WORDS_DEFINE(EP_CATEGORY_TABLE, CATEGORY, category)
WORDS_DEFINE(EP_UNKNOWN_WORD_TABLE, UNKNOWN_WORD, unknown_word)
WORDS_DEFINE(EP_WINDOW_GAPS_TABLE, WINDOW_GAPS, window_gaps)
WORDS_DEFINE(EP_COLUMN_SCALE_TABLE, COLUMN_SCALE, column_scale)
WORDS_DEFINE(EP_SPLIT_TABLE, SPLIT, split)
WORDS_DEFINE(EP_STATE_TABLE, STATE, state)
WORDS_DEFINE(EP_EVENT_TABLE, EVENT, event_type)
WORDS_DEFINE(EP_METRIC_TABLE, METRIC, metric)
WORDS_DEFINE(EP_SEARCH_TABLE, SEARCH, search_type)
WORDS_DEFINE(EP_AXIS_TABLE, AXIS, axis_kind)

ep_layer_group ep_layer_type_group(ep_layer_type layer) {
#define GROUP_ROW(code, name, group, ...) EP_LAYER_GROUP_##group,
  static const ep_layer_group groups[] = {EP_LAYER_TABLE(GROUP_ROW)};
#undef GROUP_ROW
  assert(layer < EP_LAYER_COUNT);
  return groups[layer];
}

ep_loss_kind ep_loss_type_kind(ep_loss_type loss) {
#define KIND_ROW(code, name, kind, ...) EP_LOSS_KIND_##kind,
  static const ep_loss_kind kinds[] = {EP_LOSS_TABLE(KIND_ROW)};
#undef KIND_ROW
  assert(loss < EP_LOSS_COUNT);
  return kinds[loss];
}

bool ep_metric_is_maximized(ep_metric metric) {
#define MAXIMIZED_ROW(code, name, kind, maximized) maximized,
  static const bool rows[] = {EP_METRIC_TABLE(MAXIMIZED_ROW)};
#undef MAXIMIZED_ROW
  assert(metric < EP_METRIC_COUNT);
  return rows[metric];
}

bool ep_loss_has_metric(ep_loss_type loss, ep_metric metric) {
  typedef enum { ALL, REGRESSION, CLASSIFIER } trainings;
#define TRAININGS_ROW(code, name, kind, maximized) kind,
  static const trainings rows[] = {EP_METRIC_TABLE(TRAININGS_ROW)};
#undef TRAININGS_ROW
  assert(metric < EP_METRIC_COUNT);
  return rows[metric] == ALL || (rows[metric] == CLASSIFIER) == ep_loss_is_classifier(loss);
}

bool ep_loss_takes_classes(ep_loss_type loss) {
  return ep_loss_type_kind(loss) == EP_LOSS_KIND_CLASSES;
}

bool ep_loss_is_classifier(ep_loss_type loss) {
  return ep_loss_type_kind(loss) != EP_LOSS_KIND_REGRESSION;
}

bool ep_state_has_ended(ep_state state) {
  return state == EP_STATE_SUCCEEDED || state == EP_STATE_FAILED || state == EP_STATE_CANCELLED;
}
