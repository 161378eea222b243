/* Any bytes as the body of a PATCH, of a job and of a dataset: refused with a reason, or laid over
 * a stored spec, which is a job as before. What a dataset's PATCH takes, a job's does too. */
#include <string.h>

#include "api/spec/labels.h"
#include "api/spec/spec.h"
#include "tests/fuzz/fuzz.h"

static const char stored[] = "{\"name\":\"a\",\"tags\":[\"b\"],\"priority\":0,\"pinned\":false,"
                             "\"data\":{\"generator\":\"xor\"},"
                             "\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]},"
                             "\"loss\":\"mse\",\"epochs\":1}";

static void labels_apply(const ep_labels *labels) {
  ep_problem problem = {0};
  ep_job_spec *spec;
  char *text = NULL;
  FUZZ_HOLDS(ep_labels_apply(stored, labels, &text, NULL) == EP_OK);
  FUZZ_HOLDS(ep_job_spec_parse(text, strlen(text), &spec, &problem) == EP_OK);
  FUZZ_HOLDS(!labels->has_name || strcmp(spec->name, labels->name) == 0);
  FUZZ_HOLDS(!labels->has_priority || spec->priority == labels->priority);
  FUZZ_HOLDS(!labels->has_pinned || spec->pinned == labels->pinned);
  FUZZ_HOLDS(!labels->has_visibility || spec->private == labels->private);
  ep_job_spec_destroy(spec);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_problem problem = {0}, refused = {0};
  ep_labels labels, visibility;
  ep_status status = ep_labels_parse((const char *)bytes, count, &labels, &problem);
  ep_status of_data = ep_visibility_patch_parse((const char *)bytes, count, &visibility, &refused);
  FUZZ_HOLDS((status == EP_OK) == (problem.status == EP_OK) && problem.status == status);
  FUZZ_HOLDS(refused.status == of_data);
  if (of_data == EP_OK) {
    FUZZ_HOLDS(status == EP_OK && labels.has_visibility == visibility.has_visibility);
    FUZZ_HOLDS(labels.private == visibility.private && !visibility.tags && !visibility.has_name);
  }
  if (status == EP_OK) labels_apply(&labels);
  ep_labels_deinit(&labels);
  ep_labels_deinit(&visibility);
  return 0;
}
