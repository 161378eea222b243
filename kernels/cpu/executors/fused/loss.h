/* loss.h: the losses on one chunk: their sum over rows and columns, the misclassified targets, and
 * the gradient of the output times `scale` (1 / the batch's rows and columns). Formulas and corner
 * cases are torch.nn.functional's. Rows past chunk->rows count as nothing. */
#ifndef EP_KERNELS_CPU_EXECUTORS_FUSED_LOSS_H
#define EP_KERNELS_CPU_EXECUTORS_FUSED_LOSS_H

#include "kernels/cpu/executors/fused/elementary.h"
#include "kernels/cpu/executors/fused/fused.h"
#include "kernels/formulas/losses.h"

/* Which lanes of vector v hold rows of their own. */
LANES_INLINE lanes_mask loss_rows(const ep_fused_chunk *chunk, int64_t v) {
  return lanes_int_less(lanes_iota, lanes_int_set((int32_t)(chunk->rows - v * EP_LANES)));
}

/* One value of one column: returns the loss, *slope is its derivative by `out`. */
LANES_INLINE lanes loss_of(const ep_loss_type type, float delta, lanes out, lanes y, lanes *slope) {
  const lanes zero = lanes_set(0.0f), one = lanes_set(1.0f);
  lanes difference = out - y, distance = lanes_abs(difference);
  switch (type) {
  case EP_LOSS_MSE: *slope = difference + difference; return difference * difference;
  case EP_LOSS_MAE:
    *slope = lanes_select(lanes_less(zero, distance), lanes_with_sign(one, difference), zero);
    return distance;
  case EP_LOSS_HUBER: {
    lanes_mask near = lanes_less(distance, lanes_set(delta));
    *slope = lanes_select(near, difference, lanes_with_sign(lanes_set(delta), difference));
    return lanes_select(near, 0.5f * difference * difference, delta * (distance - 0.5f * delta));
  }
  case EP_LOSS_BCE: {
    const lanes least = lanes_set(-100.0f);
    *slope = difference / lanes_max(lanes_set(1e-12f), (1.0f - out) * out);
    return (y - 1.0f) * lanes_max(least, lanes_log1p(-out)) - y * lanes_max(least, lanes_log(out));
  }
  case EP_LOSS_BCE_WITH_LOGITS: { /* log(1 + exp(out)) - out y */
    lanes small = lanes_exp(-lanes_abs(out));
    lanes part = lanes_inverse(1.0f + small);
    *slope = lanes_select(lanes_less(out, zero), small * part, part) - y;
    return (lanes_max(zero, out) - out * y) + lanes_log1p_positive(small, part);
  }
  case EP_LOSS_CROSS_ENTROPY: /* of classes: see loss_classes */
  case EP_LOSS_NLL:
  case EP_LOSS_COUNT: break;
  }
  return *slope = zero;
}

/* Losses that compare number with number. `type` is a constant at each call. */
LANES_INLINE void loss_values(const ep_fused_net *net, const ep_fused_chunk *chunk,
                              const ep_loss_type type, float scale, double *loss, int64_t *errors) {
  const bool classifier = type == EP_LOSS_BCE || type == EP_LOSS_BCE_WITH_LOGITS;
  const lanes zero = lanes_set(0.0f);
  const lanes cut = lanes_set(type == EP_LOSS_BCE ? 0.5f : 0.0f);
  const float *output = net->output ? net->output : chunk->x, *target = chunk->y;
  const float delta = net->program->huber_delta;
  for (int64_t column = 0; column < net->program->out_features; column++) {
    lanes total = zero;
    for (int64_t v = 0; v < chunk->vectors; v++) {
      const int64_t at = column * net->stride + v * EP_LANES;
      lanes_mask rows = loss_rows(chunk, v);
      lanes out = lanes_load(output + at), y = lanes_load(target + at), slope;
      lanes value = loss_of(type, delta, out, y, &slope);
      total += lanes_select(rows, value, zero);
      lanes_store(net->gradient + at, lanes_select(rows, slope * scale, zero));
      if (classifier) {
        lanes_mask wrong = lanes_mask_differ(lanes_less(cut, out), lanes_less(lanes_set(0.5f), y));
        *errors += lanes_mask_count(lanes_mask_and(rows, wrong));
      }
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

/* cross_entropy (log sum exp(out) - out[class]) and nll (-out[class]). */
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
    lanes top, sum = zero, picked = zero;
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
      lanes part = lanes_inverse(sum);
      for (int64_t f = 0, at = first; f < features; f++, at += net->stride) {
        lanes_mask hit = lanes_int_equal(y, lanes_int_set((int32_t)f));
        lanes slope = lanes_load(net->gradient + at) * part - lanes_select(hit, one, zero);
        lanes_store(net->gradient + at, lanes_select(rows, slope * scale, zero));
      }
      total += lanes_select(rows, lanes_log(sum) + (top - picked), zero);
    } else {
      total += lanes_select(rows, -picked, zero);
    }
    lanes_mask right = lanes_int_equal(y, best);
    *errors += lanes_mask_count(rows) - lanes_mask_count(lanes_mask_and(rows, right));
  }
  *loss += lanes_total(total);
}

static void variant_loss(const ep_fused_net *net, const ep_fused_chunk *chunk, float scale,
                         double *loss, int64_t *errors) {
  switch (net->program->loss) {
  case EP_LOSS_MSE: loss_values(net, chunk, EP_LOSS_MSE, scale, loss, errors); break;
  case EP_LOSS_MAE: loss_values(net, chunk, EP_LOSS_MAE, scale, loss, errors); break;
  case EP_LOSS_HUBER: loss_values(net, chunk, EP_LOSS_HUBER, scale, loss, errors); break;
  case EP_LOSS_BCE: loss_values(net, chunk, EP_LOSS_BCE, scale, loss, errors); break;
  case EP_LOSS_BCE_WITH_LOGITS:
    loss_values(net, chunk, EP_LOSS_BCE_WITH_LOGITS, scale, loss, errors);
    break;
  case EP_LOSS_CROSS_ENTROPY:
    loss_classes(net, chunk, EP_LOSS_CROSS_ENTROPY, scale, loss, errors);
    break;
  case EP_LOSS_NLL: loss_classes(net, chunk, EP_LOSS_NLL, scale, loss, errors); break;
  case EP_LOSS_COUNT: break;
  }
}

#endif
