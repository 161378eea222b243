/* compare.h: compares one executor with another on the cases of programs.h. For C and C++, without
 * libcheck: the functions return a status and print the differences.
 *
 * Every array that an executor writes lies between sentinels and starts as NaN, so that a write
 * outside it or a number left out shows. NaN is looked for first. */
#ifndef EP_TESTS_KERNELS_COMPARE_H
#define EP_TESTS_KERNELS_COMPARE_H

#include <stdio.h>

#include "tests/unit/kernels/programs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two correct executors differ by less, in single precision; a wrong formula by far more. */
#define EP_COMPARE_TOLERANCE 1e-4

/* An array of `count` words of 4 bytes between sentinels, poisoned with NaN; the caller destroys it
 * (NULL is fine). intact: false, with a line on `log`, when a sentinel was overwritten. */
void *ep_guarded_create(int64_t count);
void ep_guarded_destroy(void *array);
bool ep_guarded_intact(const void *array, int64_t count, const char *what, FILE *log);

/* The executor under test. executor NULL: the backend's own choice. */
typedef struct {
  const ep_backend_ops *ops;
  ep_backend *backend;
  const char *executor;
} ep_subject;

/* All results of a case. */
typedef struct {
  int64_t steps, parameters /* and buffers */, optimizer_floats, outputs;
  float *loss;      /* [steps] */
  int32_t *errors;  /* [steps] */
  float *trained;   /* [parameters] */
  float *optimizer; /* [optimizer_floats] */
  float *output;    /* [outputs]: test rows x out_features */
  double split_loss[EP_SPLIT_COUNT];
  int64_t split_errors[EP_SPLIT_COUNT];
} ep_run;

/* How the steps are cut into segments. Both must give the same bits. */
typedef enum {
  EP_RUN_WHOLE, /* one segment, one learning rate where one is enough */
  EP_RUN_CUT /* segments of 1, 2, 3, … steps; half-way a snapshot, then all the rest, rolled back
                and done again; the state is exported and imported between segments */
} ep_run_mode;

/* The largest difference of two arrays, in units of max(|expected|, its root mean square, scale).
 * INFINITY when one has a NaN or an infinity where the other has not. */
double ep_compare_floats(const float *actual, const float *expected, int64_t count, double scale);

/* Trains, evaluates and predicts. EP_UNSUPPORTED when the executor does not take the program;
 * EP_INTERNAL, with a line on `log`, when a sentinel was overwritten. Fills *out in all cases;
 * ep_run_deinit afterwards. */
ep_status ep_run_case(const ep_subject *subject, const ep_case *test, ep_run_mode mode, ep_run *out,
                      FILE *log);
void ep_run_deinit(ep_run *run);

/* Whether two runs of a case agree within `tolerance`, misclassified targets exactly (beyond
 * EP_COMPARE_TOLERANCE: but for that share of them, and one); *worst (if any) becomes the largest
 * difference. The differences go to `log`. */
bool ep_runs_agree(const ep_case *test, const ep_run *actual, const ep_run *expected,
                   double tolerance, double *worst, FILE *log);
/* What a case may differ by that amplifies rounding: what the executor makes of first weights that
 * are off by `rounding`, times `factor`, at least `least`. INFINITY where it does not run. */
double ep_case_tolerance(const ep_subject *reference, const ep_case *test, float rounding,
                         double factor, double least, FILE *log);
/* Whether they are the same to the last bit. */
bool ep_runs_same(const ep_case *test, const ep_run *actual, const ep_run *expected, FILE *log);

typedef struct {
  int agreed, unsupported, failed;
  double worst; /* the largest difference of those that agreed */
  char worst_name[128];
} ep_comparison;

/* One case: subject (whole) against reference (whole) within tolerance, subject (cut) against
 * subject (whole) bit for bit. Adds to *out. */
void ep_compare_case(const ep_subject *subject, const ep_subject *reference, const ep_case *test,
                     double tolerance, ep_comparison *out, FILE *log);

/* All cases of programs.h. */
ep_comparison ep_compare_all(const ep_subject *subject, const ep_subject *reference,
                             double tolerance, FILE *log);

/* Whether the comparison can fail: it must notice a NaN, a number off by ten tolerances, a
 * miscounted error, a write outside an array, a changed bit, and a 1 % smaller learning rate. */
bool ep_compare_canary(const ep_subject *subject, FILE *log);

/* Whether the errors of every loss of classes follow ep_argmax_precedes (kernels/formulas/losses.h)
 * where outputs are NaN or equal. EP_UNSUPPORTED when the executor takes no such program. */
ep_status ep_compare_argmax(const ep_subject *subject, FILE *log);

#ifdef __cplusplus
}
#endif
#endif
