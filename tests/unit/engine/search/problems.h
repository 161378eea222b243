/* problems.h: functions to minimize, for searches that learn. */
#ifndef EP_TEST_ENGINE_SEARCH_PROBLEMS_H
#define EP_TEST_ENGINE_SEARCH_PROBLEMS_H

#include "engine/search/search.h"

enum { PROBLEM_AXES = 8 };

typedef struct {
  const char *name;
  double (*loss)(const double *point);
  double least; /* the loss of the best point */
  int axes_count;
  ep_axis axes[PROBLEM_AXES];
} search_problem;

extern const search_problem search_problems[];
extern const int search_problems_count;

#endif
