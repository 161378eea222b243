/* vocabulary.h: the field's words, once: layers, losses, optimizers, schedules, as they stand in
 * JSON and as every part of the program switches on them, with their meaning and their formula,
 * which docs/reference prints. New rows go to the end of their table. */
#ifndef EP_API_VOCABULARY_H
#define EP_API_VOCABULARY_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(code, name): the groups in which a client lists the layers. */
#define EP_LAYER_GROUP_TABLE(X)       \
  X(DENSE, "dense")                   \
  X(ACTIVATIONS, "activations")       \
  X(IMAGES, "images")                 \
  X(REGULARIZATION, "regularization") \
  X(BLOCKS, "blocks")

/* X(code, JSON name, group, meaning, formula). Names and formulas are torch.nn's (snake case). An
 * activation without fields is a row here, its formula (kernels/formulas/activations.h) and its row
 * of engine/layers/layer.h; fields stand in api/spec/layers.c. */
#define EP_LAYER_TABLE(X)                                                                          \
  X(LINEAR, "linear", DENSE, "each column out is a weighted sum of all columns in",                \
    "y = x W^T + b, W: [out_features, in_features], b: [out_features]")                            \
  X(RELU, "relu", ACTIVATIONS, "sets negative values to zero", "y = max(x, 0)")                    \
  X(LEAKY_RELU, "leaky_relu", ACTIVATIONS, "scales negative values",                               \
    "y = x above 0, negative_slope x elsewhere")                                                   \
  X(TANH, "tanh", ACTIVATIONS, "maps to the range -1 to 1", "y = tanh(x)")                         \
  X(SIGMOID, "sigmoid", ACTIVATIONS, "maps to the range 0 to 1", "y = 1 / (1 + exp(-x))")          \
  X(GELU, "gelu", ACTIVATIONS, "a smooth relu, by the normal distribution",                        \
    "y = x / 2 (1 + erf(x / sqrt 2))")                                                             \
  X(SIN, "sin", ACTIVATIONS, "the sine, for periodic things", "y = sin(x)")                        \
  X(SOFTMAX, "softmax", ACTIVATIONS, "probabilities of the classes of a row; vectors only",        \
    "y_i = exp(x_i) / sum_j exp(x_j)")                                                             \
  X(LOG_SOFTMAX, "log_softmax", ACTIVATIONS, "their logarithms, for the loss nll; vectors only",   \
    "y_i = x_i - log sum_j exp(x_j)")                                                              \
  X(ELU, "elu", ACTIVATIONS, "an exponential below zero",                                          \
    "y = x above 0, alpha (exp(x) - 1) elsewhere")                                                 \
  X(SILU, "silu", ACTIVATIONS, "a smooth relu, by its own sigmoid", "y = x / (1 + exp(-x))")       \
  X(SOFTPLUS, "softplus", ACTIVATIONS, "a smooth relu that is never zero",                         \
    "y = log(1 + exp(beta x)) / beta; x where beta x > threshold")                                 \
  X(FLATTEN, "flatten", DENSE, "makes a vector of an image: a linear layer needs one",             \
    "[C, H, W] becomes [C H W]")                                                                   \
  X(CONV2D, "conv2d", IMAGES,                                                                      \
    "slides a window of weights over the image; requires images [C, H, W]",                        \
    "y = W * x + b, W: [out_channels, in_channels / groups, kernel height, kernel width]; each "   \
    "side becomes floor((side + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1")        \
  X(MAX_POOL2D, "max_pool2d", IMAGES, "the maximum of a window; padding counts as -infinity",      \
    "each side becomes floor((side + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1")   \
  X(AVG_POOL2D, "avg_pool2d", IMAGES, "the mean of a window; padding counts as zeros",             \
    "each side becomes floor((side + 2 padding - kernel_size) / stride) + 1")                      \
  X(ADAPTIVE_AVG_POOL2D, "adaptive_avg_pool2d", IMAGES,                                            \
    "the mean of as many windows as output_size says",                                             \
    "window i of n over m pixels: floor(i m / n) to ceil((i + 1) m / n) - 1")                      \
  X(DROPOUT, "dropout", REGULARIZATION,                                                            \
    "drops values at random in training, and nothing afterwards",                                  \
    "y = x / (1 - p) or 0 in training, y = x in evaluation")                                       \
  X(DROPOUT2D, "dropout2d", REGULARIZATION, "the same for whole channels of an image",             \
    "y = x / (1 - p) or 0 in training, y = x in evaluation")                                       \
  X(BATCH_NORM, "batch_norm", REGULARIZATION,                                                      \
    "normalizes each column of a vector, or channel of an image, by its statistics in the batch; " \
    "by the "                                                                                      \
    "running ones in evaluation",                                                                  \
    "y = (x - mean) / sqrt(variance + eps) W + b; running = (1 - momentum) running + momentum "    \
    "batch")                                                                                       \
  X(LAYER_NORM, "layer_norm", REGULARIZATION,                                                      \
    "normalizes each row by its statistics, over all its values",                                  \
    "y = (x - mean) / sqrt(variance + eps) W + b")                                                 \
  X(EMBEDDING, "embedding", DENSE,                                                                 \
    "a learned vector for each whole number of each column; reads x, or a slice of it",            \
    "y = W[x], W: [num_embeddings, embedding_dim]; k columns become k embedding_dim")              \
  X(RESIDUAL, "residual", BLOCKS, "a block of layers whose input is added to its output",          \
    "y = x + block(x)")                                                                            \
  X(MISH, "mish", ACTIVATIONS, "a smooth relu, by the tanh of softplus",                           \
    "y = x tanh(log(1 + exp(x)))")                                                                 \
  X(HARDSWISH, "hardswish", ACTIVATIONS, "silu in three pieces, without an exponential",           \
    "y = x min(max(x + 3, 0), 6) / 6")                                                             \
  X(ADD, "add", BLOCKS, "adds values of one shape: give two to four names as input",               \
    "y = x0 + x1 + ...")                                                                           \
  X(MUL, "mul", BLOCKS, "multiplies values of one shape, number by number", "y = x0 x1 ...")       \
  X(CONCAT, "concat", BLOCKS, "puts values one after the other along a dimension",                 \
    "y = torch.cat([x0, x1, ...], dim)")                                                           \
  X(SLICE, "slice", BLOCKS, "takes a part of a dimension, or columns of the data by name",         \
    "y = x.narrow(dim, start, length)")                                                            \
  X(RESHAPE, "reshape", BLOCKS, "the same numbers in the same order, in another shape",            \
    "y = x.reshape(rows, *shape)")                                                                 \
  X(PERMUTE, "permute", BLOCKS, "changes the order of the dimensions", "y = x.permute(0, *dims)")  \
  X(CONV1D, "conv1d", IMAGES,                                                                      \
    "slides a window of weights along a series; requires [channels, length]",                      \
    "y = W * x + b, W: [out_channels, in_channels / groups, kernel_size]; the length becomes "     \
    "floor((length + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1; causal: padded "   \
    "by dilation (kernel_size - 1) on the left alone")                                             \
  X(UNFOLD, "unfold", IMAGES, "the windows over an image as columns; requires images [C, H, W]",   \
    "y = torch.nn.Unfold(x): [C kernel height kernel width, windows], the windows row by row")     \
  X(INSTANCE_NORM, "instance_norm", REGULARIZATION,                                                \
    "normalizes each channel of each row by its own statistics; requires images [C, H, W] or "     \
    "[channels, length]",                                                                          \
    "y = (x - mean) / sqrt(variance + eps) W + b")                                                 \
  X(GRU, "gru", DENSE,                                                                             \
    "a gated recurrent unit: hands a state on from step to step; requires [channels, length]",     \
    "y_t = (1 - z) n + z y_(t-1), r, z = sigmoid(W_i x_t + b_i + W_h y_(t-1) + b_h), n = "         \
    "tanh(W_in x_t + b_in + r (W_hn y_(t-1) + b_hn)); y: [hidden_size, length]")                   \
  X(SELU, "selu", ACTIVATIONS, "elu with the figures that keep mean 0 and variance 1",             \
    "y = 1.0507009873554805 (x above 0, 1.6732632423543772 (exp(x) - 1) elsewhere)")               \
  X(HARDSIGMOID, "hardsigmoid", ACTIVATIONS, "sigmoid in three pieces, without an exponential",    \
    "y = min(max(x + 3, 0), 6) / 6")                                                               \
  X(SOFTSIGN, "softsign", ACTIVATIONS, "maps to the range -1 to 1, slower than tanh",              \
    "y = x / (1 + |x|)")

