#include "engine/weights/c/functions.h"

#include <stddef.h>

/* Weights lie in blocks of up to 8 outputs: [inputs][outputs of the block], so that 8 sums stay in
 * registers, and in vectors where there are some. */
static const char finish_text[] =
    "/* What the sums of a block of outputs become. */\n"
    "static inline void @_finish(const float *sum, int32_t width, int32_t apart,%s\n"
    "                            const float *bias, float *y) {\n"
    "  for (int32_t k = 0; k < width; k++)\n"
    "    y[k * apart] = sum[k]%s + (bias ? bias[k] : 0);\n"
    "}\n\n";

static const char linear_block_text[] =
    "/* Sums of up to 32 products are added up: so rounding errors stay small. */\n"
    "static inline void @_linear_block(const float *x, int32_t in, const %s *w, int32_t width,\n"
    "                                  float *sum) {\n"
    "  for (int32_t first = 0; first < in; first += 32) {\n"
    "    const int32_t end = in - first < 32 ? in : first + 32;\n"
    "    float part[8] = {0};\n"
    "    for (int32_t i = first; i < end; i++, w += width)\n"
    "      for (int32_t k = 0; k < width; k++) part[k] += x[i] * (float)w[k];\n"
    "    for (int32_t k = 0; k < width; k++) sum[k] += part[k];\n"
    "  }\n"
    "}\n\n";

static const char linear_text[] =
    "/* w: in blocks of 8 outputs, [blocks][in][8]; the last block is as wide as there are. */\n"
    "static inline void @_linear(const float *x, float *y, int32_t in, int32_t out, const %s *w,\n"
    "                            %sconst float *bias) {\n"
    "  for (int32_t first = 0; first < out; first += 8) {\n"
    "    const int32_t width = out - first < 8 ? out - first : 8;\n"
    "    float sum[8] = {0};\n"
    "    if (width == 8) /* a width that the compiler knows is quicker */\n"
    "      @_linear_block(x, in, w, 8, sum);\n"
    "    else\n"
    "      @_linear_block(x, in, w, width, sum);\n"
    "    w += in * width;\n"
    "    @_finish(sum, width, 1,%s bias ? bias + first : 0, y + first);\n"
    "  }\n"
    "}\n\n";

static const char window_text[] =
    "typedef struct {\n"
    "  int32_t channels, height, width, out_channels, out_height, out_width;\n"
    "  int32_t kernel[2], stride[2], padding[2], dilation[2], groups;\n"
    "} @_window;\n\n"
    "/* Where tap i of the window at `at` looks along an axis. */\n"
    "static inline int32_t @_tap(const @_window *s, int axis, int32_t at, int32_t i) {\n"
    "  return at * s->stride[axis] - s->padding[axis] + i * s->dilation[axis];\n"
    "}\n\n";

static const char conv_pixel_text[] =
    "/* sum[k] += x * w[k] */\n"
    "static inline void @_multiply(float x, const %s *w, int32_t width, float *sum) {\n"
    "  if (width == 8)\n"
    "    for (int32_t k = 0; k < 8; k++) sum[k] += x * (float)w[k];\n"
    "  else\n"
    "    for (int32_t k = 0; k < width; k++) sum[k] += x * (float)w[k];\n"
    "}\n\n"
    "/* The sums of one pixel: x is the first channel of the group. */\n"
    "static inline void @_conv2d_pixel(const @_window *s, const float *x, const %s *w,\n"
    "                                  int32_t width, int32_t h, int32_t v, float *sum) {\n"
    "  for (int32_t c = 0; c < s->channels / s->groups; c++, x += s->height * s->width) {\n"
    "    float part[8] = {0};\n"
    "    for (int32_t i = 0; i < s->kernel[0]; i++) {\n"
    "      const int32_t line = @_tap(s, 0, h, i);\n"
    "      for (int32_t j = 0; j < s->kernel[1]; j++, w += width) {\n"
    "        const int32_t column = @_tap(s, 1, v, j);\n"
    "        if (line < 0 || line >= s->height || column < 0 || column >= s->width) continue;\n"
    "        @_multiply(x[line * s->width + column], w, width, part);\n"
    "      }\n"
    "    }\n"
    "    for (int32_t k = 0; k < 8; k++) sum[k] += part[k];\n"
    "  }\n"
    "}\n\n";

