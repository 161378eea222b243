/* Any bytes as rows to predict: refused with a reason, or numbers in a whole matrix. */
#include <math.h>

#include "api/responses/predict.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  double *x;
  int64_t rows, columns;
  ep_threshold threshold;
  ep_problem problem = {0};
  ep_status status =
      ep_predict_parse((const char *)bytes, count, &x, &rows, &columns, &threshold, &problem);
  FUZZ_HOLDS((status == EP_OK) == (x != NULL));
  if (!x) {
    FUZZ_HOLDS(problem.status == status && problem.detail[0] && rows == 0 && columns == 0);
    return 0;
  }
  FUZZ_HOLDS(threshold.kind != EP_THRESHOLD_NUMBER ||
             (threshold.probability >= 0 && threshold.probability <= 1));
  FUZZ_HOLDS(rows > 0 && columns > 0 && rows <= EP_LIMIT_PREDICT_ROWS);
  for (int64_t i = 0; i < rows * columns; i++) FUZZ_HOLDS(isfinite(x[i]));
  for (int loss = 0; loss < EP_LOSS_COUNT; loss++) {
    const ep_output_meaning meaning = {.loss = (ep_loss_type)loss};
    char *answer = ep_predict_format("job_1", &meaning, NULL, NULL, NULL, NULL, x, rows, columns);
    FUZZ_HOLDS(answer);
    free(answer);
  }
  free(x);
  return 0;
}
