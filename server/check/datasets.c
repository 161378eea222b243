/* Names of datasets against the folders of their contents, and what lies there against its
 * checksums. */
#include <stdlib.h>
#include <string.h>

#include "engine/data/datasets/meta.h"
#include "engine/data/datasets/verify.h"
#include "server/check/checkup.h"
#include "server/process/data_dir.h"

static void name_check(ep_checkup *checkup, void *context, int64_t number) {
  const ep_dataset_row *row = &((const ep_dataset_row *)context)[number];
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

/* A content is checked once, whoever needs it: names, or jobs alone. */
static void content_check(ep_checkup *checkup, void *context, int64_t number) {
  const char *name = ((const ep_checkup_names *)context)->name[number];
  char path[EP_PATH_BYTES];
  ep_error error = {0};
  if (strlen(name) != EP_SHA256_HEX_BYTES - 1) return; /* a start tidies these away */
  ep_status status = ep_path_join(path, &error, checkup->data_dir, "datasets", name, NULL);
  if (status == EP_OK) status = ep_dataset_verify(path, NULL, NULL, NULL, &error);
  if (status != EP_OK) ep_checkup_fault(checkup, "datasets", "%s", error.message);
}

ep_status ep_check_datasets(ep_checkup *checkup, ep_error *error) {
  ep_checkup_names contents;
  ep_dataset_row *rows = NULL;
  int64_t count = 0;
  ep_status status = ep_store_dataset_list(checkup->store, NULL, &rows, &count, error);
  ep_checkup_each(checkup, count, name_check, rows);
  free(rows);
  if (status != EP_OK) return status;
  status = ep_checkup_names_list(checkup, "datasets", &contents, error);
  if (status == EP_OK) ep_checkup_each(checkup, (int64_t)contents.count, content_check, &contents);
  ep_checkup_names_deinit(&contents);
  return status;
}
