#include "engine/search/parzen.h"

#include <math.h>
#include <stdlib.h>

#include "engine/search/draws.h"

/* The prior: what is believed without any trial. */
static const double PRIOR_CENTER = 0.5, PRIOR_WIDTH = 1;

static const double PI = 3.14159265358979323846;

/* No kernel is narrower than 1 / this; of fewer trials, than 1 / (their number + 2). */
static const double NARROWEST = 100;

double ep_parzen_draw(ep_parzen_draws *draws) {
  return ep_search_draw(draws->seed, EP_DRAW_PARZEN, draws->number, draws->drawn++);
}

static int trials_compare(const void *a, const void *b) {
  const ep_parzen_trial *left = a, *right = b;
  if (left->value != right->value) return left->value < right->value ? -1 : 1;
  return (left->cell > right->cell) - (left->cell < right->cell);
}

static ep_parzen_kernel kernel_make(double center, double width, int count) {
  double scale = 1 / (width * sqrt(2));
  double within = (erf((1 - center) * scale) + erf(center * scale)) / 2;
  return (ep_parzen_kernel){center, width, 1 / ((count + 1) * width * within)};
}

/* As far as the farther of a trial's neighbours, among which are the prior and both ends; and no
 * narrower than some ("magic clip", as Hyperopt and Optuna have it), nor than half a cell. */
static double width_of(const ep_parzen_trial *trials, int count, int at) {
  double value = trials[at].value;
  double below = at > 0 ? trials[at - 1].value : 0;
  double above = at + 1 < count ? trials[at + 1].value : 1;
  if (value > PRIOR_CENTER) below = fmax(below, PRIOR_CENTER);
  if (value < PRIOR_CENTER) above = fmin(above, PRIOR_CENTER);
  double least = fmax(1 / fmin(NARROWEST, count + 2), trials[at].cell / 2);
  return fmin(fmax(fmax(value - below, above - value), least), PRIOR_WIDTH);
}

void ep_parzen_fit(ep_parzen *parzen, ep_parzen_trial *trials, int count) {
  parzen->categories = 0;
  parzen->count = count;
  qsort(trials, (size_t)count, sizeof *trials, trials_compare);
  for (int i = 0; i < count; i++)
    parzen->kernel[i] = kernel_make(trials[i].value, width_of(trials, count, i), count);
  parzen->kernel[count] = kernel_make(PRIOR_CENTER, PRIOR_WIDTH, count);
}

void ep_parzen_fit_list(ep_parzen *parzen, const ep_parzen_trial *trials, int count,
                        int64_t categories) {
  parzen->categories = categories;
  parzen->count = count;
  for (int i = 0; i < count; i++) parzen->kernel[i].center = trials[i].value;
}

double ep_parzen_density(const ep_parzen *parzen, double value) {
  double sum = 0;
  if (parzen->categories) { /* one more trial of each: Laplace's rule */
    for (int i = 0; i < parzen->count; i++) sum += parzen->kernel[i].center == value;
    return (sum + 1) / (double)(parzen->count + parzen->categories);
  }
  for (int i = 0; i <= parzen->count; i++) {
    const ep_parzen_kernel *kernel = &parzen->kernel[i];
    double z = (value - kernel->center) / kernel->width;
    if (z * z < 64) sum += kernel->height * exp(-z * z / 2); /* beyond, the prior is all */
  }
  return sum;
}

static double list_sample(const ep_parzen *parzen, ep_parzen_draws *draws) {
  double at = floor(ep_parzen_draw(draws) * (double)(parzen->count + parzen->categories));
  return at < parzen->count ? parzen->kernel[(int)at].center : at - parzen->count;
}

double ep_parzen_sample(const ep_parzen *parzen, ep_parzen_draws *draws) {
  if (parzen->categories) return list_sample(parzen, draws);
  const ep_parzen_kernel *kernel =
      &parzen->kernel[(int)(ep_parzen_draw(draws) * (parzen->count + 1))];
  for (;;) { /* a third at least lies within: centers do, and no width is above 1 */
    double radius = sqrt(-2 * log(1 - ep_parzen_draw(draws)));
    double value = kernel->center + kernel->width * radius * cos(2 * PI * ep_parzen_draw(draws));
    if (value >= 0 && value < 1) return value;
  }
}
