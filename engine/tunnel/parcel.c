#include "engine/tunnel/parcel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/files/durable_file.h"

enum { QUEUED_MOST_BYTES = 1 << 20 }; /* in a channel, of files */

ep_status ep_outgoing_begin(ep_outgoing *out, ep_channel *channel, int file, const char *name,
                            int64_t from, int64_t until, ep_error *error) {
  ep_record_file record = {.from = from, .bytes = until - from};
  ep_status status = EP_OK;
  if (snprintf(record.name, sizeof record.name, "%s", name) >= (int)sizeof record.name)
    status = ep_fail(error, EP_TOO_LARGE, "the file name %.100s… is too long", name);
  if (status == EP_OK && lseek(file, from, SEEK_SET) != from)
    status = ep_fail(error, EP_IO, "%s: %s", name, strerror(errno));
  if (status == EP_OK) status = ep_sha256_init(&out->hash, error);
  if (status != EP_OK) {
    close(file);
    return status;
  }
  out->file = file;
  out->left = record.bytes;
  return ep_channel_put(channel, EP_RECORD_FILE, 0, &record, sizeof record, NULL, 0, error);
}

ep_status ep_outgoing_go_on(ep_outgoing *out, ep_channel *channel, ep_error *error) {
  char sha256[EP_SHA256_HEX_BYTES];
  if (out->file < 0) return EP_OK;
  uint8_t *bytes = malloc(EP_RECORD_DATA_BYTES);
  if (!bytes) return ep_fail_memory(error);
  ep_status status = EP_OK;
  while (status == EP_OK && out->left > 0 && ep_channel_queued(channel) < QUEUED_MOST_BYTES) {
    size_t most = out->left < EP_RECORD_DATA_BYTES ? (size_t)out->left : EP_RECORD_DATA_BYTES;
    ssize_t got = read(out->file, bytes, most);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      status = ep_fail(error, EP_IO, "a file to be sent: %s",
                       got < 0 ? strerror(errno) : "it is shorter than it was");
      break;
    }
    out->left -= got;
    ep_sha256_update(&out->hash, bytes, (size_t)got);
    status = ep_channel_put(channel, EP_RECORD_DATA, 0, bytes, (size_t)got, NULL, 0, error);
  }
  free(bytes);
  if (status != EP_OK || out->left > 0) return status;
  ep_sha256_final(&out->hash, sha256);
  close(out->file);
  out->file = -1;
  return ep_channel_put(channel, EP_RECORD_FILE_END, 0, sha256, EP_SHA256_HEX_BYTES - 1, NULL, 0,
                        error);
}

void ep_outgoing_abandon(ep_outgoing *out) {
  if (out->file < 0) return;
  ep_sha256_deinit(&out->hash);
  close(out->file);
  out->file = -1;
}

/* Goes down to the folder of a name, which is cut off. *folder is the caller's. */
static ep_status folder_walk(int root, const char **name, int *folder, ep_error *error) {
  int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
  for (const char *slash; at >= 0 && (slash = strchr(*name, '/')); *name = slash + 1) {
    char part[EP_RECORD_NAME_BYTES];
    snprintf(part, sizeof part, "%.*s", (int)(slash - *name), *name);
    int below = -1;
    if (mkdirat(at, part, 0700) == 0 || errno == EEXIST)
      below = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int failed = errno;
    close(at);
    errno = failed;
    at = below;
  }
  if (at < 0)
    return ep_fail(error, ep_status_from_errno(errno), "the folder of %s: %s", *name,
                   strerror(errno));
  *folder = at;
  return EP_OK;
}

static void temporary_name(const ep_incoming *in, char *name, size_t bytes) {
  snprintf(name, bytes, "%s.tmp", in->name);
}

static ep_status file_open(ep_incoming *in, int64_t from, ep_error *error) {
  char temporary[EP_RECORD_NAME_BYTES + 8];
  struct stat state;
  const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  temporary_name(in, temporary, sizeof temporary);
  const bool appends = from > 0;
  in->from = from;
  in->file = appends ? openat(in->folder, in->name, flags | O_APPEND)
                     : openat(in->folder, temporary, flags | O_CREAT | O_TRUNC, 0600);
  if (in->file < 0 || fstat(in->file, &state) != 0)
    return ep_fail(error, errno == ENOENT ? EP_CONFLICT : ep_status_from_errno(errno), "%s: %s",
                   in->name, strerror(errno));
  if (!S_ISREG(state.st_mode) || (appends && state.st_size != from))
    return ep_fail(error, EP_CONFLICT, "%s has %lld bytes, not %lld", in->name,
                   (long long)state.st_size, (long long)from);
  return EP_OK;
}

ep_status ep_incoming_begin(ep_incoming *in, int root, const ep_record_file *file,
                            ep_error *error) {
  const char *name = file->name;
  if (in->folder >= 0) return ep_fail(error, EP_MALFORMED, "a file begins within another");
  if (!ep_record_name_valid(name)) return ep_fail(error, EP_MALFORMED, "no name of a file");
  ep_status status = folder_walk(root, &name, &in->folder, error);
  if (status != EP_OK) return status;
  snprintf(in->name, sizeof in->name, "%s", name);
  in->left = file->bytes;
  in->file = -1;
  status = file_open(in, file->from, error);
  if (status == EP_OK) status = ep_sha256_init(&in->hash, error);
  if (status == EP_OK) return EP_OK;
  if (in->file >= 0) close(in->file);
  close(in->folder);
  in->folder = in->file = -1;
  return status;
}

ep_status ep_incoming_data(ep_incoming *in, const void *bytes, size_t count, ep_error *error) {
  if (in->folder < 0 || (int64_t)count > in->left)
    return ep_fail(error, EP_MALFORMED, "bytes of no file");
  in->left -= (int64_t)count;
  ep_sha256_update(&in->hash, bytes, count);
  return ep_file_write_all(in->file, bytes, count, error);
}

/* keep: else what has come is removed again. */
static void file_close(ep_incoming *in, bool keep) {
  char temporary[EP_RECORD_NAME_BYTES + 8];
  temporary_name(in, temporary, sizeof temporary);
  if (!keep && in->from == 0) unlinkat(in->folder, temporary, 0);
  if (!keep && in->from > 0 && ftruncate(in->file, in->from) != 0) errno = 0; /* read as torn */
  close(in->file);
  close(in->folder);
  in->folder = in->file = -1;
}

ep_status ep_incoming_end(ep_incoming *in, const char *sha256, ep_error *error) {
  char temporary[EP_RECORD_NAME_BYTES + 8], hash[EP_SHA256_HEX_BYTES];
  if (in->folder < 0) return ep_fail(error, EP_MALFORMED, "the end of no file");
  temporary_name(in, temporary, sizeof temporary);
  ep_sha256_final(&in->hash, hash);
  ep_status status = EP_OK;
  if (in->left != 0 || strcmp(hash, sha256) != 0)
    status = ep_fail(error, EP_MALFORMED, "%s differs from the file that was sent", in->name);
  else if (fsync(in->file) != 0 ||
           (in->from == 0 && renameat(in->folder, temporary, in->folder, in->name) != 0) ||
           fsync(in->folder) != 0)
    status = ep_fail(error, ep_status_from_errno(errno), "%s: %s", in->name, strerror(errno));
  file_close(in, status == EP_OK);
  return status;
}

void ep_incoming_abandon(ep_incoming *in) {
  if (in->folder < 0) return;
  ep_sha256_deinit(&in->hash);
  file_close(in, false);
}
