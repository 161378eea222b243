/* manifest.h: the file handover.bin: of which attempt a handover is, the hashes of its other files,
 * and what the attempt's worker had reported, as frames of progress (api/wire/frame.h): a
 * checkpoint is used only where all reports before it are in the job's log.
 *
 * A header of fixed size, the files, the frames; the header has the SHA-256 of all of it. */
#ifndef EP_ENGINE_HANDOVERS_MANIFEST_H
#define EP_ENGINE_HANDOVERS_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/names.h"
#include "api/status.h"

typedef struct {
  char name[128]; /* within the folder */
  char sha256[EP_SHA256_HEX_BYTES + 7];
} ep_handover_file;

typedef struct {
  char job[EP_ID_BYTES];
  int attempt;
  bool whole;              /* no report of the attempt is missing */
  int64_t epochs_logged;   /* that the job's log had when the attempt began */
  ep_handover_file *files; /* [files_count], owned */
  int files_count, files_capacity;
  uint8_t *frames; /* [frames_bytes], each a multiple of 8 bytes; owned */
  size_t frames_bytes, frames_capacity;
} ep_handover; /* starts as {0} but for the first four */

/* Adds a frame of the worker, header included, if it is a report of this job; the attempt in it
 * becomes the handover's. EP_TOO_LARGE: beyond EP_LIMIT_HANDOVER_FRAMES_BYTES. */
ep_status ep_handover_add_frame(ep_handover *handover, const uint8_t *frame, size_t bytes,
                                ep_error *error);
ep_status ep_handover_add_file(ep_handover *handover, const char *name, const char *sha256,
                               ep_error *error);

/* The frame at *at, which moves behind it; lent. NULL: there is none. */
const uint8_t *ep_handover_next_frame(const ep_handover *handover, size_t *at, size_t *bytes);
/* The first and the last epoch whose end is reported; 0 = none. */
void ep_handover_epochs(const ep_handover *handover, int64_t *first, int64_t *last);

/* Synced, mode 0600. */
ep_status ep_handover_write(const char *path, const ep_handover *handover, ep_error *error);
/* EP_DAMAGED: a byte of it has changed, or it is none; EP_UNSUPPORTED: of another version of
 * epochd; EP_NOT_FOUND. *out is the caller's: ep_handover_deinit. */
ep_status ep_handover_read(const char *path, ep_handover *out, ep_error *error);
/* The same of a file's bytes. path: what it is called where it is refused. */
ep_status ep_handover_parse(const uint8_t *bytes, size_t count, const char *path, ep_handover *out,
                            ep_error *error);
void ep_handover_deinit(ep_handover *handover);

#endif
