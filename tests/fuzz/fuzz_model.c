/* Any bytes as what publishes a model, and as a threshold and a cost of a query: refused with a
 * reason, or numbers within their ranges. */
#include <math.h>
#include <string.h>

#include "api/responses/model.h"
#include "tests/fuzz/fuzz.h"

static void threshold_holds(const ep_threshold *threshold) {
  FUZZ_HOLDS(threshold->kind <= EP_THRESHOLD_COST);
  if (threshold->kind == EP_THRESHOLD_NUMBER)
    FUZZ_HOLDS(threshold->probability >= 0 && threshold->probability <= 1);
  if (threshold->kind == EP_THRESHOLD_COST)
    FUZZ_HOLDS(threshold->cost_fp >= 0 && threshold->cost_fn >= 0 &&
               isfinite(threshold->cost_fp + threshold->cost_fn));
}

static void query_holds(const char *text) {
  ep_threshold threshold;
  ep_error error = {0};
  double fp, fn;
  if (ep_threshold_parse(text, &threshold, &error) == EP_OK)
    threshold_holds(&threshold);
  else
    FUZZ_HOLDS(error.message[0]);
  if (ep_cost_parse(text, &fp, &fn, &error) == EP_OK)
    FUZZ_HOLDS(isfinite(fp) && isfinite(fn) && fp >= 0 && fn >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  ep_model_request request;
  ep_problem problem = {0};
  ep_status status = ep_model_request_parse((const char *)bytes, count, &request, &problem);
  FUZZ_HOLDS(problem.status == status);
  if (status == EP_OK) {
    FUZZ_HOLDS(memchr(request.job, 0, sizeof request.job));
    threshold_holds(&request.threshold);
  } else {
    FUZZ_HOLDS(problem.detail[0]);
  }
  char *text = malloc(count + 1);
  FUZZ_HOLDS(text);
  memcpy(text, bytes, count);
  text[count] = 0;
  query_holds(text);
  free(text);
  return 0;
}
