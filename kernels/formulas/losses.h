/* losses.h: the losses, to torch.nn.functional's letter. Plain C that also compiles as CUDA. First
 * those that compare one output with one target: the value and its derivative by the output, before
 * the mean is taken (the caller divides by rows x columns). Then those of a row of outputs and its
 * class. A loss of api/vocabulary.h that neither list here has
 * does not compile. */
#ifndef EP_KERNELS_FORMULAS_LOSSES_H
#define EP_KERNELS_FORMULAS_LOSSES_H

#include "kernels/formulas/activations.h"

/* (output - target)^2 */
EP_DEVICE_INLINE ep_real ep_mse(ep_real output, ep_real target) {
  ep_real difference = output - target;
  return difference * difference;
}
EP_DEVICE_INLINE ep_real ep_mse_derivative(ep_real output, ep_real target) {
  return 2 * (output - target);
}

/* |output - target|; its derivative at 0 is 0. */
EP_DEVICE_INLINE ep_real ep_mae(ep_real output, ep_real target) {
  return fabs(output - target);
}
EP_DEVICE_INLINE ep_real ep_mae_derivative(ep_real output, ep_real target) {
  return (ep_real)(output > target) - (ep_real)(output < target);
}

/* d = output - target: d^2 / 2 where |d| <= delta, delta * (|d| - delta / 2) elsewhere. */
EP_DEVICE_INLINE ep_real ep_huber(ep_real output, ep_real target, ep_real delta) {
  ep_real distance = fabs(output - target);
  if (distance <= delta) return (ep_real)0.5 * distance * distance;
  return delta * (distance - (ep_real)0.5 * delta);
}
EP_DEVICE_INLINE ep_real ep_huber_derivative(ep_real output, ep_real target, ep_real delta) {
  ep_real difference = output - target;
  if (difference > delta) return delta;
  if (difference < -delta) return -delta;
  return difference;
}

/* q * (target - output) where the target is greater, (1 - q) * (output - target) elsewhere; the
 * derivative at 0 is 0. */
EP_DEVICE_INLINE ep_real ep_quantile(ep_real output, ep_real target, ep_real q) {
  ep_real difference = target - output;
  return difference > 0 ? q * difference : (q - 1) * difference;
}
EP_DEVICE_INLINE ep_real ep_quantile_derivative(ep_real output, ep_real target, ep_real q) {
  return (1 - q) * (ep_real)(output > target) - q * (ep_real)(output < target);
}

/* -(p * target * ln(output) + (1 - target) * ln(1 - output)), each logarithm at least -100; p: what
 * a target of 1 weighs, torch's pos_weight. */
EP_DEVICE_INLINE ep_real ep_bce(ep_real output, ep_real target, ep_real p) {
  ep_real log_yes = log(output), log_no = log1p(-output);
  if (log_yes < -100) log_yes = -100;
  if (log_no < -100) log_no = -100;
  return (target - 1) * log_no - p * target * log_yes;
}
/* ((1 + (p - 1) * target) * output - p * target) / max(output * (1 - output), 1e-12) */
EP_DEVICE_INLINE ep_real ep_bce_derivative(ep_real output, ep_real target, ep_real p) {
  ep_real variance = (1 - output) * output;
  if (variance < (ep_real)1e-12) variance = (ep_real)1e-12;
  return ((1 + (p - 1) * target) * output - p * target) / variance;
}

/* bce of sigmoid(output), in the form that neither overflows nor cancels, z the output and w =
 * 1 + (p - 1) * target: w * (max(z, 0) + ln(1 + e^-|z|)) - p * target * z. */
EP_DEVICE_INLINE ep_real ep_bce_with_logits(ep_real output, ep_real target, ep_real p) {
  ep_real positive = output < 0 ? (ep_real)0 : output, weight = 1 + (p - 1) * target;
  return weight * positive - p * target * output + weight * log1p(exp(-fabs(output)));
}
EP_DEVICE_INLINE ep_real ep_bce_with_logits_derivative(ep_real output, ep_real target, ep_real p) {
  return (1 + (p - 1) * target) * ep_sigmoid(output) - p * target;
}

