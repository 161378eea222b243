/* optimizers.h: one step of an optimizer for one parameter, to torch.optim's letter, and the
 * clipping of gradients before it. Plain C that also compiles as CUDA. */
#ifndef EP_KERNELS_FORMULAS_OPTIMIZERS_H
#define EP_KERNELS_FORMULAS_OPTIMIZERS_H

#include "kernels/formulas/real.h"
#include "kernels/program.h"
#include "kernels/random.h" /* EP_DEVICE_INLINE */

/* What one step has in common for all parameters: made once a step, since it takes powers in
 * double. */
typedef struct {
  ep_real lr;    /* as given; lion, rmsprop, sgd, and adamw's decay use it */
  ep_real rate;  /* what the optimizer's own function of its rates says, or lr */
  ep_real root;  /* adam, adamw, nadam: sqrt(1 - beta2^t) */
  ep_real rest1; /* 1 - beta1; nadam: mu_(t + 1) */
  ep_real rest2; /* 1 - beta2; rmsprop: 1 - alpha */
} ep_optimizer_step;

/* What clip_norm multiplies all gradients by, given their norm (torch.nn.utils.clip_grad_norm_):
 * at most 1. A norm that is NaN makes all NaN. */
EP_DEVICE_INLINE ep_real ep_clip_scale(const ep_optimizer *optimizer, double norm) {
  double scale = (double)optimizer->clip_norm / (norm + 1e-6);
  return scale > 1 ? (ep_real)1 : (ep_real)scale;
}

/* A gradient, scaled by ep_clip_scale's answer (1 without clip_norm), then cut to ±clip_value. */
EP_DEVICE_INLINE ep_real ep_clip(const ep_optimizer *optimizer, ep_real scale, ep_real grad) {
  grad *= scale;
  if (!(optimizer->clip_value > 0)) return grad;
  if (grad > (ep_real)optimizer->clip_value) return optimizer->clip_value;
  return grad < -(ep_real)optimizer->clip_value ? -(ep_real)optimizer->clip_value : grad;
}

/* In all that follows, to torch.optim's letter: an update returns the new parameter; state[0],
 * state[stride], … are this parameter's slots, read and written, which start at zero. state may be
 * NULL when the optimizer has none. A function of rates returns the step with what its update takes
 * of it; `step` comes with lr as rate, and t counts steps from 1. */

/* No dampening. v = momentum v + g; p -= lr v (nesterov: lr (g + momentum v)). */
EP_DEVICE_INLINE ep_real ep_sgd(const ep_optimizer *sgd, const ep_optimizer_step *step,
                                ep_real decay, ep_real parameter, ep_real grad, ep_real *state) {
  grad += decay * parameter;
  if (sgd->momentum != 0) {
    ep_real velocity = *state = (ep_real)sgd->momentum * *state + grad;
    grad = sgd->nesterov ? grad + (ep_real)sgd->momentum * velocity : velocity;
  }
  return parameter - step->lr * grad;
}

/* rate: lr / (1 - beta1^t) */
EP_DEVICE_INLINE ep_optimizer_step ep_adam_rates(const ep_optimizer *adam, ep_optimizer_step step,
                                                 int64_t t) {
  step.rate = (ep_real)((double)step.lr / (1 - pow((double)adam->beta1, (double)t)));
  step.root = (ep_real)sqrt(1 - pow((double)adam->beta2, (double)t));
  return step;
}

/* m += (1 - beta1) (g - m); v = beta2 v + (1 - beta2) g^2; p -= rate m / (sqrt(v) / root + eps).
 * adam adds decay * p to g, adamw takes lr * decay * p off first. */
EP_DEVICE_INLINE ep_real ep_adam(const ep_optimizer *adam, const ep_optimizer_step *step,
                                 ep_real decay, ep_real parameter, ep_real grad, ep_real *state,
                                 int64_t stride) {
  if (adam->type == EP_OPTIMIZER_ADAMW)
    parameter *= 1 - step->lr * decay;
  else
    grad += decay * parameter;
  ep_real mean = state[0] += step->rest1 * (grad - state[0]);
  ep_real square = state[stride] =
      (ep_real)adam->beta2 * state[stride] + step->rest2 * (grad * grad);
  return parameter - step->rate * ep_quotient(mean, ep_quotient(ep_root(square), step->root) +
                                                        (ep_real)adam->eps);
}

EP_DEVICE_INLINE ep_optimizer_step ep_rmsprop_rates(const ep_optimizer *rmsprop,
                                                    ep_optimizer_step step) {
  step.rest2 = 1 - (ep_real)rmsprop->alpha;
  return step;
}

/* v = alpha v + (1 - alpha) g^2; centered: m += (1 - alpha) (g - m) and v - m^2 instead of v below;
 * u = g / (sqrt(v) + eps), with momentum: u = b = momentum b + u; p -= lr u. Rounding may carry
 * v - m^2 below 0, where torch's root is NaN: it counts as 0. */
