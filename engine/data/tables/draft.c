#include "engine/data/tables/draft.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/files/temporary_file.h"

enum { BUFFER_BYTES = 1 << 18 };

static int64_t row_bytes(const ep_draft *draft) {
  return draft->columns * (int64_t)sizeof *draft->row;
}

ep_status ep_draft_open(const char *folder, int64_t columns, int64_t bytes_most, ep_draft *out,
                        ep_error *error) {
  int file;
  *out = (ep_draft){.columns = columns, .bytes_most = bytes_most};
  out->row = malloc((size_t)row_bytes(out) + BUFFER_BYTES);
  if (!out->row) return ep_fail_memory(error);
  if (!folder || ep_temporary_file_create(folder, &file, NULL) != EP_OK) return EP_OK;
  out->file = fdopen(file, "w+");
  if (!out->file) close(file);
  if (out->file) setvbuf(out->file, (char *)(out->row + columns), _IOFBF, BUFFER_BYTES);
  out->kept = out->file != NULL;
  return EP_OK;
}

void ep_draft_close(ep_draft *draft) {
  if (draft->file) fclose(draft->file);
  free(draft->row);
  *draft = (ep_draft){0};
}

void ep_draft_add(ep_draft *draft) {
  size_t columns = (size_t)draft->columns;
  draft->kept = draft->kept && ++draft->rows * row_bytes(draft) <= draft->bytes_most &&
                fwrite(draft->row, sizeof *draft->row, columns, draft->file) == columns;
}

void ep_draft_reset(ep_draft *draft) {
  draft->rows = draft->read = 0;
  draft->kept = draft->file && fseeko(draft->file, 0, SEEK_SET) == 0;
}

/* What is not read again need not lie on the disk beside what is made of it. Not every file system
 * can do it, and nothing depends on it. */
static void bytes_forget(const ep_draft *draft, int64_t bytes) {
  fallocate(fileno(draft->file), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, bytes);
}

void ep_draft_rewind(ep_draft *draft) {
  draft->kept = draft->kept && fseeko(draft->file, 0, SEEK_SET) == 0;
  if (!draft->kept && draft->file) bytes_forget(draft, draft->rows * row_bytes(draft));
}

const double *ep_draft_next(ep_draft *draft) {
  size_t columns = (size_t)draft->columns;
  int64_t before = draft->read++ * row_bytes(draft), after = draft->read * row_bytes(draft);
  if (fread(draft->row, sizeof *draft->row, columns, draft->file) != columns) return NULL;
  if (before / BUFFER_BYTES != after / BUFFER_BYTES) bytes_forget(draft, before);
  return draft->row;
}
