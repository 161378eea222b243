/* loss.h: the losses on one chunk: their sum over rows and columns, the misclassified targets, and
 * the gradient of the output times `scale` (1 / the batch's rows and columns). Formulas and corner
 * cases are torch.nn.functional's. Rows past chunk->rows count as nothing. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_LOSS_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_LOSS_H

#include "kernels/cpu/executors/fused/fused.h"
#include "kernels/cpu/executors/fused/plan.h"
#include "kernels/cpu/runtime/elementary.h"
#include "kernels/formulas/losses.h"

/* Which lanes of vector v hold rows of their own. */
LANES_INLINE lanes_mask loss_rows(const ep_fused_chunk *chunk, int64_t v) {
  return lanes_int_less(lanes_iota, lanes_int_set((int32_t)(chunk->rows - v * EP_LANES)));
}

/* In each of these: one value of one column; returns the loss, *slope is its derivative by `out`.
 */
LANES_INLINE lanes loss_mse(lanes out, lanes y, float parameter, lanes *slope) {
  (void)parameter;
  lanes difference = out - y;
  *slope = difference + difference;
  return difference * difference;
}

LANES_INLINE lanes loss_mae(lanes out, lanes y, float parameter, lanes *slope) {
  (void)parameter;
  const lanes zero = lanes_set(0.0f), one = lanes_set(1.0f);
  lanes difference = out - y, distance = lanes_abs(difference);
  *slope = lanes_select(lanes_less(zero, distance), lanes_with_sign(one, difference), zero);
  return distance;
}

LANES_INLINE lanes loss_huber(lanes out, lanes y, float delta, lanes *slope) {
  lanes difference = out - y, distance = lanes_abs(difference);
  lanes_mask near = lanes_less(distance, lanes_set(delta));
  *slope = lanes_select(near, difference, lanes_with_sign(lanes_set(delta), difference));
  return lanes_select(near, 0.5f * difference * difference, delta * (distance - 0.5f * delta));
}

LANES_INLINE lanes loss_bce(lanes out, lanes y, float pos_weight, lanes *slope) {
  const lanes least = lanes_set(-100.0f);
  lanes yes = pos_weight * y, weight = (pos_weight - 1.0f) * y + 1.0f;
  *slope = (weight * out - yes) / lanes_max(lanes_set(1e-12f), (1.0f - out) * out);
  return (y - 1.0f) * lanes_max(least, lanes_log1p(-out)) - yes * lanes_max(least, lanes_log(out));
}

/* weight log(1 + exp(out)) - out yes */
LANES_INLINE lanes loss_bce_with_logits(lanes out, lanes y, float pos_weight, lanes *slope) {
  const lanes zero = lanes_set(0.0f);
  lanes yes = pos_weight * y, weight = (pos_weight - 1.0f) * y + 1.0f;
  lanes small = lanes_exp(-lanes_abs(out));
  lanes part = lanes_inverse(1.0f + small);
  *slope = weight * lanes_select(lanes_less(out, zero), small * part, part) - yes;
  return (weight * lanes_max(zero, out) - out * yes) + weight * lanes_log1p_positive(small, part);
}

/* Those without vectors of their own. */
LANES_INLINE lanes loss_any(const ep_loss_type type, lanes out, lanes y, float parameter,
                            lanes *slope) {
  lanes value;
  for (int i = 0; i < EP_LANES; i++) {
    value[i] = ep_loss_value(type, out[i], y[i], parameter);
    (*slope)[i] = ep_loss_derivative(type, out[i], y[i], parameter);
  }
  return value;
}

#define LOSS_OF(code, function, ...) \
  case EP_LOSS_##code: return function(out, y, parameter, slope);

LANES_INLINE lanes loss_of(const ep_loss_type type, lanes out, lanes y, float parameter,
                           lanes *slope) {
  switch (type) {
    EP_FUSED_ELEMENT_LOSSES(LOSS_OF)
  default: return loss_any(type, out, y, parameter, slope);
  }
}

/* Rows that `type` says are misclassified. cut: of the list; NAN of a type that is not in it. */
LANES_INLINE lanes_mask loss_misses(const ep_loss_type type, const float cut, lanes out, lanes y) {
  if (!isnan(cut))
    return lanes_mask_differ(lanes_less(lanes_set(cut), out), lanes_less(lanes_set(0.5f), y));
  lanes misses;
  for (int i = 0; i < EP_LANES; i++) misses[i] = ep_loss_misses(type, out[i], y[i]) ? 1.0f : 0.0f;
  return lanes_less(lanes_set(0.5f), misses);
}

/* Losses that compare number with number. cut: the output above which the class is 1; NaN for a
 * regression. `type` and `cut` are constants at each call. */
