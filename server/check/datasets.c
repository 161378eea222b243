/* Names of datasets against the folders of their contents. */
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/meta.h"
#include "server/check/checkup.h"
#include "server/process/data_dir.h"

static void name_check(ep_checkup *checkup, const ep_dataset_row *row) {
  char path[EP_PATH_BYTES];
  ep_dataset_meta meta = {0};
  ep_error error = {0};
  ep_status status = ep_path_join(path, &error, checkup->data_dir, "datasets", row->sha256, NULL);
  if (status == EP_OK) status = ep_dataset_meta_read(path, &meta, &error);
  if (status != EP_OK)
    ep_checkup_fault(checkup, row->name, "%s", error.message);
  else if (strcmp(meta.sha256, row->sha256) != 0)
    ep_checkup_fault(checkup, row->name, "the folder of content %s is that of %s", row->sha256,
                     meta.sha256);
  if (status == EP_OK) ep_dataset_meta_deinit(&meta);
}

ep_status ep_check_datasets(ep_checkup *checkup, ep_error *error) {
  ep_dataset_row *rows = NULL;
  int64_t count = 0;
  ep_status status = ep_store_dataset_list(checkup->store, NULL, &rows, &count, error);
  for (int64_t i = 0; i < count; i++) name_check(checkup, &rows[i]);
  free(rows);
  return status;
}
