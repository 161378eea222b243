/* trial_file.h: the results of a sweep, in the order of their numbers, each with its checksum. The
 * worker appends them; it goes on behind them after a death, and epochd reads the leaderboard from
 * them. */
#ifndef EP_ENGINE_TRIALS_TRIAL_FILE_H
#define EP_ENGINE_TRIALS_TRIAL_FILE_H

#include "api/names.h"
#include "api/wire/trial.h"

typedef struct {
  int file; /* -1 = closed */
  int64_t count;
} ep_trial_file;

/* Opens the file of a folder, or creates it, and cuts it at its first record that is not whole.
 * *records: those that it has, [file->count], the caller's (free). */
ep_status ep_trial_file_open(const char *folder, ep_trial_file *file, ep_trial_record **records,
                             ep_error *error);
/* records: [count], whose numbers go on where the file ends. */
ep_status ep_trial_file_append(ep_trial_file *file, const ep_trial_record *records, int64_t count,
                               ep_error *error);
ep_status ep_trial_file_sync(ep_trial_file *file, ep_error *error);
void ep_trial_file_close(ep_trial_file *file);

/* The whole records of a folder, at most `most`; none where there is no file. *records is the
 * caller's (free). */
ep_status ep_trial_file_read(const char *folder, int64_t most, ep_trial_record **records,
                             int64_t *count, ep_error *error);

/* How many records the file of a folder has, and how many are whole up to the first that is not.
 * What a death left of one more behind them counts as one: whoever trains on cuts it off. Both 0
 * where there is no file. */
ep_status ep_trial_file_check(const char *folder, int64_t *whole, int64_t *records,
                              ep_error *error);

#endif