/* X(code, value, derivative, misses): the losses that compare one output with one target, with
 * their formulas of `output`, `target` and `parameter`. misses: whether the output says the wrong
 * class; false for a regression. */
#define EP_ELEMENT_LOSSES(X)                                                                    \
  X(MSE, ep_mse(output, target), ep_mse_derivative(output, target), false)                      \
  X(MAE, ep_mae(output, target), ep_mae_derivative(output, target), false)                      \
  X(HUBER, ep_huber(output, target, parameter), ep_huber_derivative(output, target, parameter), \
    false)                                                                                      \
  X(BCE, ep_bce(output, target, parameter), ep_bce_derivative(output, target, parameter),       \
    (output > (ep_real)0.5) != (target > (ep_real)0.5))                                         \
  X(BCE_WITH_LOGITS, ep_bce_with_logits(output, target, parameter),                             \
    ep_bce_with_logits_derivative(output, target, parameter),                                   \
    (output > 0) != (target > (ep_real)0.5))                                                    \
  X(QUANTILE, ep_quantile(output, target, parameter),                                           \
    ep_quantile_derivative(output, target, parameter), false)

/* What a row's value and gradient are multiplied by, in a loss that weighs rows by the probability
 * that the network gives to their class. */
typedef struct {
  ep_real value, grad;
} ep_row_scales;

/* Lin et al., "Focal Loss for Dense Object Detection". q = 1 - p; the value's is q^gamma, and the
 * gradient's q^gamma - gamma p q^(gamma - 1) ln p. Where q is 0, ln p / q is -1; where p is 0, p ln
 * p is 0. */
EP_DEVICE_INLINE ep_row_scales ep_focal_scales(ep_real log_p, ep_real gamma) {
  ep_real q = -expm1(log_p), power = pow(q, gamma);
  ep_real ratio = q > 0 ? log_p / q : (ep_real)-1;
  ep_real falls = q < 1 ? (1 - q) * ratio : (ep_real)0;
  ep_row_scales scales = {power, power * (1 - gamma * falls)};
  return scales;
}

/* X(code, normalizes, scaled, scales): the losses that compare a row of outputs with its class; see
 * below. scaled: whether rows have scales, an ep_row_scales of `log_p` and `parameter`; else these
 * are `even`. */
#define EP_CLASS_LOSSES(X)            \
  X(CROSS_ENTROPY, true, false, even) \
  X(NLL, false, false, even)          \
  X(FOCAL, true, true, ep_focal_scales(log_p, parameter))

/* Of the list that a function is not about. */
#define EP_LOSS_OTHER(code, ...) case EP_LOSS_##code:

#define EP_LOSS_VALUE(code, value, ...) \
  case EP_LOSS_##code: return value;

/* The value of the loss `type` for one output; 0 for a loss that takes classes. */
EP_DEVICE_INLINE ep_real ep_loss_value(ep_loss_type type, ep_real output, ep_real target,
                                       ep_real parameter) {
  switch (type) {
    EP_ELEMENT_LOSSES(EP_LOSS_VALUE)
    EP_CLASS_LOSSES(EP_LOSS_OTHER)
  case EP_LOSS_COUNT: break;
  }
  return 0;
}

#define EP_LOSS_DERIVATIVE(code, value, derivative, ...) \
  case EP_LOSS_##code: return derivative;

/* Its derivative by the output; 0 for a loss that takes classes. */
EP_DEVICE_INLINE ep_real ep_loss_derivative(ep_loss_type type, ep_real output, ep_real target,
                                            ep_real parameter) {
  switch (type) {
    EP_ELEMENT_LOSSES(EP_LOSS_DERIVATIVE)
    EP_CLASS_LOSSES(EP_LOSS_OTHER)
  case EP_LOSS_COUNT: break;
  }
  return 0;
}

#define EP_LOSS_MISSES(code, value, derivative, misses) \
  case EP_LOSS_##code: return misses;

/* Whether an output says the wrong class; false for a regression and for a loss of classes. */
EP_DEVICE_INLINE bool ep_loss_misses(ep_loss_type type, ep_real output, ep_real target) {
  switch (type) {
    EP_ELEMENT_LOSSES(EP_LOSS_MISSES)
    EP_CLASS_LOSSES(EP_LOSS_OTHER)
  case EP_LOSS_COUNT: break;
  }
  return false;
}