static const char conv_text[] =
    "/* w: in blocks of 8 outputs of a group, as of a linear layer. */\n"
    "static inline void @_conv2d(const @_window *s, const float *x, float *y, const %s *w,\n"
    "                            %sconst float *bias) {\n"
    "  const int32_t outputs = s->out_channels / s->groups, inputs = s->channels / s->groups;\n"
    "  const int32_t pixels = s->out_height * s->out_width;\n"
    "  for (int32_t group = 0; group < s->groups; group++) {\n"
    "    const float *from = x + group * inputs * s->height * s->width;\n"
    "    for (int32_t o = 0; o < outputs; o += 8) {\n"
    "      const int32_t width = outputs - o < 8 ? outputs - o : 8;\n"
    "      const int32_t first = group * outputs + o;\n"
    "      for (int32_t h = 0; h < s->out_height; h++) {\n"
    "        for (int32_t v = 0; v < s->out_width; v++) {\n"
    "          float sum[8] = {0};\n"
    "          @_conv2d_pixel(s, from, w, width, h, v, sum);\n"
    "          @_finish(sum, width, pixels,%s bias ? bias + first : 0,\n"
    "                   y + first * pixels + h * s->out_width + v);\n"
    "        }\n"
    "      }\n"
    "      w += inputs * s->kernel[0] * s->kernel[1] * width;\n"
    "    }\n"
    "  }\n"
    "}\n\n";

static const char max_pool_text[] =
    "static inline float @_max_at(const @_window *s, const float *x, int32_t h, int32_t v) {\n"
    "  float found = -INFINITY;\n"
    "  for (int32_t i = 0; i < s->kernel[0]; i++) {\n"
    "    for (int32_t j = 0; j < s->kernel[1]; j++) {\n"
    "      const int32_t line = @_tap(s, 0, h, i), column = @_tap(s, 1, v, j);\n"
    "      if (line < 0 || line >= s->height || column < 0 || column >= s->width) continue;\n"
    "      const float value = x[line * s->width + column];\n"
    "      if (value > found || value != value) found = value;\n"
    "    }\n"
    "  }\n"
    "  return found;\n"
    "}\n\n"
    "static inline void @_max_pool2d(const @_window *s, const float *x, float *y) {\n"
    "  for (int32_t c = 0; c < s->channels; c++, x += s->height * s->width)\n"
    "    for (int32_t h = 0; h < s->out_height; h++)\n"
    "      for (int32_t v = 0; v < s->out_width; v++) *y++ = @_max_at(s, x, h, v);\n"
    "}\n\n";

static const char avg_pool_text[] =
    "/* Padding counts as zeros. */\n"
    "static inline float @_avg_at(const @_window *s, const float *x, int32_t h, int32_t v) {\n"
    "  double sum = 0;\n"
    "  for (int32_t i = 0; i < s->kernel[0]; i++) {\n"
    "    for (int32_t j = 0; j < s->kernel[1]; j++) {\n"
    "      const int32_t line = h * s->stride[0] - s->padding[0] + i;\n"
    "      const int32_t column = v * s->stride[1] - s->padding[1] + j;\n"
    "      if (line < 0 || line >= s->height || column < 0 || column >= s->width) continue;\n"
    "      sum += x[line * s->width + column];\n"
    "    }\n"
    "  }\n"
    "  return (float)(sum / ((double)s->kernel[0] * s->kernel[1]));\n"
    "}\n\n"
    "static inline void @_avg_pool2d(const @_window *s, const float *x, float *y) {\n"
    "  for (int32_t c = 0; c < s->channels; c++, x += s->height * s->width)\n"
    "    for (int32_t h = 0; h < s->out_height; h++)\n"
    "      for (int32_t v = 0; v < s->out_width; v++) *y++ = @_avg_at(s, x, h, v);\n"
    "}\n\n";

static const char adaptive_text[] =
    "/* Window i of n over m pixels: floor(i m / n) ... ceil((i + 1) m / n) - 1. */\n"
    "static inline float @_mean_of(const @_window *s, const float *x, int32_t h, int32_t v) {\n"
    "  const int32_t top = h * s->height / s->out_height;\n"
    "  const int32_t left = v * s->width / s->out_width;\n"
    "  const int32_t bottom = ((h + 1) * s->height + s->out_height - 1) / s->out_height;\n"
    "  const int32_t right = ((v + 1) * s->width + s->out_width - 1) / s->out_width;\n"
    "  double sum = 0;\n"
    "  for (int32_t i = top; i < bottom; i++)\n"
    "    for (int32_t j = left; j < right; j++) sum += x[i * s->width + j];\n"
    "  return (float)(sum / ((double)(bottom - top) * (right - left)));\n"
    "}\n\n"
    "static inline void @_adaptive_avg_pool2d(const @_window *s, const float *x, float *y) {\n"
    "  for (int32_t c = 0; c < s->channels; c++, x += s->height * s->width)\n"
    "    for (int32_t h = 0; h < s->out_height; h++)\n"
    "      for (int32_t v = 0; v < s->out_width; v++) *y++ = @_mean_of(s, x, h, v);\n"
    "}\n\n";

