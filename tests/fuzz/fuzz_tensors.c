/* Any bytes as a safetensors file that was uploaded: data, or weights, but never both. */
#include "engine/data/datasets/dataset.h"
#include "tests/fuzz/fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_dataset_meta meta = {0};
  ep_error error = {0};
  ep_format_safetensors.recognise(bytes, count);
  ep_ingest ingest = {.bytes = bytes, .size = count, .budget_bytes = 1 << 20, .meta = &meta};
  ep_status status = ep_format_safetensors.read(&ingest, &error);
  FUZZ_HOLDS(ingest.budget_bytes >= 0);
  if (status != EP_OK) {
    FUZZ_HOLDS(error.status == status && error.message[0]);
    FUZZ_HOLDS(ep_utf8_valid(error.message, strlen(error.message)));
  } else {
    const ep_part *train = meta.part[EP_SPLIT_TRAIN];
    FUZZ_HOLDS(train[EP_ROLE_X].rows == train[EP_ROLE_Y].rows);
    FUZZ_HOLDS((meta.tensors > 0) != (train[EP_ROLE_X].rows > 0));
    for (int role = EP_ROLE_X; role <= EP_ROLE_Y; role++)
      if (train[role].rows > 0) part_holds(&train[role]);
  }
  ep_dataset_meta_deinit(&meta);
  return 0;
}