/* --- classes ---------------------------------------------------------------------------------
 *
 * These act on a row of outputs z with its class c, m the largest z and
 * s = sum e^(z_j - m). Class weights w (all 1 without) and label smoothing e over n classes make it
 * a target t_j = (1 - e) w_c [j = c] + (e / n) w_j, T their sum:
 * cross_entropy and focal: sum t_j (ln s + m - z_j); derivative by z_j: T e^(z_j - m) / s - t_j.
 * nll (z are log-probabilities; no smoothing): -w_c z_c; derivative by z_j: -w_c [j = c].
 * A row's value and derivative are multiplied by its scales. Their mean divides by the sum of w_c
 * over the rows. Either misses where ep_argmax_precedes puts another class first, whatever the
 * weights. */

#define EP_LOSS_NORMALIZES(code, normalizes, ...) \
  case EP_LOSS_##code: return normalizes;

/* Whether a loss of classes takes logits and normalizes them by s; else z are log-probabilities. */
EP_DEVICE_CONSTEXPR bool ep_loss_normalizes(ep_loss_type type) {
  switch (type) {
    EP_CLASS_LOSSES(EP_LOSS_NORMALIZES)
    EP_ELEMENT_LOSSES(EP_LOSS_OTHER)
  case EP_LOSS_COUNT: break;
  }
  return false;
}

#define EP_LOSS_SCALED(code, normalizes, scaled, ...) \
  case EP_LOSS_##code: return scaled;

/* Whether a loss of classes multiplies its rows by ep_class_scales; else these are 1. */
EP_DEVICE_CONSTEXPR bool ep_loss_is_scaled(ep_loss_type type) {
  switch (type) {
    EP_CLASS_LOSSES(EP_LOSS_SCALED)
    EP_ELEMENT_LOSSES(EP_LOSS_OTHER)
  case EP_LOSS_COUNT: break;
  }
  return false;
}

#define EP_LOSS_SCALES(code, normalizes, scaled, scales) \
  case EP_LOSS_##code: return scales;

/* The scales of a row. log_p: the logarithm of its class's probability, ln p = z_c - m - ln s of
 * one that normalizes, z_c of another. */
EP_DEVICE_INLINE ep_row_scales ep_class_scales(ep_loss_type type, ep_real log_p,
                                               ep_real parameter) {
  const ep_row_scales even = {1, 1};
  switch (type) {
    EP_CLASS_LOSSES(EP_LOSS_SCALES)
    EP_ELEMENT_LOSSES(EP_LOSS_OTHER)
  case EP_LOSS_COUNT: break;
  }
  return even;
}

/* The order of argmax, torch's: the greatest first, of equals the one at the lesser index, and NaN
 * greater than all, so that a network that computes NaN never seems right. Whether `other`, at
 * index `other_index`, comes before `value`, at `index`. */
EP_DEVICE_INLINE bool ep_argmax_precedes(ep_real other, int other_index, ep_real value, int index) {
  bool more = other > value || (isnan(other) && !isnan(value));
  bool equal = other == value || (isnan(other) && isnan(value));
  return more || (equal && other_index < index);
}

/* The index of the first. row: [columns] */
EP_DEVICE_INLINE int ep_argmax(const ep_real *row, int columns) {
  int found = 0;
  for (int j = 1; j < columns; j++)
    if (ep_argmax_precedes(row[j], j, row[found], found)) found = j;
  return found;
}

/* w_label. weights: [classes] or NULL */
EP_DEVICE_INLINE ep_real ep_class_weight(const float *weights, int64_t label) {
  return weights ? (ep_real)weights[label] : (ep_real)1;
}

/* t_j of a row of class `label`; the weights of the two are given. */
EP_DEVICE_INLINE ep_real ep_class_target(ep_real smoothing, int64_t classes, int64_t label,
                                         ep_real label_weight, int64_t j, ep_real weight) {
  ep_real spread = smoothing / (ep_real)classes * weight;
  return j == label ? (1 - smoothing) * label_weight + spread : spread;
}

#endif
