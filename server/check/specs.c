/* spec.json of each job: the bytes that its row has. */
#include <string.h>

#include "engine/files/mapping.h"
#include "engine/files/path.h"
#include "server/check/checkup.h"

static void spec_check(ep_checkup *checkup, const ep_job_row *row) {
  char path[EP_PATH_BYTES];
  ep_mapping file = {0};
  ep_error error = {0};
  ep_status status = ep_checkup_path(checkup, row->id, EP_SPEC_FILE, path, &error);
  if (status == EP_OK) status = ep_mapping_open(path, &file, &error);
  if (status != EP_OK) {
    ep_checkup_fault(checkup, row->id, "%s", error.message);
    return;
  }
  if (file.size != strlen(row->spec) || memcmp(file.bytes, row->spec, file.size) != 0)
    ep_checkup_fault(checkup, row->id, EP_SPEC_FILE " is not the spec that the store has");
  ep_mapping_close(&file);
}

ep_status ep_check_specs(ep_checkup *checkup, ep_error *error) {
  return ep_checkup_rows(checkup, spec_check, error);
}
