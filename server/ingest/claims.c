#include "server/ingest/claims.h"

#include <string.h>
#include <sys/stat.h>

#include "engine/data/arrays/npy_header.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/data/formats/ingest.h"

static ep_status claim_fail(const char *what, ep_error *error) {
  return ep_fail(
      error, EP_INTERNAL,
      "the process that read the file reported invalid %s: check the file, and upload it again",
      what);
}

/* The values behind the head, and nothing else. */
static ep_status size_check(const char *folder, ep_split split, ep_role role, const ep_part *part,
                            ep_error *error) {
  char path[EP_PATH_BYTES];
  struct stat about;
  int64_t values = part->rows * part->columns; /* within limits.h, as the description was read */
  int64_t bytes = EP_NPY_CANONICAL_BYTES + values * (int64_t)ep_dtype_bytes(part->dtype);
  ep_status status = ep_part_path(folder, split, role, path, error);
  if (status != EP_OK) return status;
  if (lstat(path, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size != bytes)
    return claim_fail("its rows and columns", error);
  return EP_OK;
}

/* expected: the upload's hash, which is also that of a part that came alone. */
static ep_status part_check(const ep_ingest_task *task, const char *folder, ep_split split,
                            ep_role role, const ep_part *part, const char *expected,
                            ep_error *error) {
  const ep_path_source *source = task->source;
  if (part->rows == 0) return EP_OK;
  if (!source->whole && source->file[split][role] < 0) return claim_fail("its parts", error);
  if (strcmp(part->sha256, source->whole ? "" : expected) != 0)
    return claim_fail("its hash", error);
  return size_check(folder, split, role, part, error);
}

static ep_status meta_check(const ep_ingest_task *task, const char *folder,
                            const ep_dataset_meta *meta, const char *expected, ep_error *error) {
  ep_status status = EP_OK;
  if (strcmp(meta->sha256, expected) != 0) return claim_fail("its hash", error);
  for (int i = 0; i < EP_SPLIT_COUNT * EP_ROLE_COUNT && status == EP_OK; i++) {
    ep_split split = (ep_split)(i / EP_ROLE_COUNT);
    ep_role role = (ep_role)(i % EP_ROLE_COUNT);
    status = part_check(task, folder, split, role, &meta->part[split][role], expected, error);
  }
  return status;
}

ep_status ep_ingest_claims_check(const ep_ingest_task *task, const char *sha256, const char *folder,
                                 ep_error *error) {
  char expected[EP_SHA256_HEX_BYTES];
  ep_dataset_meta meta = {0};
  snprintf(expected, sizeof expected, "%s", sha256);
  ep_status status = ep_dataset_sha256(task->options, expected, error);
  if (status == EP_OK) status = ep_dataset_meta_read(folder, &meta, error);
  if (status != EP_OK) return status;
  status = meta_check(task, folder, &meta, expected, error);
  ep_dataset_meta_deinit(&meta);
  return status;
}