/* What a loss compares the network's output with. */
typedef enum {
  EP_LOSS_KIND_REGRESSION, /* a number for each output */
  EP_LOSS_KIND_BINARY,     /* 0 or 1 for each output */
  EP_LOSS_KIND_CLASSES     /* one class index for each row */
} ep_loss_kind;

/* X(code, JSON name, kind, meaning, formula): y the target, z the output. */
#define EP_LOSS_TABLE(X)                                                                          \
  X(MSE, "mse", REGRESSION, "mean squared error", "mean of (z - y)^2")                            \
  X(MAE, "mae", REGRESSION, "mean absolute error", "mean of |z - y|")                             \
  X(HUBER, "huber", REGRESSION, "squared near zero, a line far from it",                          \
    "mean of d^2 / 2 where |d| <= delta, delta (|d| - delta / 2) elsewhere; d = z - y")           \
  X(BCE, "bce", BINARY,                                                                           \
    "for probabilities of yes or no: ends with a sigmoid; targets from 0 to 1",                   \
    "mean of -(p y log z + (1 - y) log(1 - z)), logarithms not below -100; p = pos_weight")       \
  X(BCE_WITH_LOGITS, "bce_with_logits", BINARY,                                                   \
    "the same with the sigmoid inside, which is safer",                                           \
    "mean of (1 + (p - 1) y) (max(z, 0) + log(1 + exp(-|z|))) - p z y; p = pos_weight")           \
  X(CROSS_ENTROPY, "cross_entropy", CLASSES, "for classes 0, 1, 2, …; z are logits, one a class", \
    "sum of w_y ((1 - s) (-log p_y)) + s / C sum_c w_c (-log p_c), over sum of w_y; p = "         \
    "softmax(z), s = label_smoothing, w = class_weights")                                         \
  X(NLL, "nll", CLASSES, "the same for logarithms of probabilities: ends with log_softmax",       \
    "sum of -w_y z_y, over sum of w_y")                                                           \
  X(QUANTILE, "quantile", REGRESSION,                                                             \
    "the pinball loss: the output becomes the quantile q of the targets",                         \
    "mean of q (y - z) where y > z, (1 - q) (z - y) elsewhere")                                   \
  X(FOCAL, "focal", CLASSES,                                                                      \
    "cross_entropy that counts rows less that are right already (Lin et al. 2017)",               \
    "sum of w_y (1 - p_y)^gamma (-log p_y), over sum of w_y; p = softmax(z), w = class_weights")

