#include "engine/files/file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/files/durable_file.h"

enum { PIECE_BYTES = 1 << 20, SYNCED_BYTES = 64 << 20 };

static ep_status moves_tell(const ep_file_moves *moves, ep_durable_file *to, ssize_t bytes,
                            int64_t *unsynced, ep_error *error) {
  ep_status status = EP_OK;
  *unsynced += bytes;
  if (*unsynced >= SYNCED_BYTES) {
    status = ep_durable_file_sync(to, error);
    *unsynced = 0;
  }
  moves->moved(moves->context);
  return status;
}

static ep_status bytes_copy(int from, const char *path, ep_durable_file *to,
                            const ep_file_moves *moves, ep_error *error) {
  ep_status status = EP_OK;
  int64_t unsynced = 0;
  void *piece = malloc(PIECE_BYTES);
  if (!piece) return ep_fail_memory(error);
  for (ssize_t got = 1; status == EP_OK && got > 0;) {
    got = read(from, piece, PIECE_BYTES);
    if (got < 0 && errno != EINTR) status = ep_fail(error, EP_IO, "%s: %s", path, strerror(errno));
    if (got > 0) status = ep_durable_file_write(to, piece, (size_t)got, error);
    if (got > 0 && status == EP_OK && moves) status = moves_tell(moves, to, got, &unsynced, error);
    if (got < 0) got = 1; /* again */
  }
  free(piece);
  return status;
}

ep_status ep_file_copy(const char *from, const char *to, mode_t mode,
                       char sha256[EP_SHA256_HEX_BYTES], const ep_file_moves *moves,
                       ep_error *error) {
  ep_durable_file *file = NULL;
  int source = open(from, O_RDONLY | O_CLOEXEC);
  if (source < 0)
    return ep_fail(error, errno == ENOENT ? EP_NOT_FOUND : EP_IO, "%s: %s", from, strerror(errno));
  ep_status status = ep_durable_file_create(to, &file, error);
  if (status == EP_OK) status = bytes_copy(source, from, file, moves, error);
  close(source);
  if (status == EP_OK)
    status = ep_durable_file_commit(file, sha256, NULL, error);
  else
    ep_durable_file_abandon(file);
  if (status == EP_OK && chmod(to, mode) != 0)
    status = ep_fail(error, EP_IO, "%s: %s", to, strerror(errno));
  return status;
}
