#include "engine/worker/relay/handing_over.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/handovers/handover.h"

ep_status ep_relay_hand_over(const ep_relay_folder *folder, const ep_held *held, int attempt,
                             int64_t epochs_logged, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_handover handover = {
      .attempt = attempt, .whole = held->has_all, .epochs_logged = epochs_logged};
  memcpy(handover.job, folder->job, sizeof handover.job);
  ep_status status = ep_path_join(path, error, folder->path, "jobs", folder->job, NULL);
  for (uint64_t i = held->job_first; status == EP_OK && i <= ep_held_last(held); i++) {
    const ep_held_frame *frame = ep_held_find(held, i);
    if (frame) status = ep_handover_add_frame(&handover, frame->bytes, frame->count, error);
  }
  if (status == EP_OK) status = ep_handover_leave(folder->shared, path, &handover, error);
  ep_handover_deinit(&handover);
  return status;
}

/* The attempt in the frames becomes this one. */
static ep_status frames_hold(const ep_handover *from, ep_held *held, const ep_command *train,
                             ep_error *error) {
  ep_handover own = {.attempt = train->attempt};
  const uint8_t *bytes;
  size_t count = 0;
  ep_status status = EP_OK;
  memcpy(own.job, train->job, sizeof own.job);
  for (size_t at = 0; status == EP_OK && (bytes = ep_handover_next_frame(from, &at, &count));)
    status = ep_handover_add_frame(&own, bytes, count, error);
  for (size_t at = 0; status == EP_OK && (bytes = ep_handover_next_frame(&own, &at, &count));) {
    ep_held_frame frame = {.bytes = malloc(count), .count = count};
    if (!frame.bytes) {
      status = ep_fail_memory(error);
      break;
    }
    memcpy(frame.bytes, bytes, count);
    status = ep_held_add(held, &frame, error);
    if (status != EP_OK) free(frame.bytes);
  }
  ep_handover_deinit(&own);
  return status;
}

/* A first start is not logged before the worker says that it has begun: no report may come before.
 */
ep_status ep_relay_take_over(const ep_relay_folder *folder, ep_held *held, ep_command *train,
                             bool *changed, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_handover from;
  int64_t first, last;
  *changed = false;
  ep_status status =
      ep_path_join(path, error, folder->path, "jobs", train->job, EP_HANDOVER_FILE, NULL);
  if (status != EP_OK) return status;
  if (!train->executor[0] || ep_handover_read(path, &from, NULL) != EP_OK)
    return EP_OK; /* the job goes on from what is in its log */
  ep_handover_epochs(&from, &first, &last);
  if (strcmp(from.job, train->job) == 0 && last > train->epochs_logged) {
    status = frames_hold(&from, held, train, error);
    train->epochs_logged = last;
    *changed = true;
  }
  ep_handover_deinit(&from);
  unlink(path);
  return status;
}
