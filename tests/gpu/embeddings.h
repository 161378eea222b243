/* embeddings.h: programs that begin with a table of words, few to many, and look up few to many of
 * them in a batch. */
#ifndef EP_TESTS_GPU_EMBEDDINGS_H
#define EP_TESTS_GPU_EMBEDDINGS_H

#include "tests/unit/kernels/programs.h"

int ep_embeddings_case_count(void);
ep_case *ep_embeddings_case_create(int number); /* the caller destroys it */

#endif
