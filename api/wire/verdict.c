#include "api/wire/verdict.h"

#include <stdio.h>

enum { ROWS_MIN = 10 };

/* Rows of the commonest class, and in how many classes predictions fall. */
static int64_t commonest_find(const ep_split_metrics *metrics, int *predicted) {
  int64_t most = 0;
  *predicted = 0;
  for (int i = 0; i < metrics->classes; i++) {
    int64_t truths = 0, guesses = 0;
    for (int j = 0; j < metrics->classes; j++) {
      truths += metrics->confusion[(size_t)i * (size_t)metrics->classes + (size_t)j];
      guesses += metrics->confusion[(size_t)j * (size_t)metrics->classes + (size_t)i];
    }
    *predicted += guesses > 0;
    if (truths > most) most = truths;
  }
  return most;
}

static void classes_judge(const ep_split_metrics *metrics, const char *split,
                          char out[EP_MESSAGE_BYTES]) {
  int predicted;
  int64_t most = commonest_find(metrics, &predicted);
  double baseline = (double)most / (double)metrics->rows;
  if (most == metrics->rows) return; /* there is one class */
  if (predicted == 1)
    snprintf(out, EP_MESSAGE_BYTES,
             "the network says the same class of all %lld %s rows: it has learnt nothing of the "
             "columns",
             (long long)metrics->rows, split);
  else if (metrics->accuracy <= baseline)
    snprintf(out, EP_MESSAGE_BYTES,
             "of the %s rows %.3g are right; the commonest class alone would be right in %.3g",
             split, metrics->accuracy, baseline);
}

void ep_result_verdict(const ep_job_result *result, char out[EP_MESSAGE_BYTES]) {
  const struct {
    const ep_split_metrics *metrics;
    const char *name;
  } splits[] = {
      {&result->test, "test"}, {&result->validation, "validation"}, {&result->train, "training"}};
  int i = 0;
  out[0] = 0;
  while (i < 2 && splits[i].metrics->rows == 0) i++;
  const ep_split_metrics *metrics = splits[i].metrics;
  if (metrics->rows < ROWS_MIN) return;
  if (metrics->classes > 0 && metrics->confusion)
    classes_judge(metrics, splits[i].name, out);
  else if (metrics->r2 <= 0)
    snprintf(out, EP_MESSAGE_BYTES,
             "r2 of the %s rows is %.3g: the mean of the targets would predict them as well",
             splits[i].name, metrics->r2);
}
