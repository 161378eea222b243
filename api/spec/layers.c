/* layers.c: the tables of the layers: a table a type. Names, defaults and formulas are
 * torch.nn's. */
#include "api/spec/fields.h"

#define AT(member) offsetof(ep_layer_spec, member)

#define WINDOW(key_, member, doc_, ...)                                                \
  {                                                                                    \
    .key = key_, .kind = EP_FIELD_PAIR, .element = EP_FIELD_INT, .offset = AT(member), \
    .alone = true, .max = EP_LIMIT_KERNEL, .doc = doc_, __VA_ARGS__                    \
  }
#define KERNEL_SIZE                                                                \
  WINDOW("kernel_size", kernel_size, "the window: one number, or [height, width]", \
         .required = true, .min = 1)
#define POOL_STRIDE                                                                           \
  WINDOW("stride", stride, "steps from window to window; kernel_size unless given", .min = 1, \
         .nullable = true)
#define PADDING WINDOW("padding", padding, "rows and columns added on each side", .min = 0)
#define DILATION(doc_) WINDOW("dilation", dilation, doc_, .min = 1, .fallback = 1, .second = 1)
#define COUNT(key_, member, doc_, ...)                                                             \
  {                                                                                                \
    .key = key_, .kind = EP_FIELD_INT64, .offset = AT(member), .min = 1, .max = EP_LIMIT_FEATURES, \
    .doc = doc_, __VA_ARGS__                                                                       \
  }
#define REAL(key_, member, doc_, least, greatest, fallback_, ...)                              \
  {                                                                                            \
    .key = key_, .kind = EP_FIELD_DOUBLE, .offset = AT(member), .min = least, .max = greatest, \
    .fallback = fallback_, .doc = doc_, __VA_ARGS__                                            \
  }
#define BIAS(doc_) \
  { .key = "bias", .kind = EP_FIELD_BOOL, .offset = AT(bias), .fallback = 1, .doc = doc_ }
#define INIT                                                                           \
  {                                                                                    \
    .key = "init", .kind = EP_FIELD_WORD, .offset = AT(init), .words = &ep_init_words, \
    .fallback = EP_INIT_DEFAULT, .doc = "how the first weights are drawn"              \
  }
/* What is smaller than this is zero in a division of float32. */
#define EPS \
  REAL("eps", eps, "keeps the division finite", 1e-30, EP_REAL_MAX, 1e-5, .nullable = false)
#define AFFINE                                                                   \
  {                                                                              \
    .key = "affine", .kind = EP_FIELD_BOOL, .offset = AT(affine), .fallback = 1, \
    .doc = "has a weight and a bias to learn"                                    \
  }

