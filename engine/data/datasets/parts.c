#include "engine/data/datasets/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/hash/sha256.h"
#include "engine/data/arrays/npy_header.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/files/path.h"

/* "train.x" and its hash, a line each: what the content's hash is taken of. */
static void line_add(ep_sha256 *hash, int split, int role, const char *sha256) {
  char line[128];
  int length = snprintf(line, sizeof line, "%s.%s %s\n", ep_split_name((ep_split)split),
                        ep_role_name((ep_role)role), sha256);
  ep_sha256_update(hash, line, (size_t)length);
}

/* A part that came with others in one file has no hash of its own: it gets one of the file's. */
static ep_status hash_derive(int split, int role, const char *file_sha256,
                             char sha256[EP_SHA256_HEX_BYTES], ep_error *error) {
  ep_sha256 hash;
  ep_status status = ep_sha256_init(&hash, error);
  if (status != EP_OK) return status;
  line_add(&hash, split, role, file_sha256);
  ep_sha256_final(&hash, sha256);
  return EP_OK;
}

ep_status ep_dataset_parts_write(const char *folder, ep_dataset_meta *meta, ep_error *error) {
  ep_sha256 hash;
  ep_status status = ep_sha256_init(&hash, error);
  if (status != EP_OK) return status;
  snprintf(meta->format, sizeof meta->format, "parts");
  meta->bytes = 0;
  for (int split = 0; split < EP_SPLIT_COUNT; split++)
    for (int role = 0; role < EP_ROLE_COUNT; role++) {
      const ep_part *part = &meta->part[split][role];
      if (part->rows == 0) continue;
      line_add(&hash, split, role, part->sha256);
      meta->bytes += part->bytes;
    }
  ep_sha256_final(&hash, meta->sha256);
  return ep_dataset_meta_write(folder, meta, error);
}

static bool is_apart(const ep_dataset_meta *meta) {
  return meta->tensors == 0 && meta->part[EP_SPLIT_TRAIN][EP_ROLE_TABLE].rows == 0;
}

/* The part of `before` becomes one of `meta`, and its file one of `folder`. */
static ep_status part_take(const char *folder, ep_dataset_meta *meta, const char *before_folder,
                           ep_dataset_meta *before, int split, int role, ep_error *error) {
  char from[EP_PATH_BYTES], to[EP_PATH_BYTES];
  ep_part *part = &before->part[split][role];
  ep_status status = ep_part_path(before_folder, (ep_split)split, (ep_role)role, from, error);
  if (status == EP_OK) status = ep_part_path(folder, (ep_split)split, (ep_role)role, to, error);
  if (status == EP_OK && link(from, to) != 0)
    status = ep_fail(error, ep_status_from_errno(errno), "a part cannot be linked to %s: %s", to,
                     strerror(errno));
  if (status != EP_OK) return status;
  if (!part->sha256[0]) {
    status = hash_derive(split, role, before->sha256, part->sha256, error);
    if (status != EP_OK) return status;
    part->bytes = part->rows * part->columns * (int64_t)ep_dtype_bytes(part->dtype);
  }
  ep_part_take(part, &meta->part[split][role]);
  return EP_OK;
}

/* The names of the classes go on while the numbers that they stand for do. */
static void classes_take(ep_dataset_meta *meta, ep_dataset_meta *before) {
  if (meta->class_name || meta->part[EP_SPLIT_TRAIN][EP_ROLE_Y].rows > 0) return;
  meta->class_name = before->class_name;
  meta->classes = before->classes;
  before->class_name = NULL;
}

static ep_status parts_take(const char *folder, ep_dataset_meta *meta, const char *before_folder,
                            ep_error *error) {
  ep_dataset_meta before;
  ep_status status = ep_dataset_meta_read(before_folder, &before, error);
  if (status != EP_OK) return status;
  if (!is_apart(&before))
    status = ep_fail(error, EP_CONFLICT,
                     "the dataset is %s (%s): a part cannot be added to it, delete it first",
                     before.tensors > 0 ? "a model's weights" : "a table", before.format);
  if (status == EP_OK) classes_take(meta, &before);
  for (int split = 0; split < EP_SPLIT_COUNT && status == EP_OK; split++)
    for (int role = 0; role < EP_ROLE_COUNT && status == EP_OK; role++)
      if (before.part[split][role].rows > 0 && meta->part[split][role].rows == 0)
        status = part_take(folder, meta, before_folder, &before, split, role, error);
  ep_dataset_meta_deinit(&before);
  return status;
}

ep_status ep_dataset_complete(const char *folder, const char *before, ep_error *error) {
  ep_dataset_meta meta;
  ep_status status = ep_dataset_meta_read(folder, &meta, error);
  if (status != EP_OK) return status;
  if (before) status = parts_take(folder, &meta, before, error);
  if (status == EP_OK) status = ep_dataset_parts_write(folder, &meta, error);
  ep_dataset_meta_deinit(&meta);
  return status;
}

bool ep_dataset_is_unlabelled(const ep_dataset_meta *meta, ep_split split) {
  const ep_part *parts = meta->part[split];
  return split == EP_SPLIT_TEST && meta->format[0] && strcmp(meta->format, "parts") != 0 &&
         parts[EP_ROLE_X].rows > 0 && parts[EP_ROLE_Y].rows == 0;
}

static ep_status pair_check(const ep_dataset_meta *meta, ep_split split, ep_error *error) {
  const char *pointer = "/data/dataset", *name = ep_split_name(split);
  const ep_part *x = &meta->part[split][EP_ROLE_X], *y = &meta->part[split][EP_ROLE_Y];
  const ep_part *train = meta->part[EP_SPLIT_TRAIN];
  bool unlabelled = ep_dataset_is_unlabelled(meta, split);
  if (!unlabelled && (x->rows == 0 || y->rows == 0))
    return ep_fail_at(error, EP_INVALID, pointer, "the dataset has no %s/%s: upload the part %s/%s",
                      name, x->rows == 0 ? "x" : "y", name, x->rows == 0 ? "x" : "y");
  if (!unlabelled && x->rows != y->rows)
    return ep_fail_at(error, EP_INVALID, pointer, "%s/x has %lld rows, %s/y has %lld", name,
                      (long long)x->rows, name, (long long)y->rows);
  for (int role = EP_ROLE_X; role <= (unlabelled ? EP_ROLE_X : EP_ROLE_Y); role++)
    if (meta->part[split][role].columns != train[role].columns)
      return ep_fail_at(error, EP_INVALID, pointer, "%s/%s has %lld columns, train/%s has %lld",
                        name, ep_role_name((ep_role)role),
                        (long long)meta->part[split][role].columns, ep_role_name((ep_role)role),
                        (long long)train[role].columns);
  return EP_OK;
}

ep_status ep_dataset_pairs_check(const ep_dataset_meta *meta, ep_error *error) {
  if (meta->tensors > 0)
    return ep_fail_at(error, EP_INVALID, "/data/dataset",
                      "these are weights of a model, not data: use them in model.init");
  ep_status status = pair_check(meta, EP_SPLIT_TRAIN, error);
  for (int split = 0; split < EP_SPLIT_COUNT && status == EP_OK; split++)
    if (meta->part[split][EP_ROLE_X].rows > 0 || meta->part[split][EP_ROLE_Y].rows > 0)
      status = pair_check(meta, (ep_split)split, error);
  return status;
}
