/* cost_fit.c: costs from samples: least squares of the relative error, each cost near its usual
 * proportion. */
#include <math.h>
#include <string.h>

#include "engine/plan/cost.h"

/* How much a cost that is twice the usual one (on this machine's scale) weighs against a sample
 * that is wrong by all of its time; and how far it may go. */
#define PULL 0.1
#define FACTOR_MOST 30.0
enum { ROUNDS = 400, SAMPLES_MOST = 1024 };
/* A sample of which the costs explain less was disturbed; how often they are fitted without. */
#define EXPLAINED_LEAST 0.8
enum { DISTURBED_ROUNDS = 3 };

/* Seconds that the usual cost of term k gives the sample, over those that it took. */
static double share(const ep_executor_cost *usual, const ep_cost_sample *sample, int k) {
  return usual->seconds[k] * sample->units[k] / sample->seconds;
}

static double predicted(const ep_executor_cost *usual, const ep_cost_sample *sample,
                        const double factors[EP_COST_TERMS]) {
  double sum = 0;
  for (int k = 0; k < EP_COST_TERMS; k++) sum += factors[k] * share(usual, sample, k);
  return sum;
}

/* values: [count], in order; one more. */
static void sorted_insert(double *values, int count, double value) {
  for (; count > 0 && values[count - 1] > value; count--) values[count] = values[count - 1];
  values[count] = value;
}

/* How much slower than usual the machine is: the middle one of the samples. */
static double scale_find(const ep_executor_cost *usual, const ep_cost_sample *samples, int count) {
  double ones[EP_COST_TERMS], scales[SAMPLES_MOST];
  for (int k = 0; k < EP_COST_TERMS; k++) ones[k] = 1;
  for (int i = 0; i < count; i++) {
    sorted_insert(scales, i, 1 / predicted(usual, &samples[i], ones));
  }
  return scales[count / 2];
}

/* The best factor of term k while the others stay. */
static double factor_best(const ep_executor_cost *usual, const ep_cost_sample *samples, int count,
                          const double factors[EP_COST_TERMS], int k, double scale) {
  double above = PULL / scale, below = PULL / (scale * scale);
  for (int i = 0; i < count; i++) {
    double own = share(usual, &samples[i], k);
    double rest = predicted(usual, &samples[i], factors) - factors[k] * own;
    above += own * (1 - rest);
    below += own * own;
  }
  return fmin(fmax(above / below, scale / FACTOR_MOST), scale * FACTOR_MOST);
}

static double mean_error(const ep_executor_cost *usual, const ep_cost_sample *samples, int count,
                         const double factors[EP_COST_TERMS]) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += fabs(predicted(usual, &samples[i], factors) - 1);
  return sum / count;
}

/* One that stood in the way of something else does not count. */
static void starts_find(const ep_cost_sample *samples, int count, ep_executor_cost *out) {
  double first[SAMPLES_MOST], again[SAMPLES_MOST];
  for (int i = 0; i < count; i++) sorted_insert(first, i, samples[i].start_seconds);
  for (int i = 0; i < count; i++) sorted_insert(again, i, samples[i].again_seconds);
  out->start_seconds = first[count / 2];
  out->again_seconds = again[count / 2];
}

void ep_cost_fit(const ep_executor_cost *usual, const ep_cost_sample *samples, int count,
                 ep_executor_cost *out) {
  double factors[EP_COST_TERMS];
  if (count > SAMPLES_MOST) count = SAMPLES_MOST;
  *out = *usual;
  out->measured = count;
  if (count == 0) return;
  double scale = scale_find(usual, samples, count);
  for (int k = 0; k < EP_COST_TERMS; k++) factors[k] = scale;
  for (int round = 0; round < ROUNDS; round++)
    for (int k = 0; k < EP_COST_TERMS; k++)
      factors[k] = factor_best(usual, samples, count, factors, k, scale);
  for (int k = 0; k < EP_COST_TERMS; k++) out->seconds[k] = usual->seconds[k] * factors[k];
  starts_find(samples, count, out);
  out->error = mean_error(usual, samples, count, factors);
}

/* Puts those that the costs explain to the front, and returns how many they are. */
static int samples_part(const ep_executor_cost *cost, ep_cost_sample *samples, int count) {
  int front = 0;
  for (int i = 0; i < count; i++) {
    double seconds = 0;
    for (int k = 0; k < EP_COST_TERMS; k++) seconds += cost->seconds[k] * samples[i].units[k];
    if (seconds < EXPLAINED_LEAST * samples[i].seconds) continue;
    ep_cost_sample calm = samples[i];
    samples[i] = samples[front];
    samples[front++] = calm;
  }
  return front;
}

void ep_cost_fit_disturbed(const ep_executor_cost *usual, ep_cost_sample *samples, int count,
                           ep_executor_cost *out) {
  ep_cost_fit(usual, samples, count, out);
  for (int round = 0, left = count; round < DISTURBED_ROUNDS; round++) {
    left = samples_part(out, samples, left);
    if (2 * left < count || left == 0) return;
    ep_cost_fit(usual, samples, left, out);
  }
}
