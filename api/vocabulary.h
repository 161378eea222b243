/* vocabulary.h: the field's words, once: layers, losses, optimizers, initializations, as they stand
 * in JSON and as every part of the program switches on them. Rows are only ever added at the end.
 */
#ifndef EP_API_VOCABULARY_H
#define EP_API_VOCABULARY_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(code, JSON name). Names and formulas are torch.nn's (snake case). */
#define EP_LAYER_TABLE(X)                       \
  X(LINEAR, "linear")                           \
  X(RELU, "relu")                               \
  X(LEAKY_RELU, "leaky_relu")                   \
  X(TANH, "tanh")                               \
  X(SIGMOID, "sigmoid")                         \
  X(GELU, "gelu")                               \
  X(SIN, "sin")                                 \
  X(SOFTMAX, "softmax")                         \
  X(LOG_SOFTMAX, "log_softmax")                 \
  X(ELU, "elu")                                 \
  X(SILU, "silu")                               \
  X(SOFTPLUS, "softplus")                       \
  X(FLATTEN, "flatten")                         \
  X(CONV2D, "conv2d")                           \
  X(MAX_POOL2D, "max_pool2d")                   \
  X(AVG_POOL2D, "avg_pool2d")                   \
  X(ADAPTIVE_AVG_POOL2D, "adaptive_avg_pool2d") \
  X(DROPOUT, "dropout")                         \
  X(DROPOUT2D, "dropout2d")                     \
  X(BATCH_NORM, "batch_norm")                   \
  X(LAYER_NORM, "layer_norm")                   \
  X(EMBEDDING, "embedding")                     \
  X(RESIDUAL, "residual")

#define EP_LOSS_TABLE(X)                \
  X(MSE, "mse")                         \
  X(MAE, "mae")                         \
  X(HUBER, "huber")                     \
  X(BCE, "bce")                         \
  X(BCE_WITH_LOGITS, "bce_with_logits") \
  X(CROSS_ENTROPY, "cross_entropy")     \
  X(NLL, "nll")

#define EP_OPTIMIZER_TABLE(X) \
  X(SGD, "sgd")               \
  X(ADAM, "adam")             \
  X(ADAMW, "adamw")           \
  X(RMSPROP, "rmsprop")       \
  X(ADAGRAD, "adagrad")       \
  X(LION, "lion")

/* How the learning rate changes; torch.optim.lr_scheduler's, each stepped once an epoch, but for
 * one_cycle, which is stepped once a batch. */
#define EP_SCHEDULE_TABLE(X)    \
  X(CONSTANT, "constant")       \
  X(STEP, "step")               \
  X(MULTI_STEP, "multi_step")   \
  X(EXPONENTIAL, "exponential") \
  X(COSINE, "cosine")           \
  X(ONE_CYCLE, "one_cycle")     \
  X(PLATEAU, "reduce_on_plateau")

/* in, out: fan_in and fan_out, which for conv2d count the window too. default: torch's own,
 * U(-1/sqrt(in), 1/sqrt(in)) for weight and bias alike, and N(0, 1) for an embedding. In all others
 * the bias starts at zero. xavier: U(-a, a), a = sqrt(6 / (in + out)). kaiming: U(-a, a), a =
 * sqrt(6 / in). normal: N(0, 0.01^2). zeros: zero. */
#define EP_INIT_TABLE(X) \
  X(DEFAULT, "default")  \
  X(XAVIER, "xavier")    \
  X(KAIMING, "kaiming")  \
  X(NORMAL, "normal")    \
  X(ZEROS, "zeros")

/* Of products, at least: a device that has no such unit computes them more precisely. Parameters,
 * sums and updates are float32 in all. */
#define EP_PRECISION_TABLE(X) \
  X(FP32, "fp32")             \
  X(TF32, "tf32")             \
  X(BF16, "bf16")

#define EP_GENERATOR_TABLE(X) \
  X(XOR, "xor")               \
  X(DISC, "disc")

/* queued -> running -> succeeded | failed | cancelled; pausing and paused belong to a later
 * release. */
#define EP_STATE_TABLE(X)   \
  X(QUEUED, "queued")       \
  X(RUNNING, "running")     \
  X(PAUSING, "pausing")     \
  X(PAUSED, "paused")       \
  X(SUCCEEDED, "succeeded") \
  X(FAILED, "failed")       \
  X(CANCELLED, "cancelled")

#define EP_EVENT_TABLE(X)     \
  X(QUEUED, "queued")         \
  X(STARTED, "started")       \
  X(EPOCH, "epoch")           \
  X(CHECKPOINT, "checkpoint") \
  X(PAUSED, "paused")         \
  X(RESUMED, "resumed")       \
  X(RESTARTED, "restarted")   \
  X(WARNING, "warning")       \
  X(END, "end")

/* For each table an enum EP_<PREFIX>_<CODE> … EP_<PREFIX>_COUNT, and the two functions
 *   const char *ep_<word>_name(int value);       the JSON name; value must be of the enum
 *   int ep_<word>_from_name(const char *name);   the value, or -1 */
#define EP_WORDS(TABLE, PREFIX, word)                                     \
  typedef enum { TABLE(EP_WORD_##PREFIX) EP_##PREFIX##_COUNT } ep_##word; \
  const char *ep_##word##_name(int value);                                \
  int ep_##word##_from_name(const char *name);
#define EP_WORD_LAYER(code, name) EP_LAYER_##code,
#define EP_WORD_LOSS(code, name) EP_LOSS_##code,
#define EP_WORD_OPTIMIZER(code, name) EP_OPTIMIZER_##code,
#define EP_WORD_SCHEDULE(code, name) EP_SCHEDULE_##code,
#define EP_WORD_INIT(code, name) EP_INIT_##code,
#define EP_WORD_PRECISION(code, name) EP_PRECISION_##code,
#define EP_WORD_GENERATOR(code, name) EP_GENERATOR_##code,
#define EP_WORD_STATE(code, name) EP_STATE_##code,
#define EP_WORD_EVENT(code, name) EP_EVENT_##code,

EP_WORDS(EP_LAYER_TABLE, LAYER, layer_type)
EP_WORDS(EP_LOSS_TABLE, LOSS, loss_type)
EP_WORDS(EP_OPTIMIZER_TABLE, OPTIMIZER, optimizer_type)
EP_WORDS(EP_SCHEDULE_TABLE, SCHEDULE, schedule_type)
EP_WORDS(EP_INIT_TABLE, INIT, init_type)
EP_WORDS(EP_PRECISION_TABLE, PRECISION, precision)
EP_WORDS(EP_GENERATOR_TABLE, GENERATOR, generator)
EP_WORDS(EP_STATE_TABLE, STATE, state)
EP_WORDS(EP_EVENT_TABLE, EVENT, event_type)

/* What a loss compares the network's output with. */
bool ep_loss_takes_classes(ep_loss_type loss); /* cross_entropy, nll: one class index a row */
bool ep_loss_is_classifier(ep_loss_type loss); /* those, and bce, bce_with_logits (y is 0 or 1) */

/* Whether a job in this state has come to its end: succeeded, failed or cancelled. */
bool ep_state_has_ended(ep_state state);

#ifdef __cplusplus
}
#endif
#endif
