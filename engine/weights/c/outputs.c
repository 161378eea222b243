#include "engine/weights/c/outputs.h"

/* 0: the network is no classifier with one class a row. */
static int64_t classes_count(const ep_program *program) {
  if (ep_loss_takes_classes(program->loss)) return program->out_features;
  return ep_loss_is_classifier(program->loss) && program->out_features == 1 ? 2 : 0;
}

void ep_c_outputs_sizes(ep_c_source *source, const ep_program *program, const ep_words *names) {
  int64_t classes = classes_count(program);
  if (classes > 0) ep_c_add(source, "#define ^_CLASSES %lld\n", (long long)classes);
  ep_c_add_text(source, "\n");
  if (classes == 0 || !names || names->count == 0) return;
  ep_c_add_strings(source, "class_names", (const char *const *)names->word, names->count);
  ep_c_add_text(source, "\n");
}

static const char class_text[] =
    "/* The class that is predicted: the first of the greatest outputs. */\n"
    "static inline int @_class(const float y[^_OUTPUTS]) {\n"
    "  int found = 0;\n"
    "  for (int i = 1; i < ^_OUTPUTS; i++)\n"
    "    if (y[i] > y[found] || (y[found] != y[found] && y[i] == y[i])) found = i;\n"
    "  return found;\n"
    "}\n\n";

static const char softmax_text[] =
    "/* The probability of each class. */\n"
    "static inline void @_probabilities(const float y[^_OUTPUTS], float p[^_CLASSES]) {\n"
    "  float most = y[0];\n"
    "  double sum = 0;\n"
    "  for (int i = 1; i < ^_OUTPUTS; i++) most = y[i] > most ? y[i] : most;\n"
    "  for (int i = 0; i < ^_OUTPUTS; i++) sum += exp((double)y[i] - most);\n"
    "  for (int i = 0; i < ^_OUTPUTS; i++) p[i] = (float)(exp((double)y[i] - most) / sum);\n"
    "}\n\n";

static const char two_text[] =
    "/* The class that is predicted: 0 or 1. */\n"
    "static inline int @_class(const float y[^_OUTPUTS]) {\n"
    "  return y[0] > %s;\n"
    "}\n\n"
    "/* The probabilities of class 0 and class 1. */\n"
    "static inline void @_probabilities(const float y[^_OUTPUTS], float p[^_CLASSES]) {\n"
    "  p[0] = %s;\n"
    "  p[1] = %s;\n"
    "}\n\n";

void ep_c_outputs_define(ep_c_source *source, const ep_program *program) {
  if (classes_count(program) == 0) return;
  if (ep_loss_takes_classes(program->loss)) {
    ep_c_add_text(source, class_text);
    ep_c_add_text(source, softmax_text);
  } else if (program->loss == EP_LOSS_BCE) {
    ep_c_add(source, two_text, "0.5f", "1 - y[0]", "y[0]");
  } else {
    ep_c_add(source, two_text, "0", "(float)(1 / (1 + exp((double)y[0])))",
             "(float)(1 / (1 + exp(-(double)y[0])))");
  }
}