static const char batch_norm_text[] =
    "/* Each channel has `pixels` numbers: (x - mean) * factor + bias. */\n"
    "static inline void @_batch_norm(float *x, int32_t channels, int32_t pixels,\n"
    "                                const float *mean, const float *factor, const float *bias) {\n"
    "  for (int32_t c = 0; c < channels; c++)\n"
    "    for (int32_t i = 0; i < pixels; i++, x++)\n"
    "      *x = (*x - mean[c]) * factor[c] + (bias ? bias[c] : 0);\n"
    "}\n\n";

static const char layer_norm_text[] =
    "static inline void @_layer_norm(float *x, int32_t count, float eps, const float *weight,\n"
    "                                const float *bias) {\n"
    "  double mean = 0, variance = 0;\n"
    "  for (int32_t i = 0; i < count; i++) mean += x[i];\n"
    "  mean /= count;\n"
    "  for (int32_t i = 0; i < count; i++) variance += (x[i] - mean) * (x[i] - mean);\n"
    "  const double factor = 1 / sqrt(variance / count + eps);\n"
    "  for (int32_t i = 0; i < count; i++) {\n"
    "    const double n = (x[i] - mean) * factor;\n"
    "    x[i] = (float)(n * (weight ? weight[i] : 1) + (bias ? bias[i] : 0));\n"
    "  }\n"
    "}\n\n";

static const char embedding_text[] =
    "/* Numbers stay, and each whole number behind them becomes a row of the table. */\n"
    "static inline void @_embedding(const float *x, float *y, int32_t numbers, int32_t columns,\n"
    "                               int32_t rows, int32_t dimension, const float *table) {\n"
    "  for (int32_t i = 0; i < numbers; i++) *y++ = x[i];\n"
    "  for (int32_t i = numbers; i < numbers + columns; i++) {\n"
    "    int32_t row = x[i] >= 0 ? x[i] < (float)rows ? (int32_t)x[i] : rows - 1 : 0;\n"
    "    for (int32_t j = 0; j < dimension; j++) *y++ = table[row * dimension + j];\n"
    "  }\n"
    "}\n\n";

static const char softmax_text[] =
    "static inline void @_softmax(float *x, int32_t count) {\n"
    "  float most = x[0];\n"
    "  double sum = 0;\n"
    "  for (int32_t i = 1; i < count; i++) most = x[i] > most ? x[i] : most;\n"
    "  for (int32_t i = 0; i < count; i++) sum += x[i] = expf(x[i] - most);\n"
    "  for (int32_t i = 0; i < count; i++) x[i] = (float)(x[i] / sum);\n"
    "}\n\n";

static const char log_softmax_text[] =
    "static inline void @_log_softmax(float *x, int32_t count) {\n"
    "  float most = x[0];\n"
    "  double sum = 0;\n"
    "  for (int32_t i = 1; i < count; i++) most = x[i] > most ? x[i] : most;\n"
    "  for (int32_t i = 0; i < count; i++) sum += expf(x[i] - most);\n"
    "  sum = log(sum);\n"
    "  for (int32_t i = 0; i < count; i++) x[i] = (float)(x[i] - most - sum);\n"
    "}\n\n";

static const char add_text[] =
    "static inline void @_add(float *x, const float *other, int32_t count) {\n"
    "  for (int32_t i = 0; i < count; i++) x[i] += other[i];\n"
    "}\n\n";

static const char mul_text[] =
    "static inline void @_mul(float *x, const float *other, int32_t count) {\n"
    "  for (int32_t i = 0; i < count; i++) x[i] *= other[i];\n"
    "}\n\n";

static const char runs_text[] =
    "/* `runs` runs of `count` numbers, which begin so far apart. */\n"
    "static inline void @_runs(float *to, int32_t to_apart, const float *from,\n"
    "                          int32_t from_apart, int32_t count, int32_t runs) {\n"
    "  for (int32_t i = 0; i < runs; i++, to += to_apart, from += from_apart)\n"
    "    memcpy(to, from, (size_t)count * sizeof(float));\n"
    "}\n\n";

