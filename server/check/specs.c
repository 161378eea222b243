/* spec.json of each job: what its row has, but for labels, which change in the row alone.
 */
#include <stdlib.h>
#include <string.h>

#include "api/spec/labels.h"
#include "engine/files/mapping.h"
#include "engine/files/path.h"
#include "server/check/checkup.h"

/* The spec with the same labels as all others; owned by the caller, NULL for what is no spec. */
static char *unlabelled(const char *bytes, size_t count) {
  char none[] = "[]", *out = NULL, *text = strndup(bytes, count);
  const ep_labels labels = {.has_name = true,
                            .has_tags = true,
                            .has_notes = true,
                            .has_priority = true,
                            .has_pinned = true,
                            .has_visibility = true,
                            .tags = none};
  if (text && ep_labels_apply(text, &labels, &out, NULL) != EP_OK) out = NULL;
  free(text);
  return out;
}

static bool spec_same(const ep_mapping *file, const char *spec) {
  char *first = unlabelled((const char *)file->bytes, file->size);
  char *second = unlabelled(spec, strlen(spec));
  bool same = first && second && strcmp(first, second) == 0;
  free(first);
  free(second);
  return same;
}

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
  const char last = file.size > 0 ? (char)file.bytes[file.size - 1] : 0;
  if ((last != '}' && last != '\n') || !spec_same(&file, row->spec))
    ep_checkup_fault(checkup, row->id, EP_SPEC_FILE " differs from the spec in the store");
  ep_mapping_close(&file);
}

ep_status ep_check_specs(ep_checkup *checkup, ep_error *error) {
  return ep_checkup_rows(checkup, spec_check, error);
}