/* X(code, JSON name, meaning, formula): p a parameter, g its gradient, t the step, from 1. */
#define EP_OPTIMIZER_TABLE(X)                                                                      \
  X(SGD, "sgd", "stochastic gradient descent",                                                     \
    "v = momentum v + g; p = p - lr v, or p - lr (g + momentum v) with nesterov")                  \
  X(ADAM, "adam", "steps scaled by running means of the gradient and of its square",               \
    "m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p = p - lr m / (1 - b1^t) / (sqrt(v / (1 - "  \
    "b2^t)) + eps)")                                                                               \
  X(ADAMW, "adamw", "adam with the weight decay apart from the gradient",                          \
    "p = p - lr weight_decay p, then as adam")                                                     \
  X(RMSPROP, "rmsprop", "steps scaled by a running mean of the gradient's square",                 \
    "v = alpha v + (1 - alpha) g^2; centered: a = alpha a + (1 - alpha) g, d = v - a^2, else d = " \
    "v; b = momentum b + g / (sqrt(d) + eps); p = p - lr b")                                       \
  X(ADAGRAD, "adagrad", "steps scaled by the sum of all squares so far",                           \
    "s = s + g^2; p = p - lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps)")                        \
  X(LION, "lion", "steps of one size, in the direction's sign (Chen et al. 2023)",                 \
    "c = b1 m + (1 - b1) g; p = p - lr (sign(c) + weight_decay p); m = b2 m + (1 - b2) g")         \
  X(NADAM, "nadam", "adam that looks ahead by its momentum (Dozat 2016)",                          \
    "m and v as of adam; u_t = b1 (1 - 0.96^(t momentum_decay) / 2), U_t = u_1 u_2 ... u_t; p = "  \
    "p - lr ((1 - u_t) / (1 - U_t) g + u_(t+1) / (1 - U_(t+1)) m) / (sqrt(v / (1 - b2^t)) + eps)") \
  X(ADAMAX, "adamax",                                                                              \
    "adam whose steps are scaled by the largest gradient, which is forgotten slowly",              \
    "m = b1 m + (1 - b1) g; u = max(b2 u, |g| + eps); p = p - lr / (1 - b1^t) m / u")