LANES_INLINE void loss_values(const ep_fused_net *net, const ep_fused_chunk *chunk,
                              const ep_loss_type type, const float cut, float scale, double *loss,
                              int64_t *errors) {
  const lanes zero = lanes_set(0.0f);
  const float *output = net->output ? net->output : chunk->x, *target = chunk->y;
  const float parameter = net->program->loss_parameter;
  for (int64_t column = 0; column < net->program->out_features; column++) {
    lanes total = zero;
    for (int64_t v = 0; v < chunk->vectors; v++) {
      const int64_t at = column * net->stride + v * EP_LANES;
      lanes_mask rows = loss_rows(chunk, v);
      lanes out = lanes_load(output + at), y = lanes_load(target + at), slope;
      lanes value = loss_of(type, out, y, parameter, &slope);
      total += lanes_select(rows, value, zero);
      lanes_store(net->gradient + at, lanes_select(rows, slope * scale, zero));
      *errors += lanes_mask_count(lanes_mask_and(rows, loss_misses(type, cut, out, y)));
    }
    *loss += lanes_total(total);
  }
}

/* The first class of each row in vector `at`, in the order of ep_argmax_precedes, and its output.
 */
LANES_INLINE lanes_int loss_argmax(const ep_fused_net *net, const float *output, int64_t at,
                                   lanes *greatest) {
  lanes top = lanes_load(output + at);
  lanes_int best = lanes_int_set(0);
  for (int64_t f = 1; f < net->program->out_features; f++) {
    lanes out = lanes_load(output + at + f * net->stride);
    lanes_mask first_nan = lanes_mask_differ(lanes_unordered(top, out), lanes_unordered(top, top));
    lanes_mask more = lanes_mask_or(lanes_less(top, out), first_nan);
    best = lanes_int_select(more, lanes_int_set((int32_t)f), best);
    top = lanes_select(more, out, top);
  }
  *greatest = top;
  return best;
}

/* ep_class_scales of each row: value and gradient's, of the logarithm of its class's probability.
 */
LANES_INLINE void loss_scales(const ep_fused_net *net, const ep_loss_type type, lanes log_p,
                              lanes *value, lanes *grad) {
  for (int i = 0; i < EP_LANES; i++) {
    ep_row_scales scales = ep_class_scales(type, log_p[i], net->program->loss_parameter);
    (*value)[i] = scales.value;
    (*grad)[i] = scales.grad;
  }
}

/* cross_entropy (log sum exp(out) - out[class]), nll (-out[class]), and those that scale them. */
LANES_INLINE void loss_classes(const ep_fused_net *net, const ep_fused_chunk *chunk,
                               const ep_loss_type type, float scale, double *loss,
                               int64_t *errors) {
  const lanes zero = lanes_set(0.0f), one = lanes_set(1.0f);
  const float *output = net->output ? net->output : chunk->x;
  const int32_t *classes = chunk->y;
  const int64_t features = net->program->out_features;
  lanes total = zero;
  for (int64_t v = 0; v < chunk->vectors; v++) {
    const int64_t first = v * EP_LANES;
    lanes_mask rows = loss_rows(chunk, v);
    lanes_int y;
    memcpy(&y, classes + first, sizeof y);
    lanes top, sum = zero, picked = zero, value, grad;
    lanes_int best = loss_argmax(net, output, first, &top);
    for (int64_t f = 0, at = first; f < features; f++, at += net->stride) {
      lanes out = lanes_load(output + at);
      lanes_mask hit = lanes_int_equal(y, lanes_int_set((int32_t)f));
      picked = lanes_select(hit, out, picked);
      if (ep_loss_normalizes(type)) {
        lanes power = lanes_exp(out - top);
        lanes_store(net->gradient + at, power);
        sum += power;
      } else {
        lanes_store(net->gradient + at,
                    lanes_select(lanes_mask_and(rows, hit), lanes_set(-scale), zero));
      }
    }
    if (ep_loss_normalizes(type)) {
      lanes part = lanes_inverse(sum), minus_log_p = lanes_log(sum) + (top - picked);
      loss_scales(net, type, -minus_log_p, &value, &grad);
      for (int64_t f = 0, at = first; f < features; f++, at += net->stride) {
        lanes_mask hit = lanes_int_equal(y, lanes_int_set((int32_t)f));
        lanes slope = lanes_load(net->gradient + at) * part - lanes_select(hit, one, zero);
        lanes_store(net->gradient + at, lanes_select(rows, slope * scale * grad, zero));
      }
      total += lanes_select(rows, minus_log_p * value, zero);
    } else {
      total += lanes_select(rows, -picked, zero);
    }
    lanes_mask right = lanes_int_equal(y, best);
    *errors += lanes_mask_count(rows) - lanes_mask_count(lanes_mask_and(rows, right));
  }
  *loss += lanes_total(total);
}

#define LOSS_VALUES(code, function, cut)                               \
  case EP_LOSS_##code:                                                 \
    loss_values(net, chunk, EP_LOSS_##code, cut, scale, loss, errors); \
    break;
#define LOSS_CLASSES(code, ...) \
  case EP_LOSS_##code: loss_classes(net, chunk, EP_LOSS_##code, scale, loss, errors); break;

static void variant_loss(const ep_fused_net *net, const ep_fused_chunk *chunk, float scale,
                         double *loss, int64_t *errors) {
  switch (net->program->loss) {
    EP_FUSED_ELEMENT_LOSSES(LOSS_VALUES)
    EP_CLASS_LOSSES(LOSS_CLASSES)
  default: loss_values(net, chunk, net->program->loss, NAN, scale, loss, errors);
  }
}

#endif
