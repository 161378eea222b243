#include "engine/data/datasets/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/hash/checksum.h"
#include "engine/data/arrays/npy_header.h"
#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/part_writer.h"
#include "engine/files/mapping.h"
#include "engine/files/path.h"
#include "engine/files/verified.h"

enum { PIECE_BYTES = 16 << 20 }; /* between two signs of life: a second of a slow disk */

typedef struct {
  void (*alive)(void *context);
  void *context;
  const atomic_bool *cancel; /* NULL = none */
} sign_of_life;

static ep_status bytes_add(ep_checksum *checksum, const uint8_t *bytes, size_t count,
                           const sign_of_life *sign, ep_error *error) {
  for (size_t at = 0; at < count; at += PIECE_BYTES) {
    if (sign->alive) sign->alive(sign->context);
    if (sign->cancel && atomic_load(sign->cancel))
      return ep_fail(error, EP_CANCELLED, "cancelled while the data set was read");
    ep_checksum_update(checksum, bytes + at, count - at < PIECE_BYTES ? count - at : PIECE_BYTES);
  }
  return EP_OK;
}

/* The file from `first` on, and then what is before it: the head of a part is written last. */
static ep_status file_read(int file, const char *path, size_t first,
                           char found[EP_CHECKSUM_HEX_BYTES], const sign_of_life *sign,
                           ep_error *error) {
  ep_mapping mapping;
  ep_checksum checksum;
  ep_status status = ep_mapping_of(file, path, &mapping, error);
  if (status != EP_OK) return status;
  status = ep_checksum_init(&checksum, error);
  if (status == EP_OK) {
    if (first > mapping.size) first = mapping.size;
    status = bytes_add(&checksum, mapping.bytes + first, mapping.size - first, sign, error);
    if (status == EP_OK) status = bytes_add(&checksum, mapping.bytes, first, sign, error);
    ep_checksum_final(&checksum, found);
  }
  ep_mapping_close(&mapping);
  return status;
}

static ep_status open_file_verify(int file, const char *path, size_t first, const char *wanted,
                                  const sign_of_life *sign, ep_error *error) {
  char found[EP_CHECKSUM_HEX_BYTES];
  struct stat about;
  if (fstat(file, &about) != 0) return ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
  if (ep_verified_find(&about, wanted)) return EP_OK;
  ep_status status = file_read(file, path, first, found, sign, error);
  if (status != EP_OK) return status;
  if (strcmp(found, wanted) != 0)
    return ep_fail_at(error, EP_DAMAGED, "/data",
                      "%s is damaged, its checksum is %s instead of %s: upload the same data again",
                      ep_stored_name(path), found, wanted);
  ep_verified_add(&about, wanted);
  return EP_OK;
}

/* wanted "": not known, of what was stored before there were checksums. */
static ep_status file_verify(const char *path, size_t first, const char *wanted,
                             const sign_of_life *sign, ep_error *error) {
  if (!wanted[0]) return EP_OK;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return ep_fail_at(error, errno == ENOENT ? EP_DAMAGED : EP_IO, "/data",
                      "%s cannot be opened (%s): upload the same data again", ep_stored_name(path),
                      strerror(errno));
  ep_status status = open_file_verify(file, path, first, wanted, sign, error);
  close(file);
  return status;
}

static ep_status meta_verify(const char *folder, const ep_dataset_meta *meta,
                             const sign_of_life *sign, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = EP_OK;
  for (int i = 0; i < EP_SPLIT_COUNT * EP_ROLE_COUNT && status == EP_OK; i++) {
    ep_split split = (ep_split)(i / EP_ROLE_COUNT);
    ep_role role = (ep_role)(i % EP_ROLE_COUNT);
    if (meta->part[split][role].rows == 0) continue;
    status = ep_part_path(folder, split, role, path, error);
    if (status == EP_OK)
      status =
          file_verify(path, EP_NPY_CANONICAL_BYTES, meta->part[split][role].checksum, sign, error);
  }
  if (status != EP_OK || meta->tensors == 0) return status;
  status = ep_path_join(path, error, folder, EP_WEIGHTS_FILE, NULL);
  return status == EP_OK ? file_verify(path, 0, meta->checksum, sign, error) : status;
}

ep_status ep_dataset_verify(const char *folder, void (*alive)(void *context), void *context,
                            const atomic_bool *cancel, ep_error *error) {
  ep_dataset_meta meta;
  ep_status status = ep_dataset_meta_read(folder, &meta, error);
  if (status != EP_OK) return status;
  status = meta_verify(folder, &meta, &(sign_of_life){alive, context, cancel}, error);
  ep_dataset_meta_deinit(&meta);
  return status;
}
