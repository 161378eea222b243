/* handover.h: what a relay that cannot reach epochd leaves of its job in the shared folder, for the
 * job's next attempt:
 *
 *   SHARED/handovers/<job>-<attempt>/   mode 0700, there whole or not at all; its files 0600
 *     handover.bin                      manifest.h
 *     checkpoint-<step>.safetensors, moment-<epoch>.safetensors, trials.bin
 *
 * The relay leaves it, epochd's gateway takes it up when the job starts again. */
#ifndef EP_ENGINE_HANDOVERS_HANDOVER_H
#define EP_ENGINE_HANDOVERS_HANDOVER_H

#include "engine/files/file_copy.h"
#include "engine/handovers/manifest.h"

/* Leaves what is in the job's folder, with the frames of `handover`, whose files are listed. One of
 * the same attempt is replaced. */
ep_status ep_handover_leave(const char *shared, const char *job_folder, ep_handover *handover,
                            ep_error *error);

/* An attempt of a job that is about to begin. Lent. */
typedef struct {
  const char *shared, *job_folder;
  const char *job;
  int attempt;
  int64_t epochs_logged;
  const ep_file_moves *moves; /* told while files are copied; NULL = nobody */
} ep_handover_start;

/* Puts what earlier attempts left into the job's folder, if it goes beyond what is there, and
 * removes all that they left; where the disk refused, it stays for the next attempt. *step: of the
 * newest checkpoint that was taken up, 0 = of none; -1: nothing was. A failure leaves the job's
 * folder as good as it was. EP_DAMAGED, EP_UNSUPPORTED, EP_FORBIDDEN (it can be written by others)
 * name the reason. */
ep_status ep_handover_take(const ep_handover_start *start, int64_t *step, ep_error *error);

/* Removes handovers of jobs that are not in `jobs_folder`, those that are older than
 * EP_LIMIT_HANDOVER_SECONDS, and what a relay did not end. */
void ep_handovers_trim(const char *shared, const char *jobs_folder);

#endif
