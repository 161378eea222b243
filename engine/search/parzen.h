/* parzen.h: the density of some trials along one axis: a Parzen estimator, which is a mixture of a
 * normal distribution around each, cut at the ends of [0, 1]; or smoothed counts where the axis is
 * a list. */
#ifndef EP_ENGINE_SEARCH_PARZEN_H
#define EP_ENGINE_SEARCH_PARZEN_H

#include <stdint.h>

enum { EP_PARZEN_TRIALS = 128 }; /* the most of one estimator; it bounds the time of a choice */

/* The random numbers of one training, one after another. */
typedef struct {
  uint64_t seed;
  int64_t number, drawn;
} ep_parzen_draws;

double ep_parzen_draw(ep_parzen_draws *draws); /* in [0, 1) */

/* Where a trial lies on the axis. */
typedef struct {
  double value; /* a fraction in [0, 1]; of a list the index */
  double cell;  /* the width of the fractions that give the same; 0: no others do */
} ep_parzen_trial;

/* A kernel: the normal distribution around a trial. */
typedef struct {
  double center, width; /* the width is the standard deviation */
  double height;        /* weight / (width * the part of the distribution within [0, 1]) */
} ep_parzen_kernel;

typedef struct {
  int64_t categories; /* of a list; 0: the axis is a range */
  int count;          /* trials */
  /* [count + 1]: ascending; the last is the prior, which is broad. Of a list: the centers alone,
   * in any order. */
  ep_parzen_kernel kernel[EP_PARZEN_TRIALS + 1];
} ep_parzen;

/* trials: [count], at most EP_PARZEN_TRIALS. They get sorted. */
void ep_parzen_fit(ep_parzen *parzen, ep_parzen_trial *trials, int count);

/* trials: [count], of a list of so many categories. */
void ep_parzen_fit_list(ep_parzen *parzen, const ep_parzen_trial *trials, int count,
                        int64_t categories);

/* Above 0, up to a factor that is the same for all estimators of an axis. */
double ep_parzen_density(const ep_parzen *parzen, double value);

/* A value of this density. */
double ep_parzen_sample(const ep_parzen *parzen, ep_parzen_draws *draws);

#endif
