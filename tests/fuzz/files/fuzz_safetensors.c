/* Any bytes as weights: refused with a reason, or tensors that tile the file. */
#include <string.h>

#include "engine/weights/safetensors.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_tensors tensors;
  ep_error error = {0};
  ep_status status = ep_tensors_read(bytes, count, &tensors, &error);
  if (status != EP_OK) {
    FUZZ_HOLDS(error.status == status && error.message[0] && !tensors.tensor && !tensors.note);
    FUZZ_HOLDS(status == EP_DATA || status == EP_TOO_LARGE);
    return 0;
  }
  const uint8_t *end = bytes + count;
  for (size_t i = tensors.tensors_count; i-- > 0;) {
    const ep_tensor *tensor = &tensors.tensor[i];
    FUZZ_HOLDS(tensor->bytes >= bytes + 8);
    size_t value_bytes = tensor->whole ? sizeof(int64_t) : sizeof(float);
    FUZZ_HOLDS(tensor->bytes + (size_t)tensor->values_count * value_bytes == end);
    FUZZ_HOLDS(tensor->dimensions >= 0 && tensor->dimensions <= EP_TENSOR_DIMENSIONS);
    FUZZ_HOLDS(ep_tensors_find(&tensors, tensor->name) == tensor);
    end = tensor->bytes;
  }
  for (size_t i = 0; i < tensors.notes_count; i++)
    FUZZ_HOLDS(ep_tensors_note(&tensors, tensors.note[i].key) == tensors.note[i].text);
  ep_tensors_close(&tensors);
  return 0;
}