EP_DEVICE_INLINE ep_real ep_rmsprop(const ep_optimizer *rmsprop, const ep_optimizer_step *step,
                                    ep_real decay, ep_real parameter, ep_real grad, ep_real *state,
                                    int64_t stride) {
  grad += decay * parameter;
  ep_real variance = *state = (ep_real)rmsprop->alpha * *state + step->rest2 * (grad * grad);
  if (rmsprop->centered) {
    state += stride;
    ep_real mean = *state += step->rest2 * (grad - *state);
    variance -= mean * mean;
    if (variance < 0) variance = 0;
  }
  ep_real update = ep_quotient(grad, ep_root(variance) + (ep_real)rmsprop->eps);
  if (rmsprop->momentum != 0) {
    state += stride;
    update = *state = (ep_real)rmsprop->momentum * *state + update;
  }
  return parameter - step->lr * update;
}

/* rate: lr / (1 + (t - 1) decay) */
EP_DEVICE_INLINE ep_optimizer_step ep_adagrad_rates(const ep_optimizer *adagrad,
                                                    ep_optimizer_step step, int64_t t) {
  step.rate = (ep_real)((double)step.lr / (1 + (double)(t - 1) * (double)adagrad->decay));
  return step;
}

/* v += g^2; p -= rate g / (sqrt(v) + eps). */
EP_DEVICE_INLINE ep_real ep_adagrad(const ep_optimizer *adagrad, const ep_optimizer_step *step,
                                    ep_real decay, ep_real parameter, ep_real grad,
                                    ep_real *state) {
  grad += decay * parameter;
  ep_real sum = *state += grad * grad;
  return parameter - step->rate * ep_quotient(grad, ep_root(sum) + (ep_real)adagrad->eps);
}

/* Chen et al., "Symbolic Discovery of Optimization Algorithms".
 * c = beta1 m + (1 - beta1) g; p -= lr (sign(c) + decay p); m = beta2 m + (1 - beta2) g. The sign
 * of NaN is NaN here, so that a gradient that broke is seen. */
EP_DEVICE_INLINE ep_real ep_lion(const ep_optimizer *lion, const ep_optimizer_step *step,
                                 ep_real decay, ep_real parameter, ep_real grad, ep_real *state) {
  ep_real mix = (ep_real)lion->beta1 * *state + step->rest1 * grad;
  ep_real sign = mix > 0 ? (ep_real)1 : mix < 0 ? (ep_real)-1 : mix;
  *state = (ep_real)lion->beta2 * *state + step->rest2 * grad;
  return parameter - step->lr * (sign + decay * parameter);
}

/* rate: mu_t = beta1 (1 - 0.96^(t decay) / 2), rest1: mu_(t + 1). */
EP_DEVICE_INLINE ep_optimizer_step ep_nadam_rates(const ep_optimizer *nadam, ep_optimizer_step step,
                                                  int64_t t) {
  double beta1 = nadam->beta1, decay = nadam->decay;
  step.rate = (ep_real)(beta1 * (1 - 0.5 * pow(0.96, (double)t * decay)));
  step.rest1 = (ep_real)(beta1 * (1 - 0.5 * pow(0.96, (double)(t + 1) * decay)));
  step.root = (ep_real)sqrt(1 - pow((double)nadam->beta2, (double)t));
  return step;
}

/* Dozat, "Incorporating Nesterov Momentum into Adam". m and v as adam's; the third slot is 1 - M_t,
 * M_t = mu_1 mu_2 ... mu_t; p -= lr (g (1 - mu_t) / (1 - M_t) + m mu_(t+1) / (1 - M_(t+1))) /
 * (sqrt(v) / root + eps). */
EP_DEVICE_INLINE ep_real ep_nadam(const ep_optimizer *nadam, const ep_optimizer_step *step,
                                  ep_real decay, ep_real parameter, ep_real grad, ep_real *state,
                                  int64_t stride) {
  ep_real now = step->rate, next = step->rest1;
  grad += decay * parameter;
  ep_real mean = state[0] += (1 - (ep_real)nadam->beta1) * (grad - state[0]);
  ep_real square = state[stride] =
      (ep_real)nadam->beta2 * state[stride] + step->rest2 * (grad * grad);
  ep_real rest = state[2 * stride] = state[2 * stride] * now + (1 - now);
  ep_real update =
      ep_quotient(1 - now, rest) * grad + ep_quotient(next, rest * next + (1 - next)) * mean;
  return parameter - step->lr * ep_quotient(update, ep_quotient(ep_root(square), step->root) +
                                                        (ep_real)nadam->eps);
}

/* rate: lr / (1 - beta1^t) */
EP_DEVICE_INLINE ep_optimizer_step ep_adamax_rates(const ep_optimizer *adamax,
                                                   ep_optimizer_step step, int64_t t) {
  step.rate = (ep_real)((double)step.lr / (1 - pow((double)adamax->beta1, (double)t)));
  return step;
}

