#include "engine/data/datasets/dataset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *ep_split_name(ep_split split) {
  static const char *const names[EP_SPLIT_COUNT] = {"train", "validation", "test"};
  assert(split < EP_SPLIT_COUNT);
  return names[split];
}

const char *ep_role_name(ep_role role) {
  static const char *const names[EP_ROLE_COUNT] = {"table", "x", "y"};
  assert(role < EP_ROLE_COUNT);
  return names[role];
}

static const char *const type_names[EP_COLUMN_TYPES] = {"number", "category", "date", "text"};

const char *ep_column_type_name(ep_column_type type) {
  assert(type < EP_COLUMN_TYPES);
  return type_names[type];
}

int ep_column_type_from_name(const char *name) {
  for (int type = 0; type < EP_COLUMN_TYPES; type++)
    if (strcmp(type_names[type], name) == 0) return type;
  return -1;
}

bool ep_dataset_meta_copy(const ep_dataset_meta *meta, ep_dataset_meta *out) {
  *out = *meta;
  for (int i = 0; i < EP_SPLIT_COUNT * EP_ROLE_COUNT; i++)
    out->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT].column = NULL;
  for (int i = 0; i < EP_SPLIT_COUNT * EP_ROLE_COUNT; i++) {
    const ep_part *from = &meta->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT];
    ep_part *to = &out->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT];
    size_t bytes = (size_t)from->columns * sizeof *from->column;
    if (!from->column) continue;
    to->column = malloc(bytes);
    if (!to->column) {
      ep_dataset_meta_deinit(out);
      return false;
    }
    memcpy(to->column, from->column, bytes);
  }
  return true;
}

void ep_dataset_meta_deinit(ep_dataset_meta *meta) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int role = 0; role < EP_ROLE_COUNT; role++) free(meta->part[split][role].column);
  *meta = (ep_dataset_meta){0};
}
