/* Any bytes as a file of weights: a model, or refused with a reason; the tensors are those of a
 * small network, or not. */
#include "engine/plan/plan.h"
#include "engine/weights/stored_model.h"
#include "engine/weights/weights.h"
#include "tests/fuzz/files/files.h"

static const char spec_text[] =
    "{\"data\": {\"generator\": \"xor\"}, \"loss\": \"bce_with_logits\", \"epochs\": 1, \"model\": "
    "{\"layers\": ["
    "{\"type\": \"linear\", \"out_features\": 2}, {\"type\": \"tanh\"}, {\"type\": \"linear\", "
    "\"out_features\": 1}]}}";

static const ep_plan *plan_get(void) {
  static ep_plan *plan;
  static const ep_data_shape shape = {
      .train_rows = 4, .features = 2, .target_columns = 1, .classes = 2, .target_max = 1};
  ep_problem problem = {0};
  ep_job_spec *spec;
  if (plan) return plan;
  FUZZ_HOLDS(ep_job_spec_parse(spec_text, sizeof spec_text - 1, &spec, &problem) == EP_OK);
  FUZZ_HOLDS(ep_plan_create(spec, &shape, &plan, &problem) == EP_OK);
  ep_job_spec_destroy(spec);
  return plan;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  static float state[1 << 10];
  ep_error error = {0};
  ep_stored_model model;
  fuzz_file_write("weights.safetensors", bytes, count);
  ep_status status = ep_stored_model_open(fuzz_path, &model, &error);
  if (status == EP_OK) status = ep_stored_model_plan(&model, true, &error);
  FUZZ_HOLDS(status == EP_OK || error.message[0]);
  ep_stored_model_close(&model);
  status = ep_weights_check(fuzz_path, plan_get(), &error);
  FUZZ_HOLDS(ep_weights_load_into(fuzz_path, plan_get(), state, &error) == status);
  return 0;
}
