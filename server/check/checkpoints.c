/* The checkpoints of each job and the snapshots of its time-lapse, by the checksum that each has:
 * snapshots of older versions, which have none, by their form. */
#include <stdlib.h>

#include "engine/checkpoints/checkpoint.h"
#include "engine/checkpoints/list.h"
#include "engine/files/path.h"
#include "server/check/checkup.h"
#include "server/process/data_dir.h"

static ep_status checkpoint_check(const char *folder, int64_t step, ep_error *error) {
  char path[EP_PATH_BYTES];
  ep_status status = ep_checkpoint_path(folder, step, path, error);
  return status == EP_OK ? ep_checkpoint_check(path, error) : status;
}

/* A kind of file with a number in its name. */
typedef struct {
  const char *what;
  ep_status (*list)(const char *folder, int64_t **numbers, int64_t *count, ep_error *error);
  ep_status (*check)(const char *folder, int64_t number, ep_error *error);
} numbered;

static const numbered kinds[] = {
    {"the checkpoint of step", ep_checkpoints_list, checkpoint_check},
    {"the snapshot of epoch", ep_moments_list, ep_snapshot_check},
};

static void kind_check(ep_checkup *checkup, const char *id, const char *folder,
                       const numbered *kind) {
  int64_t *numbers = NULL, count = 0;
  ep_error error = {0};
  if (kind->list(folder, &numbers, &count, &error) != EP_OK)
    ep_checkup_fault(checkup, id, "%s", error.message);
  for (int64_t i = 0; i < count; i++)
    if (kind->check(folder, numbers[i], &error) != EP_OK)
      ep_checkup_fault(checkup, id, "%s %lld: %s", kind->what, (long long)numbers[i],
                       error.message);
  free(numbers);
}

static void checkpoints_check(ep_checkup *checkup, const ep_job_row *row) {
  char folder[EP_PATH_BYTES];
  if (ep_path_join(folder, NULL, checkup->data_dir, "jobs", row->id, NULL) != EP_OK ||
      !ep_data_dir_exists(folder))
    return; /* ep_check_jobs says so */
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    kind_check(checkup, row->id, folder, &kinds[i]);
}

ep_status ep_check_checkpoints(ep_checkup *checkup, ep_error *error) {
  return ep_checkup_rows(checkup, checkpoints_check, error);
}
