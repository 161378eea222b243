/* cases_graphs.h: the cases of cases.c whose values are read by several ops, or by one that is not
 * the next. Private to it. */
#ifndef EP_TESTS_KERNELS_CASES_GRAPHS_H
#define EP_TESTS_KERNELS_CASES_GRAPHS_H

#include "tests/unit/kernels/programs.h"

enum { EP_CASE_GRAPHS = 25 };
ep_case *ep_case_create_graph(int number);

#endif
