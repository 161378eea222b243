#include "server/plots/parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

double ep_plot_number(const json_t *value) {
  const char *text = json_string_value(value);
  if (text && strcmp(text, "Infinity") == 0) return INFINITY;
  return json_is_number(value) ? json_number_value(value) : NAN;
}

double ep_plot_member(const json_t *object, const char *key) {
  return ep_plot_number(json_object_get(object, key));
}

const char *ep_plot_word(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

void ep_plot_note(ep_drawing *drawing, const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  ep_drawing_text(drawing, "quiet", 16, 52, "start", text, 72);
}
