/* golden.h: trainings by PyTorch (make.py), read from data/ and replayed on an executor. Needs no
 * libcheck. */
#ifndef EP_TESTS_GOLDEN_GOLDEN_H
#define EP_TESTS_GOLDEN_GOLDEN_H

#include <stdio.h>

#include "tests/unit/kernels/compare.h"

typedef struct {
  ep_case *test;   /* the program, first weights and data; the test split is the training set */
  float *loss;     /* [steps] */
  float *trained;  /* [parameters + buffers] */
  float *output;   /* [rows, out_features], of the trained network */
  int64_t *errors; /* [steps] */
  /* How far a loss, a parameter or an output may be from PyTorch's, relative to the greater of
   * itself and the root mean square of its kind. */
  double tolerance;
  ep_parameter_group *groups; /* the program's */
  float *class_weights;       /* the program's, or NULL */
} ep_golden;

typedef struct {
  ep_golden *rows; /* [count], by name */
  int count;
} ep_goldens;

/* Reads every *.json of a folder, but for the schedules. False, with a line on `log`, when one
 * cannot be read or there is none. ep_goldens_deinit afterwards, also after a failure. */
bool ep_goldens_load(const char *folder, ep_goldens *out, FILE *log);
void ep_goldens_deinit(ep_goldens *goldens);

/* Whether each layer, loss and optimizer of the vocabulary, and each option of them, has a golden
 * on the full batch and one on mini-batches; each without one is named on `log`. */
bool ep_goldens_cover(const ep_goldens *goldens, FILE *log);

/* Whether each schedule of the vocabulary has its learning rates in the folder. */
bool ep_golden_schedules_cover(const char *folder, FILE *log);

/* EP_OK when the executor repeats it within its tolerance; *worst (if any) is the largest
 * difference. EP_UNSUPPORTED when the executor does not take the program. Else the
 * differences go to `log`. */
ep_status ep_golden_replay(const ep_subject *subject, const ep_golden *golden, double *worst,
                           FILE *log);

/* Whether a replay notices a wrong loss, parameter, output or error, and a NaN, of one golden. */
bool ep_golden_canary(const ep_subject *subject, ep_golden *golden, FILE *log);

#endif
