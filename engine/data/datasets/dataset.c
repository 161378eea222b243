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

/* A copy of its own of `bytes` bytes, of NULL too; false when memory is short. */
static bool bytes_copy(const void *from, size_t bytes, void **out) {
  *out = from ? malloc(bytes) : NULL;
  if (*out) memcpy(*out, from, bytes);
  return !from || *out;
}

static bool owned_copy(const ep_dataset_meta *meta, ep_dataset_meta *out) {
  void *copy;
  for (int i = 0; i < EP_SPLIT_COUNT * EP_ROLE_COUNT; i++) {
    const ep_part *from = &meta->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT];
    if (!bytes_copy(from->column, (size_t)from->columns * sizeof *from->column, &copy))
      return false;
    out->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT].column = copy;
  }
  if (!bytes_copy(meta->class_name, (size_t)meta->classes * sizeof *meta->class_name, &copy))
    return false;
  out->class_name = copy;
  return true;
}

bool ep_dataset_meta_copy(const ep_dataset_meta *meta, ep_dataset_meta *out) {
  *out = *meta;
  out->class_name = NULL;
  for (int i = 0; i < EP_SPLIT_COUNT * EP_ROLE_COUNT; i++)
    out->part[i / EP_ROLE_COUNT][i % EP_ROLE_COUNT].column = NULL;
  if (owned_copy(meta, out)) return true;
  ep_dataset_meta_deinit(out);
  return false;
}

void ep_dataset_meta_deinit(ep_dataset_meta *meta) {
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int role = 0; role < EP_ROLE_COUNT; role++) free(meta->part[split][role].column);
  free(meta->class_name);
  *meta = (ep_dataset_meta){0};
}