/* m += (1 - beta1) (g - m); u = max(beta2 u, |g| + eps); p -= rate m / u. */
EP_DEVICE_INLINE ep_real ep_adamax(const ep_optimizer *adamax, const ep_optimizer_step *step,
                                   ep_real decay, ep_real parameter, ep_real grad, ep_real *state,
                                   int64_t stride) {
  grad += decay * parameter;
  ep_real mean = state[0] += step->rest1 * (grad - state[0]);
  ep_real faded = (ep_real)adamax->beta2 * state[stride], size = fabs(grad) + (ep_real)adamax->eps;
  ep_real largest = state[stride] = faded > size ? faded : size;
  return parameter - step->rate * ep_quotient(mean, largest);
}

/* Where the next row's is meant: one piece of code for both, which tells them apart. Compiled once,
 * it rounds them as it always did. */
#define EP_AS_NEXT __attribute__((fallthrough))

/* X(code, slots, rates, plain, update): the optimizers; a row here is all that an executor needs
 * that computes by this file. slots: of state for each parameter, of `optimizer`; rates: returns
 * them, of `optimizer`, `step` and t; plain: whether these are the same in each step but for the
 * learning rate; update: returns the parameter, of what ep_optimizer_update has. */
#define EP_OPTIMIZERS(X)                                                                        \
  X(SGD, optimizer->momentum != 0, return step, true,                                           \
    return ep_sgd(optimizer, step, decay, parameter, grad, state))                              \
  X(ADAM, 2, EP_AS_NEXT, false, EP_AS_NEXT)                                                     \
  X(ADAMW, 2, return ep_adam_rates(optimizer, step, t), false,                                  \
    return ep_adam(optimizer, step, decay, parameter, grad, state, stride))                     \
  X(RMSPROP, 1 + (optimizer->momentum != 0) + optimizer->centered,                              \
    return ep_rmsprop_rates(optimizer, step), true,                                             \
    return ep_rmsprop(optimizer, step, decay, parameter, grad, state, stride))                  \
  X(ADAGRAD, 1, return ep_adagrad_rates(optimizer, step, t), false,                             \
    return ep_adagrad(optimizer, step, decay, parameter, grad, state))                          \
  X(LION, 1, return step, true, return ep_lion(optimizer, step, decay, parameter, grad, state)) \
  X(NADAM, 3, return ep_nadam_rates(optimizer, step, t), false,                                 \
    return ep_nadam(optimizer, step, decay, parameter, grad, state, stride))                    \
  X(ADAMAX, 2, return ep_adamax_rates(optimizer, step, t), false,                               \
    return ep_adamax(optimizer, step, decay, parameter, grad, state, stride))

#define EP_OPTIMIZER_SLOTS(code, slots, ...) \
  case EP_OPTIMIZER_##code: return slots;

/* The slots of state that an optimizer keeps for each parameter: [parameters] each, one after the
 * other. */
EP_DEVICE_CONSTEXPR int64_t ep_optimizer_slots(const ep_optimizer *optimizer) {
  switch (optimizer->type) {
    EP_OPTIMIZERS(EP_OPTIMIZER_SLOTS)
  case EP_OPTIMIZER_COUNT: break;
  }
  return 0;
}

#define EP_OPTIMIZER_PLAIN(code, slots, rates, plain, ...) \
  case EP_OPTIMIZER_##code: return plain;

/* Whether a step's rates are its learning rate alone, without powers or divisions by the step's
 * number. */
EP_DEVICE_CONSTEXPR bool ep_optimizer_is_plain(ep_optimizer_type type) {
  switch (type) {
    EP_OPTIMIZERS(EP_OPTIMIZER_PLAIN)
  case EP_OPTIMIZER_COUNT: break;
  }
  return false;
}

#define EP_OPTIMIZER_RATES(code, slots, rates, ...) \
  case EP_OPTIMIZER_##code: rates;

/* t counts steps from 1, since the start of training; a plain optimizer's step does not read it. */
EP_DEVICE_INLINE ep_optimizer_step ep_optimizer_step_make(const ep_optimizer *optimizer, float lr,
                                                          int64_t t) {
  ep_optimizer_step step = {lr, lr, 1, 1 - (ep_real)optimizer->beta1,
                            1 - (ep_real)optimizer->beta2};
  switch (optimizer->type) {
    EP_OPTIMIZERS(EP_OPTIMIZER_RATES)
  case EP_OPTIMIZER_COUNT: break;
  }
  return step;
}

#define EP_OPTIMIZER_UPDATE(code, slots, rates, plain, update) \
  case EP_OPTIMIZER_##code: update;

/* The step of whichever optimizer it is. decay: the weight decay of the parameter's group; grad:
 * after ep_clip; stride: from one slot to the next. */
EP_DEVICE_INLINE ep_real ep_optimizer_update(const ep_optimizer *optimizer,
                                             const ep_optimizer_step *step, ep_real decay,
                                             ep_real parameter, ep_real grad, ep_real *state,
                                             int64_t stride) {
  switch (optimizer->type) {
    EP_OPTIMIZERS(EP_OPTIMIZER_UPDATE)
  case EP_OPTIMIZER_COUNT: break;
  }
  return parameter;
}

#endif
