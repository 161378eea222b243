#include "engine/data/tables/draft.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/files/temporary_file.h"

enum { BUFFER_BYTES = 1 << 18 };

static size_t row_bytes(const ep_draft *draft) {
  return (size_t)draft->columns * sizeof *draft->buffer;
}

ep_status ep_draft_open(const char *folder, int64_t columns, int64_t bytes_most, ep_draft *out,
                        ep_error *error) {
  *out = (ep_draft){.columns = columns, .bytes_most = bytes_most, .file = -1};
  out->capacity = BUFFER_BYTES / (int64_t)row_bytes(out) + 1;
  out->buffer = malloc((size_t)out->capacity * row_bytes(out));
  if (!out->buffer) return ep_fail_memory(error);
  ep_error unused;
  if (folder && ep_temporary_file_create(folder, &out->file, &unused) != EP_OK) out->file = -1;
  out->kept = out->file >= 0;
  return EP_OK;
}

void ep_draft_close(ep_draft *draft) {
  if (draft->buffer && draft->file >= 0) close(draft->file);
  free(draft->buffer);
  *draft = (ep_draft){.file = -1};
}

static bool rows_write(ep_draft *draft) {
  const char *from = (const char *)draft->buffer;
  size_t left = (size_t)draft->used * row_bytes(draft);
  if ((draft->rows + draft->used) * (int64_t)row_bytes(draft) > draft->bytes_most) return false;
  while (left > 0) {
    ssize_t written = write(draft->file, from, left);
    if (written <= 0) return false;
    from += written;
    left -= (size_t)written;
  }
  return true;
}

static void buffer_empty(ep_draft *draft) {
  if (draft->kept) draft->kept = rows_write(draft);
  draft->rows += draft->used;
  draft->used = 0;
}

void ep_draft_add(ep_draft *draft) {
  if (++draft->used == draft->capacity) buffer_empty(draft);
}

void ep_draft_reset(ep_draft *draft) {
  draft->rows = draft->used = 0;
  draft->kept = draft->file >= 0 && lseek(draft->file, 0, SEEK_SET) == 0;
}

/* What is not read again need not lie on the disk beside what is made of it. Not every file system
 * can do it, and nothing depends on it. */
static void bytes_forget(const ep_draft *draft, off_t first, off_t bytes) {
  if (first >= 0 && bytes > 0)
    fallocate(draft->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first, bytes);
}

void ep_draft_rewind(ep_draft *draft) {
  if (draft->kept) buffer_empty(draft);
  if (draft->kept) draft->kept = lseek(draft->file, 0, SEEK_SET) == 0;
  if (!draft->kept && draft->file >= 0) bytes_forget(draft, 0, lseek(draft->file, 0, SEEK_END));
  draft->used = draft->capacity; /* nothing is read yet */
}

const double *ep_draft_next(ep_draft *draft) {
  if (draft->used == draft->capacity) {
    char *to = (char *)draft->buffer;
    size_t wanted = (size_t)draft->capacity * row_bytes(draft), have = 0;
    ssize_t got = 1;
    for (; have < wanted && got > 0; have += got > 0 ? (size_t)got : 0)
      got = read(draft->file, to + have, wanted - have);
    if (got < 0 || have < row_bytes(draft)) return NULL;
    bytes_forget(draft, lseek(draft->file, 0, SEEK_CUR) - (off_t)have, (off_t)have);
    draft->used = 0;
  }
  return draft->buffer + draft->used++ * draft->columns;
}
