/* The results of each sweep that has ended, and of each job's folds and repeats: every record is
 * right. */
#include <string.h>

#include "engine/files/path.h"
#include "engine/trials/trial_file.h"
#include "server/check/checkup.h"

/* One that has not ended cuts what is not whole, and trains it again. */
static void trials_check(ep_checkup *checkup, const ep_job_row *row) {
  char folder[EP_PATH_BYTES];
  int64_t whole = 0, records = 0;
  ep_error error = {0};
  if (!ep_state_has_ended(row->state)) return;
  ep_status status = ep_path_join(folder, &error, checkup->data_dir, "jobs", row->id, NULL);
  if (status == EP_OK) status = ep_trial_file_check(folder, &whole, &records, &error);
  bool has_some = row->state == EP_STATE_SUCCEEDED &&
                  strncmp(row->id, EP_SWEEP_PREFIX, EP_ID_PREFIX_BYTES) == 0;
  if (status == EP_OK && records == 0 && has_some)
    ep_checkup_fault(checkup, row->id, EP_TRIALS_FILE " is missing, or has no records");
  if (status != EP_OK)
    ep_checkup_fault(checkup, row->id, "%s", error.message);
  else if (whole < records)
    ep_checkup_fault(checkup, row->id, EP_TRIALS_FILE " is damaged after record %lld of %lld",
                     (long long)whole, (long long)records);
}

ep_status ep_check_trials(ep_checkup *checkup, ep_error *error) {
  return ep_checkup_rows(checkup, trials_check, error);
}