/* X(code, JSON name, meaning, formula): how the learning rate changes, e the epoch, from 0.
 * Formulas are torch.optim.lr_scheduler's, stepped once an epoch; one_cycle is stepped once a
 * batch. */
#define EP_SCHEDULE_TABLE(X)                                                                    \
  X(CONSTANT, "constant", "the same all along, but for a warm-up", "lr")                        \
  X(STEP, "step", "drops every step_size epochs", "lr gamma^floor(e / step_size)")              \
  X(MULTI_STEP, "multi_step", "drops at the milestones", "lr gamma^(milestones that are <= e)") \
  X(EXPONENTIAL, "exponential", "drops every epoch", "lr gamma^e")                              \
  X(COSINE, "cosine", "falls along half a cosine",                                              \
    "eta_min + (lr - eta_min) (1 + cos(pi e / t_max)) / 2")                                     \
  X(ONE_CYCLE, "one_cycle", "rises and falls once, step by step, along two half cosines",       \
    "max_lr / div_factor to max_lr in the first pct_start of the steps, then down to max_lr / " \
    "div_factor / final_div_factor")                                                            \
  X(PLATEAU, "reduce_on_plateau",                                                               \
    "drops when the validation loss stays; needs a validation split",                           \
    "lr = max(lr factor, min_lr) after more than patience epochs without a loss below (1 - "    \
    "threshold) best")

/* X(code, JSON name). in, out: fan_in and fan_out, which for conv2d count the window too. default:
 * torch's own, U(-1/sqrt(in), 1/sqrt(in)) for weight and bias alike, and N(0, 1) for an embedding.
 * In all others the bias starts at zero. xavier: U(-a, a), a = sqrt(6 / (in + out)). kaiming: U(-a,
 * a), a = sqrt(6 / in). normal: N(0, 0.01^2). zeros: zero. */
#define EP_INIT_TABLE(X) \
  X(DEFAULT, "default")  \
  X(XAVIER, "xavier")    \
  X(KAIMING, "kaiming")  \
  X(NORMAL, "normal")    \
  X(ZEROS, "zeros")

/* X(code, JSON name): the lowest precision allowed for the operands of matrix products. A device
 * without a unit for it computes in a higher one. Parameters, sums and updates are float32 in all.
 */
#define EP_PRECISION_TABLE(X) \
  X(FP32, "fp32")             \
  X(TF32, "tf32")             \
  X(BF16, "bf16")

/* X(code, JSON name): what a webhook may be sent of. */
#define EP_WEBHOOK_TABLE(X) \
  X(END, "end")             \
  X(FAILED, "failed")       \
  X(BEST, "best")

#define EP_GENERATOR_TABLE(X) \
  X(XOR, "xor")               \
  X(DISC, "disc")

/* X(code, JSON name): what is predicted, where "auto" is what the loss and the target's type say.
 */
#define EP_TASK_TABLE(X)      \
  X(AUTO, "auto")             \
  X(REGRESSION, "regression") \
  X(CLASSIFICATION, "classification")

/* X(code, JSON name): what the cells of a table's column are taken for, where "auto" is what the
 * upload was read as. */
#define EP_COLUMN_AS_TABLE(X) \
  X(AUTO, "auto")             \
  X(NUMBER, "number")         \
  X(CATEGORY, "category")     \
  X(DATE, "date")             \
  X(IGNORE, "ignore")

/* X(code, JSON name): what stands in the place of a missing cell, found in the training rows. auto:
 * the median; of a category the feature of all other words, or, of an ordinal, the commonest. */
#define EP_FILL_TABLE(X)            \
  X(AUTO, "auto")                   \
  X(MEAN, "mean")                   \
  X(MEDIAN, "median")               \
  X(MOST_FREQUENT, "most_frequent") \
  X(ZERO, "zero")                   \
  X(DROP_ROW, "drop_row")

/* X(code, JSON name): how a category becomes features; auto is one_hot of few words, and embedding
 * of more where each has some rows. */