static const ep_field linear_rows[] = {
    COUNT("in_features", in_features,
          "columns that come in; inferred unless given, checked if given", .nullable = true),
    COUNT("out_features", out_features, "columns that go out", .required = true),
    BIAS("adds a bias to each column that goes out"),
    INIT,
};
static const ep_field leaky_relu_rows[] = {
    REAL("negative_slope", negative_slope, "slope below zero", -EP_REAL_MAX, EP_REAL_MAX, 0.01,
         .nullable = false),
};
static const ep_field elu_rows[] = {
    REAL("alpha", alpha, "what it tends to far below zero, with a minus", -EP_REAL_MAX, EP_REAL_MAX,
         1, .nullable = false),
};
static const ep_field softplus_rows[] = {
    REAL("beta", beta, "how sharp the bend is", 0, EP_REAL_MAX, 1, .open_min = true),
    REAL("threshold", threshold, "where beta x is above this, y = x", -EP_REAL_MAX, EP_REAL_MAX, 20,
         .nullable = false),
};
static const ep_field conv2d_rows[] = {
    COUNT("in_channels", in_channels,
          "channels that come in; inferred unless given, checked if given", .nullable = true),
    COUNT("out_channels", out_channels, "channels that go out", .required = true),
    KERNEL_SIZE,
    WINDOW("stride", stride, "steps from window to window", .min = 1, .fallback = 1, .second = 1),
    PADDING,
    DILATION("steps between the window's own pixels"),
    COUNT("groups", groups, "channels in so many groups, each of which sees only itself",
          .fallback = 1),
    BIAS("adds a bias to each channel that goes out"),
    INIT,
};
static const ep_field max_pool2d_rows[] = {
    KERNEL_SIZE,
    POOL_STRIDE,
    PADDING,
    DILATION("steps between the window's own pixels"),
};
static const ep_field avg_pool2d_rows[] = {KERNEL_SIZE, POOL_STRIDE, PADDING};
static const ep_field adaptive_avg_pool2d_rows[] = {
    {.key = "output_size",
     .kind = EP_FIELD_PAIR,
     .element = EP_FIELD_INT64,
     .offset = AT(output_size),
     .alone = true,
     .required = true,
     .min = 1,
     .max = EP_LIMIT_KERNEL,
     .doc = "what goes out: one number, or [height, width]"},
};
static const ep_field dropout_rows[] = {
    REAL("p", p, "the chance of a value to become 0 in training", 0, 1, 0.5, .open_max = true),
};
static const ep_field dropout2d_rows[] = {
    REAL("p", p, "the chance of a channel to become 0 in training", 0, 1, 0.5, .open_max = true),
};
static const ep_field batch_norm_rows[] = {
    EPS,
    REAL("momentum", momentum, "how fast the running figures follow", 0, 1, 0.1, .nullable = false),
    AFFINE,
};
static const ep_field layer_norm_rows[] = {EPS, AFFINE};
static const ep_field embedding_rows[] = {
    COUNT("num_embeddings", num_embeddings, "the columns hold 0 to this less one",
          .required = true),
    COUNT("embedding_dim", embedding_dim, "what a column becomes", .required = true),
    INIT,
};
static const ep_field residual_rows[] = {
    {.key = "layers",
     .kind = EP_FIELD_CUSTOM,
     .required = true,
     .read = ep_block_read,
     .write = ep_block_write,
     .form = "an array of layers",
     .doc = "the block; its output has its input's shape"},
};
#undef AT

static const ep_field_table no_fields = {NULL, 0, NULL};
#define TABLE(word) static const ep_field_table word##_table = EP_FIELD_TABLE(word##_rows, NULL)
TABLE(linear);
TABLE(leaky_relu);
TABLE(elu);
TABLE(softplus);
TABLE(conv2d);
TABLE(max_pool2d);
TABLE(avg_pool2d);
TABLE(adaptive_avg_pool2d);
TABLE(dropout);
TABLE(dropout2d);
TABLE(batch_norm);
TABLE(layer_norm);
TABLE(embedding);
TABLE(residual);

static const ep_field_table *const tables[EP_LAYER_COUNT] = {
    [EP_LAYER_LINEAR] = &linear_table,
    [EP_LAYER_RELU] = &no_fields,
    [EP_LAYER_LEAKY_RELU] = &leaky_relu_table,
    [EP_LAYER_TANH] = &no_fields,
    [EP_LAYER_SIGMOID] = &no_fields,
    [EP_LAYER_GELU] = &no_fields,
    [EP_LAYER_SIN] = &no_fields,
    [EP_LAYER_SOFTMAX] = &no_fields,
    [EP_LAYER_LOG_SOFTMAX] = &no_fields,
    [EP_LAYER_ELU] = &elu_table,
    [EP_LAYER_SILU] = &no_fields,
    [EP_LAYER_SOFTPLUS] = &softplus_table,
    [EP_LAYER_FLATTEN] = &no_fields,
    [EP_LAYER_CONV2D] = &conv2d_table,
    [EP_LAYER_MAX_POOL2D] = &max_pool2d_table,
    [EP_LAYER_AVG_POOL2D] = &avg_pool2d_table,
    [EP_LAYER_ADAPTIVE_AVG_POOL2D] = &adaptive_avg_pool2d_table,
    [EP_LAYER_DROPOUT] = &dropout_table,
    [EP_LAYER_DROPOUT2D] = &dropout2d_table,
    [EP_LAYER_BATCH_NORM] = &batch_norm_table,
    [EP_LAYER_LAYER_NORM] = &layer_norm_table,
    [EP_LAYER_EMBEDDING] = &embedding_table,
    [EP_LAYER_RESIDUAL] = &residual_table,
};

