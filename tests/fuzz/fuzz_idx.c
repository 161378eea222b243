/* Any bytes as IDX, as a table and as x of its own. */
#include "engine/data/datasets/dataset.h"
#include "tests/fuzz/fuzz_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_format_idx.recognise(bytes, count);
  format_holds(&ep_format_idx, bytes, count, INT64_MAX);
  ep_dataset_meta meta = {0};
  ep_error error = {0};
  ep_ingest ingest = {
      .bytes = bytes, .size = count, .budget_bytes = INT64_MAX, .role = EP_ROLE_X, .meta = &meta};
  const ep_part *x = &meta.part[EP_SPLIT_TRAIN][EP_ROLE_X];
  if (ep_format_idx.read(&ingest, &error)) {
    FUZZ_HOLDS(error.message[0]);
  } else {
    int64_t product = 1;
    for (int i = 0; i < x->dimensions; i++) product *= x->shape[i];
    FUZZ_HOLDS(product == x->columns);
    part_holds(x);
  }
  ep_dataset_meta_deinit(&meta);
  return 0;
}