static const char permute_text[] =
    "/* Three sides of y, and how far apart their places lie in x. */\n"
    "static inline void @_permute(const float *x, float *y, int32_t a, int32_t a_apart, int32_t "
    "b,\n"
    "                             int32_t b_apart, int32_t c, int32_t c_apart) {\n"
    "  for (int32_t i = 0; i < a; i++)\n"
    "    for (int32_t j = 0; j < b; j++)\n"
    "      for (int32_t k = 0; k < c; k++) *y++ = x[i * a_apart + j * b_apart + k * c_apart];\n"
    "}\n\n";

static const char *const texts[EP_LAYER_COUNT] = {
    [EP_LAYER_MAX_POOL2D] = max_pool_text,
    [EP_LAYER_AVG_POOL2D] = avg_pool_text,
    [EP_LAYER_ADAPTIVE_AVG_POOL2D] = adaptive_text,
    [EP_LAYER_BATCH_NORM] = batch_norm_text,
    [EP_LAYER_LAYER_NORM] = layer_norm_text,
    [EP_LAYER_EMBEDDING] = embedding_text,
    [EP_LAYER_SOFTMAX] = softmax_text,
    [EP_LAYER_LOG_SOFTMAX] = log_softmax_text,
    [EP_LAYER_ADD] = add_text,
    [EP_LAYER_MUL] = mul_text,
    [EP_LAYER_CONCAT] = runs_text,
    [EP_LAYER_SLICE] = runs_text,
    [EP_LAYER_PERMUTE] = permute_text,
};

/* One number at a time: of v. torch.nn's formulas, as kernels/formulas/activations.h has them. */
static const struct {
  const char *parameters, *before, *value;
} activations[EP_LAYER_COUNT] = {
    [EP_LAYER_RELU] = {"", "", "v <= 0 ? 0 : v"},
    [EP_LAYER_LEAKY_RELU] = {", float slope", "", "v > 0 ? v : slope * v"},
    [EP_LAYER_TANH] = {"", "", "tanhf(v)"},
    [EP_LAYER_SIGMOID] = {"", "", "1 / (1 + expf(-v))"},
    [EP_LAYER_GELU] = {"", "", "v * 0.5f * (1 + erff(v * 0.707106781f))"},
    [EP_LAYER_SIN] = {"", "", "sinf(v)"},
    [EP_LAYER_ELU] = {", float alpha", "", "v <= 0 ? alpha * expm1f(v) : v"},
    [EP_LAYER_SILU] = {"", "", "v / (1 + expf(-v))"},
    [EP_LAYER_SOFTPLUS] = {", float beta, float threshold", "",
                           "v * beta > threshold ? v : log1pf(expf(v * beta)) / beta"},
    [EP_LAYER_MISH] = {"", "    const float e = expf(v), n = e * (e + 2);\n",
                       "v > 20 ? v : v * (n / (n + 2))"},
    [EP_LAYER_HARDSWISH] = {"", "", "v >= 3 ? v : v <= -3 ? 0 : v * (v + 3) / 6"},
};

static void activation_add(ep_c_source *source, ep_layer_type type) {
  ep_c_add(source, "static inline void @_%s(float *x, int32_t count%s) {\n",
           ep_layer_type_name((int)type), activations[type].parameters);
  ep_c_add(source,
           "  for (int32_t i = 0; i < count; i++) {\n"
           "    const float v = x[i];\n"
           "%s"
           "    x[i] = %s;\n"
           "  }\n"
           "}\n\n",
           activations[type].before, activations[type].value);
}

bool ep_c_function_known(ep_layer_type type) {
  return texts[type] || activations[type].value;
}

void ep_c_function_window_add(ep_c_source *source) {
  ep_c_add_text(source, window_text);
}

void ep_c_function_finish_add(ep_c_source *source, bool quantized) {
  ep_c_add(source, finish_text, quantized ? " const float *scale," : "",
           quantized ? " * scale[k]" : "");
}

void ep_c_function_add(ep_c_source *source, ep_layer_type type, bool quantized) {
  const char *weight = quantized ? "int8_t" : "float",
             *scales = quantized ? "const float *scale, " : "";
  const char *given = quantized ? " scale + first," : "";
  if (type == EP_LAYER_LINEAR) {
    ep_c_add(source, linear_block_text, weight);
    ep_c_add(source, linear_text, weight, scales, given);
  } else if (type == EP_LAYER_CONV2D) {
    ep_c_add(source, conv_pixel_text, weight, weight);
    ep_c_add(source, conv_text, weight, scales, given);
  } else if (texts[type]) {
    ep_c_add_text(source, texts[type]);
  } else if (activations[type].value) {
    activation_add(source, type);
  }
}
