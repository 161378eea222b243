/* draws.h: the random numbers of a search. */
#ifndef EP_ENGINE_SEARCH_DRAWS_H
#define EP_ENGINE_SEARCH_DRAWS_H

#include "kernels/random.h"

/* What a draw is for. */
typedef enum {
  EP_DRAW_POINT, /* item: trial; index: axis */
  EP_DRAW_SHIFT, /* item: 0; index: axis */
  EP_DRAW_PARZEN /* item: training; index: one after another */
} ep_search_draws;

/* In [0, 1), 53 bits. */
static inline double ep_search_draw(uint64_t seed, ep_search_draws purpose, int64_t item,
                                    int64_t index) {
  ep_random4 words =
      ep_random(seed, EP_RANDOM_SEARCH, (uint64_t)item, (uint64_t)purpose << 32 | (uint64_t)index);
  return ep_random_double(words.word[0], words.word[1]);
}

#endif
