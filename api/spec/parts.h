/* parts.h: how often the same fields are trained: once for each fold of the rows and each seed. Of
 * a job and of a sweep. */
#ifndef EP_API_SPEC_PARTS_H
#define EP_API_SPEC_PARTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint64_t *seeds; /* [repeats]; NULL where they are the job's seed and those after it; owned */
  int repeats;     /* 1 unless given */
  int folds;       /* 0 = none */
  bool stratify;   /* the folds keep the share of each class */
} ep_parts_spec;

/* Folds times repeats. */
int ep_parts_count(const ep_parts_spec *parts);
void ep_parts_deinit(ep_parts_spec *parts);

#endif