#define EP_CATEGORY_TABLE(X) \
  X(AUTO, "auto")            \
  X(ONE_HOT, "one_hot")      \
  X(EMBEDDING, "embedding")  \
  X(ORDINAL, "ordinal")      \
  X(HASH, "hash")

/* X(code, JSON name): what is done with a word to predict that no row of the data has. */
#define EP_UNKNOWN_WORD_TABLE(X) \
  X(OTHER, "other")              \
  X(ERROR, "error")

/* X(code, JSON name): what is done with windows of a series over a gap in its times. */
#define EP_WINDOW_GAPS_TABLE(X) \
  X(CUT, "cut")                 \
  X(KEEP, "keep")

/* X(code, JSON name): how a number is scaled, by the training rows. standard: (x - mean) /
 * deviation. minmax: (x - min) / (max - min). log1p: sign(x) log(1 + |x|), then standard. */
#define EP_COLUMN_SCALE_TABLE(X) \
  X(STANDARD, "standard")        \
  X(MINMAX, "minmax")            \
  X(LOG1P, "log1p")              \
  X(NONE, "none")

/* X(code, JSON name): what the rows of the data are for. */
#define EP_SPLIT_TABLE(X)     \
  X(TRAIN, "train")           \
  X(VALIDATION, "validation") \
  X(TEST, "test")

/* X(code, JSON name): queued -> running -> succeeded | failed | cancelled; pausing and paused
 * belong to a later release. */
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
  X(BATCH, "batch")           \
  X(LAYERS, "layers")         \
  X(TRIAL, "trial")           \
  X(CHECKPOINT, "checkpoint") \
  X(PAUSED, "paused")         \
  X(RESUMED, "resumed")       \
  X(RESTARTED, "restarted")   \
  X(WARNING, "warning")       \
  X(END, "end")

/* X(code, JSON name, kind of trainings that have it, whether more is better): the numbers of a
 * split in the order in which they are written. api/wire/metrics.h has their meaning. */
#define EP_METRIC_TABLE(X)                    \
  X(LOSS, "loss", ALL, false)                 \
  X(MSE, "mse", REGRESSION, false)            \
  X(RMSE, "rmse", REGRESSION, false)          \
  X(MAE, "mae", REGRESSION, false)            \
  X(R2, "r2", REGRESSION, true)               \
  X(ACCURACY, "accuracy", CLASSIFIER, true)   \
  X(PRECISION, "precision", CLASSIFIER, true) \
  X(RECALL, "recall", CLASSIFIER, true)       \
  X(F1, "f1", CLASSIFIER, true)               \
  X(ROC_AUC, "roc_auc", CLASSIFIER, true)     \
  X(ERROR, "error", CLASSIFIER, false)

/* X(code, JSON name): how a sweep chooses its trials. */
#define EP_SEARCH_TABLE(X) \
  X(GRID, "grid")          \
  X(RANDOM, "random")      \
  X(SOBOL, "sobol")        \
  X(ASHA, "asha")          \
  X(TPE, "tpe")

/* X(code, JSON name): what an axis of a sweep's space draws from: a list, or a range. The int kinds
 * are of whole numbers, the log kinds even in the logarithm. */
#define EP_AXIS_TABLE(X)        \
  X(VALUES, "values")           \
  X(UNIFORM, "uniform")         \
  X(LOG_UNIFORM, "log_uniform") \
  X(INT_UNIFORM, "int_uniform") \
  X(INT_LOG_UNIFORM, "int_log_uniform")

/* For each table an enum EP_<PREFIX>_<CODE> … EP_<PREFIX>_COUNT, and the two functions
 *   const char *ep_<word>_name(int value);       the JSON name; value must be of the enum
 *   int ep_<word>_from_name(const char *name);   the value, or -1 */
