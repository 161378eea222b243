/* Any bytes as meta.json of a dataset: refused with a reason, or written as an answer. */
#include "api/json/json.h"
#include "engine/data/datasets/meta.h"
#include "tests/fuzz/files/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_dataset_meta meta;
  ep_error error = {0};
  fuzz_file_write("meta.json", bytes, count);
  ep_status status = ep_dataset_meta_read(fuzz_folder, &meta, &error);
  if (status != EP_OK) {
    FUZZ_HOLDS(error.status == status && error.message[0]);
    return 0;
  }
  char *answer = ep_dataset_meta_format(&meta, "a", "", 0, false);
  json_t *object;
  FUZZ_HOLDS(answer && ep_json_load(answer, strlen(answer), 1 << 24, &object, NULL) == EP_OK);
  json_decref(object);
  free(answer);
  ep_dataset_meta_deinit(&meta);
  return 0;
}
