/* dropout.h: dropout on one chunk. The mask's elements are numbered row by row (kernels/program.h),
 * four a call of Philox. Here a lane is a row, so a call of a vector gives four features of as many
 * rows; where the features are no multiple of four, rows begin inside a call's four.
 *
 * The mask is not stored apart: of an element that is not kept the output is -0, and no other
 * output is. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_DROPOUT_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_DROPOUT_H

#include "kernels/cpu/executors/fused/fused.h"
#include "kernels/cpu/runtime/philox.h"
#include "kernels/formulas/dropout.h"

typedef struct {
  int64_t features, vectors, stride;
  uint64_t seed;
  int64_t step, first_row;
  const ep_op *op;
} dropout;

/* Four words of each row, from those of the call that it is in and of the next one: `phase`, 0 … 3,
 * is how many words of the first one belong to what comes before. */
LANES_INLINE void dropout_shift(const lanes_word now[4], const lanes_word next[4], lanes_word phase,
                                lanes_word word[4]) {
  const lanes_int none = lanes_int_set(0);
  const lanes_mask odd = lanes_int_less(none, (lanes_int)(phase & 1));
  const lanes_mask two = lanes_int_less(none, (lanes_int)(phase & 2));
  lanes_int all[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) all[i] = (lanes_int)now[i], all[4 + i] = (lanes_int)next[i];
#pragma GCC unroll 5
  for (int i = 0; i < 5; i++) all[i] = lanes_int_select(two, all[i + 2], all[i]);
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) word[i] = (lanes_word)lanes_int_select(odd, all[i + 1], all[i]);
}

/* Features f … f + 3 of a vector of rows, or those that there are. least: of
 * lanes_random_least. */
LANES_INLINE void dropout_four(const dropout *p, const lanes_word word[4], lanes_int least,
                               float scale, int64_t f, const float *x, float *y) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    const int64_t at = (f + i) * p->stride;
    if (f + i >= p->features) break;
    const lanes kept = scale * lanes_load(x + at) + 0.0f; /* -0 becomes 0 */
    const lanes_mask dropped = lanes_int_less((lanes_int)(word[i] >> 8), least);
    lanes_store(y + at, lanes_select(dropped, lanes_set(-0.0f), kept));
  }
}

static void dropout_forward(const dropout *given, const float *x, float *y) {
  const dropout own = *given, *p = &own; /* own: no store can change it */
  const float scale = ep_dropout_scale(p->op->p);
  const lanes_int least = lanes_int_set(lanes_random_least(p->op->p));
  const uint32_t features = (uint32_t)p->features;
  for (int64_t v = 0; v < p->vectors; v++, x += EP_LANES, y += EP_LANES) {
    const uint64_t element = (uint64_t)(p->first_row + v * EP_LANES) * features;
    const lanes_word inside = (uint32_t)(element % 4) + (lanes_word)lanes_iota * features;
    uint64_t call = ((uint64_t)p->op->layer << 40) + element / 4;
    lanes_word now[4], next[4], word[4];
    if (features % 4 == 0) {
      for (int64_t f = 0; f < p->features; f += 4, call++) {
        lanes_random_at(p->seed, EP_RANDOM_DROPOUT, (uint64_t)p->step, call, inside >> 2, now);
        dropout_four(p, now, least, scale, f, x, y);
      }
      continue;
    }
    lanes_random_at(p->seed, EP_RANDOM_DROPOUT, (uint64_t)p->step, call, inside >> 2, next);
    for (int64_t f = 0; f < p->features; f += 4) {
      memcpy(now, next, sizeof now);
      lanes_random_at(p->seed, EP_RANDOM_DROPOUT, (uint64_t)p->step, ++call, inside >> 2, next);
      dropout_shift(now, next, inside & 3, word);
      dropout_four(p, word, least, scale, f, x, y);
    }
  }
}

/* In place. y: of dropout_forward. */
static void dropout_backward(const dropout *given, const float *y, float *g) {
  const dropout own = *given, *p = &own;
  const float scale = ep_dropout_scale(p->op->p);
  for (int64_t f = 0; f < p->features; f++)
    for (int64_t v = 0; v < p->vectors; v++) {
      const int64_t at = f * p->stride + v * EP_LANES;
      const lanes_mask dropped =
          lanes_int_equal((lanes_int)lanes_load(y + at), lanes_int_set(INT32_MIN));
      lanes_store(g + at, lanes_select(dropped, lanes_set(0.0f), scale * lanes_load(g + at)));
    }
}

/* Evaluation: y = x. */
static void dropout_copy(const dropout *p, const float *x, float *y) {
  for (int64_t f = 0; f < p->features; f++)
    memcpy(y + f * p->stride, x + f * p->stride, (size_t)(p->vectors * EP_LANES) * sizeof *y);
}

#endif