#define EP_WORDS(TABLE, PREFIX, word)                                     \
  typedef enum { TABLE(EP_WORD_##PREFIX) EP_##PREFIX##_COUNT } ep_##word; \
  const char *ep_##word##_name(int value);                                \
  int ep_##word##_from_name(const char *name);
#define EP_WORD_LAYER(code, ...) EP_LAYER_##code,
#define EP_WORD_LAYER_GROUP(code, ...) EP_LAYER_GROUP_##code,
#define EP_WORD_LOSS(code, ...) EP_LOSS_##code,
#define EP_WORD_OPTIMIZER(code, ...) EP_OPTIMIZER_##code,
#define EP_WORD_SCHEDULE(code, ...) EP_SCHEDULE_##code,
#define EP_WORD_INIT(code, ...) EP_INIT_##code,
#define EP_WORD_PRECISION(code, ...) EP_PRECISION_##code,
#define EP_WORD_WEBHOOK(code, ...) EP_WEBHOOK_##code,
#define EP_WORD_GENERATOR(code, ...) EP_GENERATOR_##code,
#define EP_WORD_TASK(code, ...) EP_TASK_##code,
#define EP_WORD_COLUMN_AS(code, ...) EP_COLUMN_AS_##code,
#define EP_WORD_FILL(code, ...) EP_FILL_##code,
#define EP_WORD_CATEGORY(code, ...) EP_CATEGORY_##code,
#define EP_WORD_UNKNOWN_WORD(code, ...) EP_UNKNOWN_WORD_##code,
#define EP_WORD_WINDOW_GAPS(code, ...) EP_WINDOW_GAPS_##code,
#define EP_WORD_COLUMN_SCALE(code, ...) EP_COLUMN_SCALE_##code,
#define EP_WORD_SPLIT(code, ...) EP_SPLIT_##code,
#define EP_WORD_STATE(code, ...) EP_STATE_##code,
#define EP_WORD_EVENT(code, ...) EP_EVENT_##code,
#define EP_WORD_METRIC(code, ...) EP_METRIC_##code,
#define EP_WORD_SEARCH(code, ...) EP_SEARCH_##code,
#define EP_WORD_AXIS(code, ...) EP_AXIS_##code,

EP_WORDS(EP_LAYER_TABLE, LAYER, layer_type)
EP_WORDS(EP_LAYER_GROUP_TABLE, LAYER_GROUP, layer_group)
EP_WORDS(EP_LOSS_TABLE, LOSS, loss_type)
EP_WORDS(EP_OPTIMIZER_TABLE, OPTIMIZER, optimizer_type)
EP_WORDS(EP_SCHEDULE_TABLE, SCHEDULE, schedule_type)
EP_WORDS(EP_INIT_TABLE, INIT, init_type)
EP_WORDS(EP_PRECISION_TABLE, PRECISION, precision)
EP_WORDS(EP_WEBHOOK_TABLE, WEBHOOK, webhook)
EP_WORDS(EP_GENERATOR_TABLE, GENERATOR, generator)
EP_WORDS(EP_TASK_TABLE, TASK, task)
EP_WORDS(EP_COLUMN_AS_TABLE, COLUMN_AS, column_as)
EP_WORDS(EP_FILL_TABLE, FILL, fill)
EP_WORDS(EP_CATEGORY_TABLE, CATEGORY, category)
EP_WORDS(EP_UNKNOWN_WORD_TABLE, UNKNOWN_WORD, unknown_word)
EP_WORDS(EP_WINDOW_GAPS_TABLE, WINDOW_GAPS, window_gaps)
EP_WORDS(EP_COLUMN_SCALE_TABLE, COLUMN_SCALE, column_scale)
EP_WORDS(EP_SPLIT_TABLE, SPLIT, split)
EP_WORDS(EP_STATE_TABLE, STATE, state)
EP_WORDS(EP_EVENT_TABLE, EVENT, event_type)
EP_WORDS(EP_METRIC_TABLE, METRIC, metric)
EP_WORDS(EP_SEARCH_TABLE, SEARCH, search_type)
EP_WORDS(EP_AXIS_TABLE, AXIS, axis_kind)

ep_layer_group ep_layer_type_group(ep_layer_type layer);

ep_loss_kind ep_loss_type_kind(ep_loss_type loss);
bool ep_loss_takes_classes(ep_loss_type loss); /* of the kind CLASSES */
bool ep_loss_is_classifier(ep_loss_type loss); /* of the kind CLASSES or BINARY */

/* Whether more of the metric is better. */
bool ep_metric_is_maximized(ep_metric metric);
/* Whether trainings with the loss have the metric. */
bool ep_loss_has_metric(ep_loss_type loss, ep_metric metric);

/* Whether a job in this state has come to its end: succeeded, failed or cancelled. */
bool ep_state_has_ended(ep_state state);

#ifdef __cplusplus
}
#endif
#endif