static const ep_field_about about[EP_LAYER_COUNT] = {
    [EP_LAYER_LINEAR] = {"each column out is a weighted sum of all columns in",
                         "y = x W^T + b, W: [out_features, in_features], b: [out_features]"},
    [EP_LAYER_RELU] = {"cuts off what is below zero", "y = max(x, 0)"},
    [EP_LAYER_LEAKY_RELU] = {"bends what is below zero",
                             "y = x above 0, negative_slope x elsewhere"},
    [EP_LAYER_TANH] = {"squeezes into -1 to 1", "y = tanh(x)"},
    [EP_LAYER_SIGMOID] = {"squeezes into 0 to 1", "y = 1 / (1 + exp(-x))"},
    [EP_LAYER_GELU] = {"a smooth relu, by the normal distribution",
                       "y = x / 2 (1 + erf(x / sqrt 2))"},
    [EP_LAYER_SIN] = {"the sine, for periodic things", "y = sin(x)"},
    [EP_LAYER_SOFTMAX] = {"probabilities of the classes of a row; vectors only",
                          "y_i = exp(x_i) / sum_j exp(x_j)"},
    [EP_LAYER_LOG_SOFTMAX] = {"their logarithms, for the loss nll; vectors only",
                              "y_i = x_i - log sum_j exp(x_j)"},
    [EP_LAYER_ELU] = {"an exponential below zero", "y = x above 0, alpha (exp(x) - 1) elsewhere"},
    [EP_LAYER_SILU] = {"a smooth relu, by its own sigmoid", "y = x / (1 + exp(-x))"},
    [EP_LAYER_SOFTPLUS] = {"a smooth relu that is never zero",
                           "y = log(1 + exp(beta x)) / beta; x where beta x > threshold"},
    [EP_LAYER_FLATTEN] = {"makes a vector of an image: a linear layer needs one",
                          "[C, H, W] becomes [C H W]"},
    [EP_LAYER_CONV2D] = {"a window of weights goes over the image; needs images [C, H, W]",
                         "y = W * x + b, W: [out_channels, in_channels / groups, kernel height, "
                         "kernel width]; each side becomes floor((side + 2 padding - dilation "
                         "(kernel_size - 1) - 1) / stride) + 1"},
    [EP_LAYER_MAX_POOL2D] = {"the greatest of a window; padding counts as -infinity",
                             "each side becomes floor((side + 2 padding - dilation (kernel_size - "
                             "1) - 1) / stride) + 1"},
    [EP_LAYER_AVG_POOL2D] = {"the mean of a window; padding counts as zeros",
                             "each side becomes floor((side + 2 padding - kernel_size) / stride) + "
                             "1"},
    [EP_LAYER_ADAPTIVE_AVG_POOL2D] = {"the mean of as many windows as output_size says",
                                      "window i of n over m pixels: floor(i m / n) to ceil((i + 1) "
                                      "m / n) - 1"},
    [EP_LAYER_DROPOUT] = {"drops values at random in training, and nothing afterwards",
                          "y = x / (1 - p) or 0 in training, y = x in evaluation"},
    [EP_LAYER_DROPOUT2D] = {"the same for whole channels of an image",
                            "y = x / (1 - p) or 0 in training, y = x in evaluation"},
    [EP_LAYER_BATCH_NORM] = {"scales each column of a vector, or channel of an image, by its "
                             "figures in the batch; by the running ones in evaluation",
                             "y = (x - mean) / sqrt(variance + eps) W + b; running = (1 - "
                             "momentum) running + momentum batch"},
    [EP_LAYER_LAYER_NORM] = {"scales each row by its own figures, over all its values",
                             "y = (x - mean) / sqrt(variance + eps) W + b"},
    [EP_LAYER_EMBEDDING] = {"a learnt vector for each whole number of each column; comes first",
                            "y = W[x], W: [num_embeddings, embedding_dim]; k columns become k "
                            "embedding_dim"},
    [EP_LAYER_RESIDUAL] = {"a block of layers whose input is added to its output",
                           "y = x + block(x)"},
};

const ep_field_variants ep_layer_variants = {
    &ep_layer_words, offsetof(ep_layer_spec, type), false, tables, -1, about};
